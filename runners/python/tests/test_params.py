"""Drawn values equal the shared test vectors."""

import json
import unittest
from hashlib import sha256
from itertools import islice
from time import sleep
from unittest.mock import patch

from litelab_runner.driver import Fault
from litelab_runner.generator import MASK, Stream, fnv1a64, mix64
from litelab_runner.params import AHEAD, Params, clock, scalar, spelled, wrapped

from . import runs

VECTORS = json.loads((runs.PROTOCOL / "vectors" / "generator.json").read_text())


class Generator(unittest.TestCase):
    def test_streams(self):
        for stream in VECTORS["streams"]:
            self.assertEqual(f"{fnv1a64(stream['name']):016x}", stream["fnv1a64"])

    def test_words(self):
        self.assertGreater(len(VECTORS["words"]), 20)
        for vector in VECTORS["words"]:
            stream = Stream(vector["seed"], vector["stream"])
            self.assertEqual([f"{word:016x}" for word in stream.words(vector["row"], 3)], vector["words"])
            self.assertEqual(f"{stream.word(vector['row']):016x}", vector["words"][0])

    def test_published_outputs_of_splitmix64(self):
        self.assertEqual(mix64(0x9E3779B97F4A7C15), 0xE220A8397B1DCDAF)
        self.assertEqual(mix64(1234567 + 2 * 0x9E3779B97F4A7C15 & MASK), 3203168211198807973)


def vector_transaction(repeat: int = 1, tuples: int = 1) -> dict:
    bind = list(range(len(VECTORS["params"])))
    statement = runs.statement("", bind, repeat=repeat, tuples=tuples)
    return runs.transaction(VECTORS["transaction"], VECTORS["params"], statement)


class Draws(unittest.TestCase):
    def test_vectors(self):
        self.assertGreaterEqual(len(VECTORS["draws"]), 20)
        for draw in VECTORS["draws"]:
            [values] = Params(draw["seed"], vector_transaction(), draw["worker"]).draw([draw["row"]])
            self.assertEqual(list(values), draw["values"])

    def test_operations_of_a_worker(self):
        """Values drawn in batches equal those drawn one by one."""
        params = Params(3, vector_transaction(), 3)
        self.assertEqual(params.ahead, AHEAD)
        numbers = range(5, 5 + 4 * 2 * AHEAD, 4)
        self.assertEqual(list(islice(params.operations(5, 4), len(numbers))), [params.draw([n])[0] for n in numbers])
        self.assertEqual(list(islice(params.operations(5, 0), 3)), 3 * params.draw([5]))

    def test_the_words_drawn_are_in_proportion_to_the_length_of_a_text(self):
        def drawn(chars: int) -> tuple[int, str]:
            counted, words = [], Stream.words
            source = runs.param("p", "text", chars=chars)
            params = Params(7, runs.transaction("t", [source], runs.statement("", [0])), 0)
            with patch.object(Stream, "words", lambda *given: counted.append(given[-1]) or words(*given)):
                (text,) = next(params.operations(0, 1))
            return sum(counted), text

        self.assertEqual(drawn(100)[0], AHEAD * 10)
        one, half = drawn(1 << 20), drawn(1 << 19)
        # Words for one operation, not for those after it.
        self.assertEqual((one[0], half[0]), (-(-(1 << 20) // 10), -(-(1 << 19) // 10)))
        self.assertEqual((len(one[1]), one[1][: 1 << 19]), (1 << 20, half[1]))

    def test_rows_of_an_operation_follow_each_other(self):
        one, many = Params(11, vector_transaction(), 3), Params(11, vector_transaction(repeat=3, tuples=2), 3)
        rows = one.draw(list(range(30, 36)))
        self.assertEqual(many.draw([5]), [[rows[0] + rows[1], rows[2] + rows[3], rows[4] + rows[5]]])
        self.assertEqual(Params(11, vector_transaction(tuples=2), 3).draw([15]), [rows[0] + rows[1]])

    def test_statements_have_their_own_values(self):
        transaction = runs.transaction(
            "t",
            [runs.param("a", "sequence", start=0, step=1), runs.param("w", "worker")],
            runs.statement("", [0, 1]),
            runs.statement("", []),
            runs.statement("", [0], repeat=2),
        )
        self.assertEqual(list(islice(Params(1, transaction, 9).operations(4, 2), 2)), [
            ((4, 9), (), [(8,), (9,)]),
            ((6, 9), (), [(12,), (13,)]),
        ])  # fmt: skip

    def test_a_table_takes_each_interval_by_its_share(self):
        half = 1 << 52
        source = runs.param("p", "table", cut=[half, 2 * half], low=[0, 100], width=[1, 10])
        statement = runs.statement("", [0], repeat=10_000)
        [drawn] = Params(1, runs.transaction("t", [source], statement), 0).draw([0])
        first = sum(value == 0 for (value,) in drawn)
        self.assertTrue(4_800 < first < 5_200, first)
        self.assertEqual({value for (value,) in drawn}, {0, *range(100, 110)})

    def test_a_hash_is_of_the_value_in_its_row(self):
        """The hash is bound before or after the value or without it, in rows unlike those of other statements."""
        sources = [runs.param("v", "format", template="{row}"), runs.param("h", "sha256-of", param=0)]
        statements = [runs.statement("", [1, 0]), runs.statement("", [0, 1], repeat=2), runs.statement("", [1])]
        hashes = [sha256(str(row).encode()).hexdigest() for row in range(8)]
        self.assertEqual(Params(1, runs.transaction("t", sources, *statements), 0).draw([3]), [
            ((hashes[3], "3"), [("6", hashes[6]), ("7", hashes[7])], (hashes[3],)),
        ])  # fmt: skip

    def test_two_columns_with_the_time_agree(self):
        """Also if the same operation is drawn again."""
        sources = [runs.param("a", "now", unit="us"), runs.param("b", "now", unit="us")]
        drawn = Params(1, runs.transaction("t", sources, runs.statement("", [0, 1])), 0).operations(0, 0)
        one, same = next(drawn)
        sleep(0.001)
        other, _ = next(drawn)
        self.assertEqual(one, same)
        self.assertGreater(other, one)

    def test_a_hash_of_itself_or_a_later_one_hashes_nothing(self):
        sources = [
            runs.param("a", "sha256-of", param=0),
            runs.param("b", "sha256-of", param=2),
            runs.param("c", "worker"),
        ]
        [values] = Params(1, runs.transaction("t", sources, runs.statement("", [0, 1])), 0).draw([0])
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        self.assertEqual(values, (empty, empty))

    def test_a_bind_beyond_the_list_is_refused(self):
        with self.assertRaises(Fault):
            Params(1, runs.transaction("t", [], runs.statement("", [0])), 0)

    def test_values(self):
        self.assertEqual([scalar(v) for v in (True, 1 << 63, [1], None, "x", 2.5)], [1, 2.0**63, None, None, "x", 2.5])
        self.assertEqual(
            [spelled(v) for v in (1.0, 1e21, 2.5, -3, "x", None)], ["1", "1" + "0" * 21, "2.5", "-3", "x", ""]
        )
        self.assertEqual([wrapped(v) for v in (1 << 63, -(1 << 63) - 1, 5)], [-(1 << 63), (1 << 63) - 1, 5])
        self.assertEqual(clock("iso", 951_782_400_007_999_999), "2000-02-29T00:00:00.007Z")
        self.assertEqual([clock(u, 1_234_567_890) for u in ("s", "ms", "us")], [1, 1_234, 1_234_567])

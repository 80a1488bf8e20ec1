"""What is drawn is what the shared vectors say, one row at a time and many at once."""

import json
import unittest
from unittest import mock

from litelab_runner import params
from litelab_runner.driver import Fault
from litelab_runner.generator import MASK, Stream, below, fnv1a64, mix64
from litelab_runner.params import Params, clock, scalar, spelled, wrapped

from . import runs

VECTORS = json.loads((runs.PROTOCOL / "vectors" / "generator.json").read_text())


class Generator(unittest.TestCase):
    def test_streams(self):
        for stream in VECTORS["streams"]:
            self.assertEqual(f"{fnv1a64(stream['name']):016x}", stream["fnv1a64"])

    def test_words(self):
        self.assertGreater(len(VECTORS["words"]), 20)
        for vector in VECTORS["words"]:
            stream, row = Stream(vector["seed"], vector["stream"]), vector["row"]
            words = [f"{stream.word(row, index):016x}" for index in range(3)]
            self.assertEqual(words, vector["words"])
            many = stream.words(range(row, row + 10), 3)
            self.assertEqual([f"{words[0]:016x}" for words in many], vector["words"])

    def test_lanes_are_words(self):
        stream = Stream(5, "t.p")
        for rows in (range(3), range(1), range(7, 5000), range(1 << 60, (1 << 60) + 90, 3), range(9, 1 << 40, 1 << 33)):
            expected = [[stream.word(row, index) for row in rows] for index in range(3)]
            self.assertEqual(stream.words(rows, 3), expected, rows)

    def test_integers_in_lanes_are_those_of_below(self):
        stream = Stream(5, "t.p")
        ranges = (range(3), range(5000), range(3, 9000, 7), range(9, 1 << 40, 1 << 33))
        for low, width in ((1, 10**6), (0, 1), (5, 2**42 - 1), (0, 2**42), (-5, 10), (2**63 - 10, 10), (0, 2**64 - 1)):
            for rows in ranges:
                expected = [low + below(stream.word(row), width) for row in rows]
                self.assertEqual(stream.between(rows, low, width), expected, (low, width, rows))

    def test_a_product_that_is_rounded_up_to_an_integer_is_so_in_lanes(self):
        stream, width = Stream(1, "a.b"), 2**32 - 5
        for row in (6_878_176, 15_627_071, 30_606_261):
            exact = (stream.word(row) >> 11) * width >> 53
            self.assertEqual(below(stream.word(row), width), exact + 1, "no example of it")
            self.assertEqual(stream.between(range(row - 3, row + 4), 0, width)[3], exact + 1)

    def test_published_outputs_of_splitmix64(self):
        self.assertEqual(mix64(0x9E3779B97F4A7C15), 0xE220A8397B1DCDAF)
        self.assertEqual(mix64(1234567 + 2 * 0x9E3779B97F4A7C15 & MASK), 3203168211198807973)


def vector_transaction(repeat: int = 1, tuples: int = 1) -> dict:
    bind = list(range(len(VECTORS["params"])))
    statement = runs.statement("", bind, repeat=repeat, tuples=tuples)
    return runs.transaction(VECTORS["transaction"], VECTORS["params"], statement)


def taken(iterator, count: int) -> list:
    return [next(iterator) for _ in range(count)]


class Draws(unittest.TestCase):
    def test_vectors_one_by_one(self):
        self.assertGreaterEqual(len(VECTORS["draws"]), 20)
        for draw in VECTORS["draws"]:
            drawn = Params(draw["seed"], vector_transaction(), draw["worker"]).draw(range(draw["row"], draw["row"] + 1))
            self.assertEqual([list(values) for values in drawn], [draw["values"]])

    def test_vectors_many_at_once(self):
        for draw in VECTORS["draws"]:
            params = Params(draw["seed"], vector_transaction(), draw["worker"])
            self.assertGreater(params.chunk, 10)
            at = draw["row"]
            drawn = params.draw(range(at, at + 10))
            self.assertEqual(list(drawn[0]), draw["values"])
            apart = [params.draw(range(row, row + 1))[0] for row in range(at, at + 10)]
            self.assertEqual(drawn, apart)

    def test_operations_of_a_worker(self):
        """However much is drawn at once, operation after operation is the same."""
        with mock.patch.object(params, "_OPERATIONS", 1):
            slow = Params(3, vector_transaction(), 3)
        fast, calls = Params(3, vector_transaction(), 3), []
        drawn = taken(fast.operations(5, 4, lambda: calls.append(1)), 2_600)
        self.assertEqual(drawn, taken(slow.operations(5, 4, lambda: None), 2_600))
        self.assertEqual(drawn[2], slow.draw(range(13, 14))[0])
        self.assertEqual(len(calls), -(-2_600 // fast.chunk))

    def test_lists_go_on_where_operations_are(self):
        plain, lists = (Params(3, vector_transaction(), 3) for _ in range(2))
        drawn = taken(plain.operations(0, 1, lambda: None), 2_600)
        self.assertEqual(lists.taken(), 0)
        self.assertEqual(taken(lists.operations(0, 1, lambda: None), 7), drawn[:7])
        self.assertEqual(lists.taken(), 7)
        self.assertEqual([values for rest in lists.lists(2_500) for values in rest], drawn[7:2_507])
        self.assertEqual(lists.taken(), 2_507)

    def test_rows_of_an_operation_follow_each_other(self):
        one, many = Params(11, vector_transaction(), 3), Params(11, vector_transaction(repeat=3, tuples=2), 3)
        [drawn] = many.draw(range(5, 6))
        rows = [one.draw(range(row, row + 1))[0] for row in range(30, 36)]
        self.assertEqual(drawn, [rows[0] + rows[1], rows[2] + rows[3], rows[4] + rows[5]])
        [drawn] = Params(11, vector_transaction(tuples=2), 3).draw(range(5, 6))
        self.assertEqual(drawn, sum([one.draw(range(row, row + 1))[0] for row in (10, 11)], ()))

    def test_statements_have_their_own_values(self):
        transaction = runs.transaction(
            "t",
            [runs.param("a", "sequence", start=0, step=1), runs.param("w", "worker")],
            runs.statement("", [0, 1]),
            runs.statement("", []),
            runs.statement("", [0], repeat=2),
        )
        self.assertEqual(taken(Params(1, transaction, 9).operations(4, 2, lambda: None), 2), [
            ((4, 9), (), [(8,), (9,)]),
            ((6, 9), (), [(12,), (13,)]),
        ])  # fmt: skip

    def test_a_table_takes_each_interval_by_its_share(self):
        half = 1 << 52
        source = runs.param("p", "table", cut=[half, 2 * half], low=[0, 100], width=[1, 10])
        drawn = Params(1, runs.transaction("t", [source], runs.statement("", [0])), 0).draw(range(10_000))
        first = sum(value == 0 for (value,) in drawn)
        self.assertTrue(4_800 < first < 5_200, first)
        self.assertEqual({value for (value,) in drawn}, {0, *range(100, 110)})

    def test_a_hash_of_itself_or_a_later_one_hashes_nothing(self):
        sources = [
            runs.param("a", "sha256-of", param=0),
            runs.param("b", "sha256-of", param=2),
            runs.param("c", "worker"),
        ]
        [values] = Params(1, runs.transaction("t", sources, runs.statement("", [0, 1])), 0).draw(range(1))
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        self.assertEqual(values, (empty, empty))

    def test_a_bind_beyond_the_list_is_refused(self):
        with self.assertRaises(Fault):
            Params(1, runs.transaction("t", [], runs.statement("", [0])), 0)

    def test_what_is_drawn_at_once_is_bounded(self):
        long = [runs.param("p", "hex", bytes=10_000_000)]
        self.assertEqual(Params(1, runs.transaction("t", long, runs.statement("", [0])), 0).chunk, 1)

    def test_values(self):
        self.assertEqual([scalar(v) for v in (True, 1 << 63, [1], None, "x", 2.5)], [1, 2.0**63, None, None, "x", 2.5])
        self.assertEqual(
            [spelled(v) for v in (1.0, 1e21, 2.5, -3, "x", None)], ["1", "1" + "0" * 21, "2.5", "-3", "x", ""]
        )
        self.assertEqual([wrapped(v) for v in (1 << 63, -(1 << 63) - 1, 5)], [-(1 << 63), (1 << 63) - 1, 5])
        self.assertEqual(clock("iso", 951_782_400_007_999_999), "2000-02-29T00:00:00.007Z")
        self.assertEqual([clock(u, 1_234_567_890) for u in ("s", "ms", "us")], [1, 1_234, 1_234_567])

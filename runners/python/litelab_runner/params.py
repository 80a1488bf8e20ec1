"""Drawing the values of operations, column by column: `docs/PROTOCOL.md` says what each source is a function of.

Where every statement of a transaction takes one row, the values of some operations are drawn at once, which is several
times as fast; they depend on nothing but the row.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from operator import length_hint
from time import time_ns
from typing import Any

from .driver import Fault
from .generator import MASK, Stream

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ "
# Two characters for twelve bits, lowest six bits first.
_PAIRS = [a + b for b in _ALPHABET for a in _ALPHABET]
_CHARS_PER_WORD = 10

# Bounds of what is drawn at once: operations, and the characters or so that their values take.
_OPERATIONS = 1024
_CHARACTERS = 64 << 10

# Columns of one statement that others are made of, by index of the parameter.
Drawn = dict[int, list]


class Params:
    """Draws the values of one transaction for one worker."""

    def __init__(self, seed: int, transaction: dict, worker: int, lot: int | None = None):
        """`lot`: the most operations drawn at once; none: as many as are quickest."""
        self.sources = [param["source"] for param in transaction["params"]]
        self.worker = worker
        names = [f"{transaction['name']}.{param['name']}" for param in transaction["params"]]
        self.columns: list[Callable[[range, Drawn], list]] = [
            partial(getattr(self, "_" + source["kind"].replace("-", "_")), index, source, Stream(seed, name))
            for index, (source, name) in enumerate(zip(self.sources, names))
        ]
        self.statements = [(s["bind"], s["tuples"], s["repeat"]) for s in transaction["statements"]]
        if any(index >= len(self.sources) for bind, _, _ in self.statements for index in bind):
            raise Fault(f"transaction `{transaction['name']}` binds a parameter that it does not have")
        self.chunk = min(self._chunk(), lot or _OPERATIONS)
        self.now = 0
        # Operations drawn, and an iterator over those of them that were not taken yet.
        self._drawn: tuple[int, Iterator[Any]] = (0, iter([]))

    def _chunk(self) -> int:
        """How many operations are drawn at once: one where there is a clock to read or many rows anyway."""
        if any(source["kind"] == "now" for source in self.sources):
            return 1
        if any(tuples * repeat != 1 for _, tuples, repeat in self.statements):
            return 1
        bound = [self.sources[index] for bind, _, _ in self.statements for index in bind]
        size = sum(32 + source.get("bytes", 0) * 2 + source.get("chars", 0) for source in bound)
        return max(1, min(_OPERATIONS, _CHARACTERS // max(size, 1)))

    def operations(self, first: int, stride: int, between: Callable[[], None]) -> Iterator[Any]:
        """The values of operation `first`, `first + stride`, … without end: see `draw`. `between` is called before
        each drawing."""
        chunk = self.chunk if stride else 1

        def chunks():
            at = first
            while True:
                between()
                drawn = self.draw(range(at, at + chunk * stride, stride) if chunk > 1 else range(at, at + 1))
                rest = iter(drawn)
                self._drawn = self._drawn[0] + len(drawn), rest
                yield rest
                at += chunk * stride

        self._chunks = chunks()
        return chain.from_iterable(self._chunks)

    def lists(self, times: int) -> Iterator[Iterator[Any]]:
        """What `operations` would go on with, so many values in all: an iterator over each list drawn, which costs less
        for each value than one over all lists."""
        _, rest = self._drawn
        while times > 0:
            left = length_hint(rest)
            yield rest if left <= times else islice(rest, times)
            times -= left
            if times > 0:
                rest = next(self._chunks)

    def taken(self) -> int:
        """How many values were taken from `operations`, which another thread may ask, too."""
        drawn, rest = self._drawn
        return drawn - length_hint(rest)

    def draw(self, operations: range) -> list:
        """For each operation a tuple with an item for each statement; of a single statement the item itself. The item
        is what is bound; where the statement is repeated, a list of that."""
        # The wall clock is read once for an operation, so that two columns with the same time agree.
        self.now = time_ns()
        if len(operations) > 1:
            items = [self._rows(bind, operations) for bind, _, _ in self.statements]
        else:
            items = [[self._of_one(operations[0], *statement)] for statement in self.statements]
        return items[0] if len(items) == 1 else list(zip(*items))

    def _of_one(self, operation: int, bind: list[int], tuples: int, repeat: int) -> Any:
        count = tuples * repeat
        rows = self._rows(bind, range(operation * count, (operation + 1) * count))
        if tuples > 1:
            rows = [tuple(chain.from_iterable(rows[at : at + tuples])) for at in range(0, count, tuples)]
        return rows if repeat != 1 else rows[0]

    def _rows(self, bind: list[int], rows: range) -> list[tuple]:
        drawn: Drawn = {}
        return list(zip(*[self._column(index, rows, drawn) for index in bind])) if bind else [()] * len(rows)

    def _column(self, index: int, rows: range, drawn: Drawn) -> list:
        if index not in drawn:
            drawn[index] = self.columns[index](rows, drawn)
        return drawn[index]

    # One function for each kind of source: (its index, itself, its stream, rows, columns drawn already).

    def _value(self, _index, source, _stream, rows, _drawn):
        return [scalar(source["value"])] * len(rows)

    def _choice(self, _index, source, stream, rows, _drawn):
        values = [scalar(value) for value in source["values"]]
        factor = len(values) * 2.0**-53
        return [values[int(part * factor)] for part in stream.upper(rows)] if values else [None] * len(rows)

    def _uniform(self, _index, source, stream, rows, _drawn):
        return stream.between(rows, source["low"], source["high"] - source["low"] + 1 & MASK)

    def _table(self, _index, source, stream, rows, _drawn):
        cut, low, width = source["cut"], source["low"], source["width"]
        found = [(bisect_right(cut, first >> 11), second >> 11) for first, second in zip(*stream.words(rows, 2))]
        # Beyond the last cut the reference takes 0 with width 1; no valid table has anything there.
        low, width = [*low, 0], [w * 2.0**-53 for w in (*width, 1)]
        return [low[at] + int(part * width[at]) for at, part in found]

    def _sequence(self, _index, source, _stream, rows, _drawn):
        start, step = source["start"], source["step"]
        return [wrapped(start + step * row) for row in rows]

    def _hex(self, _index, source, stream, rows, _drawn):
        count = -(-source["bytes"] // 8)
        if count == 0:
            return [""] * len(rows)
        digits, form = 2 * source["bytes"], "%016x" * count
        words = [form % each for each in zip(*stream.words(rows, count))]
        return words if digits == 16 * count else [text[:digits] for text in words]

    def _text(self, _index, source, stream, rows, _drawn):
        chars, pairs = source["chars"], _PAIRS
        texts = [""] * len(rows)
        for words in stream.words(rows, -(-chars // _CHARS_PER_WORD)):
            texts = [
                text
                + pairs[w & 4095] + pairs[w >> 12 & 4095] + pairs[w >> 24 & 4095]
                + pairs[w >> 36 & 4095] + pairs[w >> 48 & 4095]
                for text, w in zip(texts, words)
            ]  # fmt: skip
        return [text[:chars] for text in texts]

    def _sha256_of(self, index, source, _stream, rows, drawn):
        other = source["param"]
        if other < len(self.sources) and self.sources[other]["kind"] == "hex":
            return [sha256(bytes.fromhex(text)).hexdigest() for text in self._column(other, rows, drawn)]
        # One that refers to itself or to a later one hashes nothing, as in the reference.
        if other >= index:
            return [sha256().hexdigest()] * len(rows)
        return [sha256(spelled(value).encode()).hexdigest() for value in self._column(other, rows, drawn)]

    def _now(self, _index, source, _stream, rows, _drawn):
        return [clock(source["unit"], self.now)] * len(rows)

    def _worker(self, _index, _source, _stream, rows, _drawn):
        return [self.worker] * len(rows)

    def _format(self, _index, source, _stream, rows, _drawn):
        pieces = source["template"].replace("{worker}", str(self.worker)).split("{row}")
        return [str(row).join(pieces) for row in rows]

    def _yielded(self, _index, _source, _stream, rows, _drawn):
        """Its value is only known when the statement is executed; `statement.filling` puts it there."""
        return [None] * len(rows)


def scalar(value: Any) -> Any:
    """What a JSON scalar stands for; nothing else stands for anything."""
    match value:
        case bool():
            return int(value)
        case int():
            return value if -(1 << 63) <= value < 1 << 63 else float(value)
        case float() | str():
            return value
    return None


def wrapped(value: int) -> int:
    """As a signed integer of 64 bits."""
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63) & MASK) - (1 << 63)


def spelled(value: Any) -> str:
    """The text of a value that is hashed: of a real number the shortest digits, never an exponent."""
    if value is None:
        return ""
    return f"{Decimal(repr(value)):f}".removesuffix(".0") if isinstance(value, float) else str(value)


def clock(unit: str, nanos: int) -> int | str:
    """The wall clock, nanoseconds since 1970, in the wanted form."""
    match unit:
        case "s":
            return nanos // 1_000_000_000
        case "ms":
            return nanos // 1_000_000
        case "us":
            return nanos // 1_000
    moment = datetime.fromtimestamp(nanos // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanos // 1_000_000 % 1_000:03}Z"

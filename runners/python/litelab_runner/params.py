"""Drawing the values of operations, column by column: `docs/PROTOCOL.md` says what each source is a function of.

Where every statement of a transaction takes one row, the values of some operations are drawn ahead at once, which costs
half; they depend on nothing but the row.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import chain, count
from time import time_ns
from typing import Any

from .driver import Fault
from .generator import MASK, Stream, below

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ "
_CHARS_PER_WORD = 10
_SHIFTS = range(0, 6 * _CHARS_PER_WORD, 6)

# Operations drawn ahead at once, and the most characters of their texts: the first operation waits for all of them.
AHEAD = 64
AHEAD_CHARS = 1 << 16

# Columns of one statement that others are made of, by index of the parameter.
Drawn = dict[int, list]

# What a statement binds: the values of a row, or where it is repeated a list of that.
Bound = tuple | list[tuple]
# The same for a transaction: of a single statement its own, of several a tuple of theirs.
Values = Bound | tuple[Bound, ...]


class Params:
    """Draws the values of one transaction for one worker."""

    def __init__(self, seed: int, transaction: dict, worker: int):
        self.sources = [param["source"] for param in transaction["params"]]
        self.worker = worker
        names = [f"{transaction['name']}.{param['name']}" for param in transaction["params"]]
        self.columns: list[Callable[[list[int] | range, Drawn], list]] = [
            partial(getattr(self, "_" + source["kind"].replace("-", "_")), index, source, Stream(seed, name))
            for index, (source, name) in enumerate(zip(self.sources, names))
        ]
        self.statements = [(s["bind"], s["tuples"], s["repeat"]) for s in transaction["statements"]]
        if any(index >= len(self.sources) for bind, _, _ in self.statements for index in bind):
            raise Fault(f"transaction `{transaction['name']}` binds a parameter that it does not have")
        # Not where there is a clock to read, or many rows anyway.
        alone = any(source["kind"] == "now" for source in self.sources)
        alone = alone or any(tuples * repeat != 1 for _, tuples, repeat in self.statements)
        chars = sum(source.get("chars", 0) + 2 * source.get("bytes", 0) for source in self.sources)
        self.ahead = 1 if alone else max(1, min(AHEAD, AHEAD_CHARS // max(1, chars)))
        self.now = 0

    def operations(self, first: int, stride: int) -> Iterator[Values]:
        """The values of operation `first`, `first + stride`, … without end."""
        for at in count(first, stride * self.ahead):
            yield from self.draw([at + stride * n for n in range(self.ahead)])

    def draw(self, operations: list[int]) -> list[Values]:
        """The values of each operation; of several, where none has more than a row."""
        # The wall clock is read once, so that two columns with the same time agree.
        self.now = time_ns()
        items = [self._bound(operations, *statement) for statement in self.statements]
        return items[0] if len(items) == 1 else list(zip(*items))

    def _bound(self, operations: list[int], bind: list[int], tuples: int, repeat: int) -> list[Bound]:
        if tuples * repeat == 1:
            return self._rows(bind, operations)
        [operation], number = operations, tuples * repeat
        rows = self._rows(bind, range(operation * number, (operation + 1) * number))
        if tuples > 1:
            rows = [tuple(chain.from_iterable(rows[at : at + tuples])) for at in range(0, number, tuples)]
        return [rows] if repeat != 1 else rows

    def _rows(self, bind: list[int], rows: list[int] | range) -> list[tuple]:
        drawn: Drawn = {}
        return list(zip(*[self._column(index, rows, drawn) for index in bind])) if bind else [()] * len(rows)

    def _column(self, index: int, rows: list[int] | range, drawn: Drawn) -> list:
        if index not in drawn:
            drawn[index] = self.columns[index](rows, drawn)
        return drawn[index]

    # One function for each kind of source: (its index, itself, its stream, rows, columns drawn already).

    def _value(self, _index, source, _stream, rows, _drawn):
        return [scalar(source["value"])] * len(rows)

    def _choice(self, _index, source, stream, rows, _drawn):
        values = [scalar(value) for value in source["values"]] or [None]
        return [values[below(stream.word(row), len(values))] for row in rows]

    def _uniform(self, _index, source, stream, rows, _drawn):
        low, width = source["low"], source["high"] - source["low"] + 1 & MASK
        return [low + below(stream.word(row), width) for row in rows]

    def _table(self, _index, source, stream, rows, _drawn):
        # Beyond the last cut the reference takes 0 with width 1; no valid table has anything there.
        cut, low, width = source["cut"], [*source["low"], 0], [*source["width"], 1]
        found = [(bisect_right(cut, first >> 11), second) for first, second in (stream.words(row, 2) for row in rows)]
        return [low[at] + below(second, width[at]) for at, second in found]

    def _sequence(self, _index, source, _stream, rows, _drawn):
        start, step = source["start"], source["step"]
        return [wrapped(start + step * row) for row in rows]

    def _hex(self, _index, source, stream, rows, _drawn):
        words, digits = -(-source["bytes"] // 8), 2 * source["bytes"]
        return ["".join([f"{word:016x}" for word in stream.words(row, words)])[:digits] for row in rows]

    def _text(self, _index, source, stream, rows, _drawn):
        words, chars = -(-source["chars"] // _CHARS_PER_WORD), source["chars"]
        return [
            "".join([_ALPHABET[word >> shift & 63] for word in stream.words(row, words) for shift in _SHIFTS])[:chars]
            for row in rows
        ]

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

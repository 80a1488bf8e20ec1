"""Drawing the values of operations, column by column. `docs/reference/protocol.md` defines the function of each source.

If every statement of a transaction takes one row, and one worker works without arrivals, the values of several
operations are drawn in one batch ahead of time, which halves the cost; they depend on the row only. With others it
would hold the interpreter's lock, or the loop, while one of them is in its transaction, and an arrival would wait.
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

# Number of operations drawn in one batch, and limit of the characters of their texts: the first operation waits for the
# whole batch.
AHEAD = 64
AHEAD_CHARS = 1 << 16

# Columns of one statement that other columns depend on, by index of the parameter.
Drawn = dict[int, list]

# Values bound by a statement: those of a row, or a list of rows if it is repeated.
Bound = tuple | list[tuple]
# Values of a transaction: those of its single statement, or a tuple with those of each statement.
Values = Bound | tuple[Bound, ...]


class Params:
    """Draws the values of one transaction for one worker."""

    def __init__(self, seed: int, transaction: dict, worker: int, batches: bool = True):
        """Without `batches` each operation is drawn by itself."""
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
        # No batches if a source reads the clock, or if an operation has several rows anyway.
        alone = not batches or any(source["kind"] == "now" for source in self.sources)
        alone = alone or any(tuples * repeat != 1 for _, tuples, repeat in self.statements)
        chars = sum(source.get("chars", 0) + 2 * source.get("bytes", 0) for source in self.sources)
        self.ahead = 1 if alone else max(1, min(AHEAD, AHEAD_CHARS // max(1, chars)))
        self.now = 0

    def operations(self, first: int, stride: int) -> Iterator[Values]:
        """Yields the values of operation `first`, `first + stride`, … without end."""
        for at in count(first, stride * self.ahead):
            yield from self.draw([at + stride * n for n in range(self.ahead)])

    def draw(self, operations: list[int]) -> list[Values]:
        """Returns the values of each operation. Several operations are allowed only if each has at most one row."""
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

    # One function per kind of source. Arguments: its index, the source, its stream, the rows, the columns drawn
    # already.

    def _value(self, _index, source, _stream, rows, _drawn):
        return [scalar(source["value"])] * len(rows)

    def _choice(self, _index, source, stream, rows, _drawn):
        values = [scalar(value) for value in source["values"]] or [None]
        return [values[below(stream.word(row), len(values))] for row in rows]

    def _uniform(self, _index, source, stream, rows, _drawn):
        low, width = source["low"], source["high"] - source["low"] + 1 & MASK
        return [low + below(stream.word(row), width) for row in rows]

    def _table(self, _index, source, stream, rows, _drawn):
        # Beyond the last cut the reference uses 0 with width 1; a valid table has no values there.
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
        # A parameter that refers to itself or to a later one hashes no bytes, as in the reference.
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
        """Returns placeholders: `statement.filling` inserts the value when the statement is executed."""
        return [None] * len(rows)


def scalar(value: Any) -> Any:
    """Converts a JSON scalar; any other value becomes None."""
    match value:
        case bool():
            return int(value)
        case int():
            return value if -(1 << 63) <= value < 1 << 63 else float(value)
        case float() | str():
            return value
    return None


def wrapped(value: int) -> int:
    """Wraps to a signed 64-bit integer."""
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63) & MASK) - (1 << 63)


def spelled(value: Any) -> str:
    """Returns the text of a value that is hashed: for a real number the shortest digits, without an exponent."""
    if value is None:
        return ""
    return f"{Decimal(repr(value)):f}".removesuffix(".0") if isinstance(value, float) else str(value)


def clock(unit: str, nanos: int) -> int | str:
    """Converts the wall clock, in nanoseconds since 1970, to the requested unit."""
    match unit:
        case "s":
            return nanos // 1_000_000_000
        case "ms":
            return nanos // 1_000_000
        case "us":
            return nanos // 1_000
    moment = datetime.fromtimestamp(nanos // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanos // 1_000_000 % 1_000:03}Z"

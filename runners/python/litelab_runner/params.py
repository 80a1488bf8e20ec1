"""Drawing the values of operations: `docs/PROTOCOL.md` says what each source is a function of."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from itertools import chain
from time import time_ns
from typing import Any

from .driver import Fault
from .generator import MASK, Stream, below

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ "
_CHARS_PER_WORD = 10

# What is bound at each execution of a statement, in order.
Bound = list[tuple]


class Params:
    """Draws the values of one transaction for one worker."""

    def __init__(self, seed: int, transaction: dict, worker: int):
        self.worker = worker
        # Nanoseconds since 1970, read once for an operation, so that two columns with the time agree.
        self.now = 0
        self.sources = [param["source"] for param in transaction["params"]]
        hashed = {source["param"] for source in self.sources if source["kind"] == "sha256-of"}
        # By parameter: its value in a row.
        self.values: list[Callable[[int], Any]] = []
        for index, param in enumerate(transaction["params"]):
            value = self._value(param["source"], Stream(seed, f"{transaction['name']}.{param['name']}"))
            # The value and its hash are mostly drawn one after the other.
            self.values.append(lru_cache(maxsize=1)(value) if index in hashed else value)
        if any(index >= len(self.values) for s in transaction["statements"] for index in s["bind"]):
            raise Fault(f"transaction `{transaction['name']}` binds a parameter that it does not have")
        self.statements = [
            ([self.values[index] for index in s["bind"]], s["tuples"], s["repeat"]) for s in transaction["statements"]
        ]

    def operations(self, first: int, stride: int) -> Iterator[list[Bound]]:
        """The values of operation `first`, `first + stride`, … without end."""
        operation = first
        while True:
            yield self.draw(operation)
            operation += stride

    def draw(self, operation: int) -> list[Bound]:
        """The values of one operation, for each statement."""
        self.now = time_ns()
        return [self._bound(operation, *statement) for statement in self.statements]

    def _bound(self, operation: int, values: list[Callable[[int], Any]], tuples: int, repeat: int) -> Bound:
        count = tuples * repeat
        rows = [tuple([value(row) for value in values]) for row in range(operation * count, (operation + 1) * count)]
        if tuples == 1:
            return rows
        return [tuple(chain.from_iterable(rows[at : at + tuples])) for at in range(0, count, tuples)]

    def _value(self, source: dict, stream: Stream) -> Callable[[int], Any]:
        match source["kind"]:
            case "value":
                value = scalar(source["value"])
                return lambda _row: value
            case "choice":
                values = [scalar(value) for value in source["values"]] or [None]
                return lambda row: values[below(stream.word(row), len(values))]
            case "uniform":
                low, width = source["low"], source["high"] - source["low"] + 1 & MASK
                return lambda row: low + below(stream.word(row), width)
            case "table":
                return table(source, stream)
            case "sequence":
                start, step = source["start"], source["step"]
                return lambda row: wrapped(start + step * row)
            case "hex":
                words, digits = -(-source["bytes"] // 8), 2 * source["bytes"]
                return lambda row: "".join([f"{word:016x}" for word in stream.words(row, words)])[:digits]
            case "text":
                return text(source["chars"], stream)
            case "sha256-of":
                return self._hash(source["param"])
            case "now":
                unit = source["unit"]
                return lambda _row: clock(unit, self.now)
            case "worker":
                return lambda _row: self.worker
            case "format":
                pieces = source["template"].replace("{worker}", str(self.worker)).split("{row}")
                return lambda row: str(row).join(pieces)
            case "yielded":
                # Known only when the statement is executed; `statement.executing` puts it there.
                return lambda _row: None
        raise Fault(f"a parameter's source is of kind `{source['kind']}`")

    def _hash(self, other: int) -> Callable[[int], str]:
        # A parameter that refers to itself or to a later one hashes nothing, as in the reference.
        if other >= len(self.values):
            return lambda _row: sha256().hexdigest()
        value = self.values[other]
        if self.sources[other]["kind"] == "hex":
            return lambda row: sha256(bytes.fromhex(value(row))).hexdigest()
        return lambda row: sha256(spelled(value(row)).encode()).hexdigest()


def table(source: dict, stream: Stream) -> Callable[[int], int]:
    cut = source["cut"]
    # Beyond the last cut the reference takes 0 with width 1; no valid table has anything there.
    low, width = [*source["low"], 0], [*source["width"], 1]

    def value(row: int) -> int:
        first, second = stream.words(row, 2)
        at = bisect_right(cut, first >> 11)
        return low[at] + below(second, width[at])

    return value


def text(chars: int, stream: Stream) -> Callable[[int], str]:
    words, shifts = -(-chars // _CHARS_PER_WORD), range(0, 6 * _CHARS_PER_WORD, 6)

    def value(row: int) -> str:
        return "".join([_ALPHABET[word >> shift & 63] for word in stream.words(row, words) for shift in shifts])[:chars]

    return value


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

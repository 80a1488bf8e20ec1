"""What is written down of executions. Every worker has its own records; they are added up when the trial is over."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from operator import mul
from threading import Lock

from hdrh.histogram import HdrHistogram

from . import codes

# Bounds of every histogram on the wire, in nanoseconds, and its significant digits.
LOWEST, HIGHEST, DIGITS = 1, 3_600_000_000_000, 3
# Significant bits of a value in such a histogram: what differs only beyond them has one place in it.
_BITS = 11

COUNTS = ("committed", "empty", "failed", "errors", "busy")
LATENCIES = ("service", "wait", "response", "lag", "query", "first_row")

# Values below are counted one by one, in half a megabyte: most transactions take less than 65 µs.
_NEAR = 1 << 16

# Fewer notes are not worth counting yet.
_ENOUGH = 64


class Latencies:
    """Nanoseconds, counted; never less than 0, for the clock does not run backwards.

    HdrHistogram's `record_value` is Python and takes about a microsecond, a third of a point read. So what is noted is
    kept in a list until `settle`, which the worker calls between transactions, then counted by value, and only
    recorded in a histogram when the trial is over. A worker with nothing else to do counts at once. Memory does not grow
    with the number of values: of long ones, as soon as many are known, those that a histogram does not tell apart are
    put together.
    """

    def __init__(self):
        self._noted: list[int] = []
        # The list's own method: noting is one call of a built-in function.
        self.note = self._noted.append
        # Counts of short values, in a list made when it is needed: a third faster than a dictionary of so many, whose
        # entries lie anywhere in memory.
        self._near: list[int] = []
        self._far: Counter[int] = Counter()
        self._most = 1 << 14
        self._settled = 0
        # Nanoseconds of all that was settled.
        self.sum = 0
        # For `count`, which another thread asks for.
        self._lock = Lock()

    def count(self) -> int:
        with self._lock:
            return self._settled + len(self._noted)

    def settle(self, fewest: int = 1) -> None:
        """Counts what was noted, if it is so much at least."""
        noted = self._noted
        if len(noted) < fewest:
            return
        near, values = self.near(), iter(noted)
        while True:
            try:
                for value in values:
                    near[value] += 1
                break
            except IndexError:
                self.far(value)
        self.sum += sum(noted)
        with self._lock:
            self._settled += len(noted)
            noted.clear()

    def near(self) -> list[int]:
        """How often each short value was seen. Who counts in it, and by `far`, calls `recount` afterwards."""
        if not self._near:
            self._near = [0] * _NEAR
        return self._near

    def far(self, value: int) -> None:
        """Counts a value for which `near` has no place."""
        self._far[value] += 1
        if len(self._far) > self._most:
            self._far = folded(self._far.items())
            self._most = max(self._most, 2 * len(self._far))

    def recount(self) -> None:
        """Takes notice of what was counted without being noted."""
        self.settle()
        self._settled = sum(self._near) + sum(self._far.values())
        self.sum = sum(map(mul, self._near, range(_NEAR))) + sum(value * count for value, count in self._far.items())

    def _counts(self) -> Counter[int]:
        """All of them, by the places in a histogram."""
        near = ((value, count) for value, count in enumerate(self._near) if count)
        return folded(chain(near, self._far.items()))

    def add(self, other: "Latencies") -> None:
        other.settle()
        for value, count in other._counts().items():
            self._far[value] += count
        self._settled += other._settled
        self.sum += other.sum

    def histogram(self) -> HdrHistogram:
        self.settle()
        histogram = HdrHistogram(LOWEST, HIGHEST, DIGITS)
        for value, count in self._counts().items():
            histogram.record_value(max(0, min(value, HIGHEST)), count)
        return histogram

    def encoded(self) -> str:
        """HdrHistogram's V2 compressed form in base64."""
        text = self.histogram().encode()
        return text.decode() if isinstance(text, bytes) else text


def folded(counts: Iterable[tuple[int, int]]) -> Counter[int]:
    """Counts of values, those together that have one place in a histogram."""
    sums: Counter[int] = Counter()
    for value, count in counts:
        shift = max(value.bit_length() - _BITS, 0)
        sums[value >> shift << shift] += count
    return sums


class Record:
    """One step of one worker, or one role's transaction of all of them. Counts that `tick` shows are written by one
    thread and read by another."""

    def __init__(self, waits: bool = False, open_load: bool = False, timed: bool = False):
        """`waits`: there is something to wait for. `timed`: a statement fetches all rows."""
        # Transactions that committed in the warm-up; all others are in `service`.
        self.warming = 0
        self.empty = self.failed = self.errors = self.busy = 0
        self.rows = self.verified = self.mismatches = self.unserved = 0
        # Name → times seen, and times cured.
        self.seen: Counter[str] = Counter()
        self.cured: Counter[str] = Counter()
        self.service = Latencies()
        self.wait = Latencies() if waits else None
        self.response = Latencies() if open_load else None
        self.lag = Latencies() if open_load else None
        self.query = Latencies() if timed else None
        self.first_row = Latencies() if timed else None
        # While a worker does not note what it counts: how many it has counted.
        self.counting: Callable[[], int] | None = None
        self._kept = [kept for kept in map(self.__getattribute__, LATENCIES) if kept]

    @property
    def committed(self) -> int:
        counting = self.counting
        return self.warming + (counting() if counting else self.service.count())

    def between(self) -> None:
        """Called by the worker now and then between two transactions."""
        for latencies in self._kept:
            latencies.settle(_ENOUGH)

    def count_errors(self, seen: list[str], cured: bool) -> None:
        self.errors += len(seen)
        self.busy += sum(map(codes.is_busy, seen))
        self.seen.update(seen)
        if cured:
            self.cured.update(seen)

    def add(self, other: "Record") -> None:
        for name in ("warming", *COUNTS[1:], "rows", "verified", "mismatches"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.seen.update(other.seen)
        self.cured.update(other.cured)
        for name in LATENCIES:
            if (part := getattr(other, name)) is not None:
                whole = getattr(self, name) or Latencies()
                whole.add(part)
                setattr(self, name, whole)

    def operation(self) -> dict:
        """As in `result`, without its names."""
        errors: dict[str, dict[str, int]] = {}
        for code, seen in self.seen.items():
            errors[code] = {"seen": seen, "cured": self.cured[code]}
        latencies = {name: getattr(self, name) for name in LATENCIES}
        return {
            **{name: getattr(self, name) for name in ("committed", "empty", "failed", "rows")},
            **{name: getattr(self, name) for name in ("verified", "mismatches", "unserved")},
            "measured": self.service.count(),
            "errors": errors,
            **{name: kept and kept.encoded() for name, kept in latencies.items()},
        }


class Board:
    """The records of all workers by role and transaction."""

    def __init__(self, trial: dict):
        # Every pair once, in the order of roles and their steps.
        steps = [(r, step["transaction"]) for r, role in enumerate(trial["roles"]) for step in role["steps"]]
        self.records: dict[tuple[int, int], list[Record]] = {pair: [] for pair in steps}
        names = [transaction["name"] for transaction in trial["transactions"]]
        self._names = {(r, t): {"role": trial["roles"][r]["name"], "transaction": names[t]} for r, t in self.records}
        self._last = {pair: (0,) * len(COUNTS) for pair in self.records}

    def tick(self) -> list[dict]:
        """What was counted since the last tick, without what was not."""
        counts = []
        for pair, records in self.records.items():
            sums = tuple(sum(getattr(record, name) for record in records) for name in COUNTS)
            since = [now - last for now, last in zip(sums, self._last[pair])]
            self._last[pair] = sums
            if any(since):
                counts.append({**self._names[pair], **dict(zip(COUNTS, since))})
        return counts

    def operations(self, unserved: dict[int, int]) -> list[dict]:
        """One for each role and transaction. Arrivals are the role's, not yet those of one of its steps: what is
        `unserved` of a role counts for its first."""
        operations = []
        unserved = dict(unserved)
        for pair, records in self.records.items():
            whole = Record()
            for record in records:
                whole.add(record)
            whole.unserved = unserved.pop(pair[0], 0)
            operations.append({**self._names[pair], **whole.operation()})
        return operations

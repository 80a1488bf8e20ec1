"""Counts and latencies of executions. Every worker has its own records; they are merged at the end of the trial."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from hdrh.histogram import HdrHistogram

from . import codes
from .driver import Memory

# Bounds in nanoseconds and significant digits of every histogram in a message.
LOWEST, HIGHEST, DIGITS = 1, 3_600_000_000_000, 3

TICKED = ("committed", "empty", "failed", "errors", "busy")
COUNTS = ("committed", "empty", "failed", "ended", "rows", "unserved")
COUNTERS = ("verified", "mismatches")
TIMERS = ("wait", "response", "lag", "query", "first_row")

# Number of occurrences by nanoseconds. HdrHistogram's `record_value` is Python code and takes a microsecond, a third of
# a point read, so histograms are created after the trial.
Latencies = defaultdict[int, int]


def histogram(latencies: Mapping[int, int]) -> HdrHistogram:
    made = HdrHistogram(LOWEST, HIGHEST, DIGITS)
    for value, count in latencies.items():
        made.record_value(max(0, min(value, HIGHEST)), count)
    return made


def encoded(latencies: Mapping[int, int]) -> str:
    """Returns HdrHistogram's V2 compressed encoding in base64."""
    text = histogram(latencies).encode()
    return text.decode() if isinstance(text, bytes) else text


class Record:
    """Counts of one step of one worker, or the sum for one transaction of a role.

    Counts shown in ticks are written by one thread and read by another.
    """

    def __init__(self, waits: bool = False, open_load: bool = False, timed: bool = False):
        """`waits`: the connection is shared. `timed`: a statement fetches all rows."""
        self.committed = self.empty = self.failed = self.ended = 0
        self.rows = self.verified = self.mismatches = self.unserved = 0
        self.errors = self.busy = 0
        # Number of times that each error was seen, and cured.
        self.seen: Counter[str] = Counter()
        self.cured: Counter[str] = Counter()
        # The database's message of the first error of each name, on one line.
        self.messages: dict[str, str] = {}
        self.unfinished: list[dict] = []
        self.service: Latencies = Latencies(int)
        self.wait = Latencies(int) if waits else None
        self.response = Latencies(int) if open_load else None
        self.lag = Latencies(int) if open_load else None
        self.query = Latencies(int) if timed else None
        self.first_row = Latencies(int) if timed else None

    def count_error(self, code: str, message: str) -> None:
        if code not in self.messages:
            self.messages[code] = " ".join(message.split())
        self.errors += 1
        self.busy += codes.is_busy(code)
        self.seen[code] += 1

    def count_rows(self, memory: Memory) -> None:
        """Adds the numbers of rows whose content was checked."""
        self.verified += memory.verified
        self.mismatches += memory.mismatches
        memory.verified = memory.mismatches = 0

    def add(self, other: "Record") -> None:
        for name in COUNTS + COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.seen.update(other.seen)
        self.cured.update(other.cured)
        self.messages = {**other.messages, **self.messages}
        self.unfinished += other.unfinished
        for name in ("service", *TIMERS):
            if (part := getattr(other, name)) is not None:
                whole = getattr(self, name)
                if whole is None:
                    setattr(self, name, whole := Latencies(int))
                for value, count in part.items():
                    whole[value] += count

    def operation(self) -> dict:
        """Returns the entry of `operations` in `result`, without its names."""
        timers = {name: getattr(self, name) for name in TIMERS}
        return {
            **{name: getattr(self, name) for name in COUNTS},
            "measured": sum(self.service.values()),
            "errors": {
                code: {"seen": seen, "cured": self.cured[code], "message": self.messages.get(code)}
                for code, seen in self.seen.items()
            },
            "unfinished": self.unfinished,
            "counters": {name: getattr(self, name) for name in COUNTERS},
            "service": encoded(self.service),
            "timers": {name: encoded(kept) for name, kept in timers.items() if kept is not None},
        }


class Board:
    """The records of all workers by role and transaction."""

    def __init__(self, trial: dict):
        # Each pair once, in the order of roles and their steps.
        steps = [(r, step["transaction"]) for r, role in enumerate(trial["roles"]) for step in role["steps"]]
        self.records: dict[tuple[int, int], list[Record]] = {pair: [] for pair in steps}
        names = [transaction["name"] for transaction in trial["transactions"]]
        self._names = {(r, t): {"role": trial["roles"][r]["name"], "transaction": names[t]} for r, t in self.records}
        self._last = {pair: (0,) * len(TICKED) for pair in self.records}

    def tick(self) -> list[dict]:
        """Returns the counts since the last tick, for the pairs that have any."""
        counts = []
        for pair, records in self.records.items():
            sums = tuple(sum(getattr(record, name) for record in records) for name in TICKED)
            since = [now - last for now, last in zip(sums, self._last[pair])]
            self._last[pair] = sums
            if any(since):
                counts.append({**self._names[pair], **dict(zip(TICKED, since))})
        return counts

    def operations(self, unserved: dict[int, int]) -> list[dict]:
        """Returns one entry for each role and transaction.

        Arrivals belong to a role, not to a step: the `unserved` ones of a role count for its first step.
        """
        operations = []
        unserved = dict(unserved)
        for pair, records in self.records.items():
            whole = Record()
            for record in records:
                whole.add(record)
            whole.unserved = unserved.pop(pair[0], 0)
            operations.append({**self._names[pair], **whole.operation()})
        return operations

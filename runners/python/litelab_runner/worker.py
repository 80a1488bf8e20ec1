"""A worker, which repeats the steps of its role until the role ends."""

from threading import Lock
from time import perf_counter_ns as now
from time import sleep

from .sharing import Handles
from .driver import EMPTY, FAILED, Fault, Memory, Session
from .generator import Stream, below
from .params import Params, Values
from .record import Record
from .schedule import Schedule
from .transaction import Attempt, Retry, first_fetch

# Longest time in nanoseconds by which a sleep may outlast the event that should end it.
SLICE = 10_000_000

# Interval in nanoseconds at which a worker counts its notes.
COUNTING = 1_000_000

# Later than any clock reading.
NEVER = 1 << 63



class End:
    """The end of a role as a clock reading: no transaction starts later, and later commits are not counted as `ended`.

    If it is the end of another role, it is NEVER until that role has ended; for a number of transactions it stays
    NEVER.
    """

    __slots__ = ("time", "slices")

    def __init__(self, waits_for_role: bool):
        self.time = NEVER
        self.slices = waits_for_role

    def sleep(self, due: int) -> None:
        """Waits until `due`, or until just after the end if that is earlier."""
        while (moment := now()) < due and moment <= self.time:
            left = min(due, self.time + 1) - moment
            sleep((min(left, SLICE) if self.slices else left) / 1e9)


class Task:
    """One step of a role, as run by one worker."""

    def __init__(self, trial: dict, step: dict, place: int, worker: int, handles: Handles, open_load: bool):
        """`place` is the index among the workers of the role, `worker` that among all workers of the database."""
        self.index = step["transaction"]
        spec = trial["transactions"][self.index]
        self.weight = step["weight"]
        self.handle = handles[spec["writes"]]
        self.waits = self.handle.waits
        self.record = Record(self.waits, open_load, first_fetch(spec) is not None)
        workers = sum(role["workers"] for role in trial["roles"]) * len(trial["databases"])
        params = Params(trial["seed"], spec, worker, batches=workers == 1 and not open_load)
        self.draws = params.operations(step["offset"] + place, step["stride"])
        self.yields = any(s["yields"] for s in spec["statements"])
        self.verifies = any(s["work"]["kind"] == "verify" for s in spec["statements"])


class Worker:
    """Runs transactions, notes their results, and counts the notes every millisecond.

    Counting between two calls of SQLite would take twice as long. Another thread may end the worker during a
    transaction: what it has noted by then is counted, later notes are not.
    """

    def __init__(
        self, trial: dict, r: int, w: int, database: int, handles: Handles, retry: Retry,
        schedule: Schedule | None, end: End,
    ):  # fmt: skip
        """Creates worker `w` of role `r` in this process and on this database."""
        self.role = role = trial["roles"][r]
        self.database, self.retry, self.schedule, self.end = database, retry, schedule, end
        self.index = role["first_worker"] + w
        self.place = role["first_in_role"] + w
        self.tasks = [
            Task(trial, step, self.place, self.index, handles, schedule is not None) for step in role["steps"]
        ]
        self.memory = Memory()
        self.think = role["load"].get("think_us", 0) * 1_000
        self.is_weighted = role["order"] == "weighted"
        self._choice = Stream(trial["seed"], f"{role['name']}.step")
        self._weights = sum(task.weight for task in self.tasks)
        self._warmup = trial["warmup_ms"] * 1_000_000
        # Clock readings: `go`, the end of the warm-up, the last commit, and the next time to count.
        self.go = self.warm = self._last = self.counts_at = 0
        # The current transaction: its step; its start, None while the worker waits for an arrival; its due time in an
        # open loop.
        self.task = self.tasks[0]
        self.start: int | None = None
        self.due: int | None = None
        # Completed transactions: step, due time, start, when the connection was acquired, end, rows or outcome,
        # `query`, `first_row`, errors.
        self.notes: list[tuple] = []
        # Held while the notes are counted or the worker is ended.
        self._counting = Lock()
        # End of the worker.
        self.ended: int | None = None
        # Nanoseconds of the window spent in transactions; the longest time without a commit.
        self.inside = self.stall = 0

    def run(self) -> None:
        """Works until the role ends, or an error occurs that is not from the database."""
        tasks, schedule, end, think = self.tasks, self.schedule, self.end, self.think
        memory, notes, at = self.memory, self.notes, 0
        for number in self.numbers():
            if self.is_weighted:
                at = self.by_weight(number)
            self.task = task = tasks[at]
            values = next(task.draws)
            memory.query = memory.first_row = None
            if schedule and not self._arrive():
                break
            start = now()
            if start > end.time:
                break
            self.start = start
            session, had, met = task.handle.session, start, None
            if task.waits:
                session, had = task.handle.take(), now()
            try:
                attempt = session.attempts[task.index]
                seen = attempt(values, memory)
                ended = now()
            except Exception as error:
                seen, ended, met = self._try_again(session, attempt, values, error)
            finally:
                if task.waits:
                    task.handle.give(session)
            notes.append((task, self.due, start, had, ended, seen, memory.query, memory.first_row, met))
            if task.yields:
                memory.keep()
            if (ended >= self.counts_at or task.verifies) and not self.count():
                break
            if think:
                end.sleep(now() + think)
            at = 0 if seen == EMPTY or at + 1 == len(tasks) else at + 1
        self.leave()

    def begin(self, go: int) -> None:
        self.go = self._last = go
        self.warm = go + self._warmup

    def numbers(self) -> range:
        """Returns the numbers of this worker's transactions in its role: place, place + every, place + 2 * every, …"""
        until = self.role["until"]
        limit = until["transactions"] if until["kind"] == "count" else NEVER
        return range(self.place, limit, self.role["workers_in_role"])

    def by_weight(self, number: int) -> int:
        """Returns the first step whose cumulative weight exceeds the draw."""
        drawn = below(self._choice.word(number), self._weights)
        for at, task in enumerate(self.tasks):
            drawn -= task.weight
            if drawn < 0:
                return at
        return 0

    def _arrive(self) -> bool:
        """Sleeps until the next arrival is due. Returns False after the end of the role if there is none before it."""
        self.end.sleep(self.arrival())
        return self.due is not None

    def arrival(self) -> int:
        """Returns the time of the next arrival, or NEVER if there is none before the end of the role."""
        due = self.schedule.take(self.end.time - self.go)
        self.start = None
        self.due = None if due is None else self.go + due
        return NEVER if due is None else self.due

    def _try_again(
        self, session: Session, attempt: Attempt, values: Values, error: Exception
    ) -> tuple[int, int, list[str]]:
        """Rolls back a failed attempt, and repeats it with the same values as long as the retry policy allows.

        Returns the result of the last attempt or FAILED, its time, and the errors.
        """
        met: list[str] = []
        while True:
            met.append(self.met(session, error))
            try:
                session.rollback()
            except Exception as worse:
                raise Fault.of(worse, session.code(worse), "ROLLBACK") from worse
            if not self.tries_again(met):
                return FAILED, now(), met
            sleep(self.retry.pause(len(met)))
            try:
                return attempt(values, self.memory), now(), met
            except Exception as again:
                error = again

    def met(self, session: Session, error: Exception) -> str:
        """Counts an error of the database and returns its code. Raises any other error."""
        code = session.code(error)
        if code is None:
            raise error
        with self._counting:
            if self.ended is None:
                self.task.record.count_error(code, str(error))
        return code

    def tries_again(self, met: list[str]) -> bool:
        """Whether a transaction that was rolled back is tried again."""
        self.memory.forget()
        return self.ended is None and len(met) < self.retry.attempts and self.retry.covers(met[-1])

    def count(self) -> bool:
        """Counts the notes. Returns False if the worker has been ended."""
        with self._counting:
            if self.ended is not None:
                return False
            self._count(self.notes)
            self.notes.clear()
            self.start = self.due = None
            if self.task.verifies:
                self.task.record.count_rows(self.memory)
        self.counts_at = now() + COUNTING
        return True

    def _count(self, notes: list[tuple]) -> None:
        warm, end, last, stall, inside = self.warm, self.end.time, self._last, self.stall, self.inside
        for task, due, start, had, ended, seen, query, first_row, met in notes:
            record = task.record
            begun, over = start >= warm, ended > end
            inside += ended - start if begun and not over else within(start, ended, warm, end)
            if seen == FAILED:
                record.failed += 1
                continue
            if met:
                record.cured.update(met)
            if seen == EMPTY:
                record.empty += 1
                continue
            record.committed += 1
            if ended - last > stall:
                stall = ended - last
            last = ended
            if warm < ended and not over:
                record.ended += 1
            if not begun:
                continue
            record.rows += seen
            record.service[ended - start] += 1
            if record.wait is not None:
                record.wait[had - start] += 1
            if due is not None:
                record.response[ended - due] += 1
                record.lag[start - due] += 1
            # A statement without columns has none.
            if record.query is not None and query is not None:
                record.query[query - start] += 1
                if first_row is not None:
                    record.first_row[first_row - start] += 1
        self._last, self.stall, self.inside = last, stall, inside

    def leave(self) -> bool:
        """Ends the worker if it has not ended yet. Returns whether a transaction is running.

        That transaction becomes unfinished, and an arrival that the worker waits for becomes unserved.
        """
        with self._counting:
            if self.ended is not None:
                return False
            notes = list(self.notes)
            start, due = self.start, self.due
            self._count(notes)
            self.ended = now()
            self.stall = max(self.stall, self.ended - self._last)
            if start is None:
                if due is not None:
                    self.schedule.leave(due - self.go)
                return False
            if notes and notes[-1][2] == start:
                return False
            self.inside += within(start, self.ended, self.warm, self.end.time)
            response = None if due is None else self.ended - due
            self.task.record.unfinished.append({"service_ns": self.ended - start, "response_ns": response})
            return True

    def result(self) -> dict:
        """Returns the worker's entry in `result`, after its end."""
        over = self.ended if self.end.time == NEVER else self.end.time
        return {
            "role": self.role["name"],
            "worker": self.index,
            "database": self.database,
            "committed": sum(task.record.committed for task in self.tasks),
            "ended": sum(task.record.ended for task in self.tasks),
            "inside_ns": self.inside,
            "outside_ns": max(0, over - self.warm - self.inside),
            "stall_ns": self.stall,
        }


def within(start: int, ended: int, warm: int, end: int) -> int:
    """Returns the nanoseconds of a transaction that are in the window."""
    return max(0, min(ended, end) - max(start, warm))

"""A worker: repeats its role's steps until the role ends."""

from threading import Lock
from time import perf_counter_ns as now
from time import sleep

from .access import Handles
from .driver import EMPTY, FAILED, Fault, Memory, Session
from .generator import Stream, below
from .params import Bound, Params
from .record import Record
from .schedule import Schedule
from .transaction import Attempt, Retry, first_fetch

# How long a pause may outlast the event that should end it, in nanoseconds.
SLICE = 10_000_000

# Later than any reading of the clock.
NEVER = 1 << 63



class End:
    """The end of a role, a reading of the clock: no transaction starts later, and what commits later is not `ended`. Where
    it is that of another role it is NEVER until that role has ended; of a number of transactions it always is."""

    __slots__ = ("time", "slices")

    def __init__(self, waits_for_role: bool):
        self.time = NEVER
        self.slices = waits_for_role

    def sleep(self, due: int) -> None:
        """Until `due`, or until it is too late anyway."""
        while (moment := now()) < due and moment <= self.time:
            left = min(due, self.time + 1) - moment
            sleep((min(left, SLICE) if self.slices else left) / 1e9)


class Task:
    """One step of a role, as one worker does it."""

    def __init__(self, trial: dict, step: dict, place: int, worker: int, handles: Handles, open_load: bool):
        """`place` among the role's workers, `worker` among all of the database."""
        self.index = step["transaction"]
        spec = trial["transactions"][self.index]
        self.weight = step["weight"]
        self.handle = handles[spec["writes"]]
        self.record = Record(self.handle.waits, open_load, first_fetch(spec) is not None)
        self.draws = Params(trial["seed"], spec, worker).operations(step["offset"] + place, step["stride"])


class Worker:
    def __init__(
        self, trial: dict, r: int, w: int, database: int, handles: Handles, retry: Retry,
        schedule: Schedule | None, end: End,
    ):  # fmt: skip
        """Number `w` of those that role `r` has in this process and on this database."""
        self.role = role = trial["roles"][r]
        self.database, self.retry, self.schedule, self.end = database, retry, schedule, end
        self.index = role["first_worker"] + w
        self.place = role["first_in_role"] + w
        self.tasks = [
            Task(trial, step, self.place, self.index, handles, schedule is not None) for step in role["steps"]
        ]
        self.memory = Memory()
        self.think = role["load"].get("think_us", 0) * 1_000
        self._choice = Stream(trial["seed"], f"{role['name']}.step")
        self._weights = sum(task.weight for task in self.tasks)
        self._warmup = trial["warmup_ms"] * 1_000_000
        # Readings of the clock: `go`, the end of the warm-up, and the last commit.
        self.go = self.warm = self.last = 0
        # The transaction that is under way or waits for its arrival: its step, when it is due in an open load, and when
        # it began.
        self.task = self.tasks[0]
        self.due: int | None = None
        self.start: int | None = None
        # Errors that it has met.
        self._met: list[str] = []
        # Held while a transaction is counted, and by who ends the worker.
        self._counting = Lock()
        # When it ended: no transaction of it is counted any more.
        self.ended: int | None = None
        # Nanoseconds of the window in transactions; the longest time without a commit.
        self.inside = self.stall = 0

    def run(self) -> None:
        """Works until the role ends, or something goes wrong that is not SQLite's."""
        at = 0
        for number in self.numbers():
            task = self.choose(at, number)
            values = next(task.draws)
            if self.schedule and not self._arrive():
                break
            if not self.starts():
                break
            session = task.handle.take()
            had = now()
            try:
                seen, ended = self._execute(session, task, values)
            finally:
                task.handle.give(session)
            if not self.count(task, seen, had, ended):
                break
            if self.think:
                self.end.sleep(now() + self.think)
            at = self.following(at, seen)
        self.leave()

    def begin(self, go: int) -> None:
        self.go = self.last = go
        self.warm = go + self._warmup

    def numbers(self) -> range:
        """Those of the worker's own transactions in its role: place, place + every, place + 2 * every, …"""
        until = self.role["until"]
        limit = until["transactions"] if until["kind"] == "count" else NEVER
        return range(self.place, limit, self.role["workers_in_role"])

    def choose(self, at: int, number: int) -> Task:
        """The step `at`, or the first one whose cumulative weight exceeds the draw."""
        if self.role["order"] == "weighted":
            drawn = below(self._choice.word(number), self._weights)
            for at, task in enumerate(self.tasks):
                drawn -= task.weight
                if drawn < 0:
                    break
        self.task = self.tasks[at]
        return self.task

    def following(self, at: int, seen: int) -> int:
        return 0 if seen == EMPTY or at + 1 == len(self.tasks) else at + 1

    def _arrive(self) -> bool:
        """Sleeps until the next arrival is due. False when nothing more arrives, which the worker waits out."""
        self.end.sleep(self.arrival())
        return self.due is not None

    def arrival(self) -> int:
        """When the next arrival is due; NEVER where there is none before the role's end."""
        due = self.schedule.take(self.end.time - self.go)
        self.due = None if due is None else self.go + due
        return NEVER if due is None else self.due

    def starts(self) -> bool:
        """Starts the transaction, if it is not too late."""
        start = now()
        if start > self.end.time:
            return False
        self.start = start
        return True

    def _execute(self, session: Session, task: Task, values: list[Bound]) -> tuple[int, int]:
        """What the transaction came to after all tries, and when. What is no error of a database goes on up."""
        attempt = session.attempts[task.index]
        while True:
            try:
                return attempt(values, self.memory), now()
            except Exception as error:
                code = self.met(session, task, error)
            try:
                session.rollback()
            except Exception as error:
                raise Fault.of(error, session.code(error), "ROLLBACK") from error
            pause = self.pause(code)
            if pause is None:
                return FAILED, now()
            sleep(pause)

    def met(self, session: Session, task: Task, error: Exception) -> str:
        """Counts an error of the database and returns its code."""
        code = session.code(error)
        if code is None:
            raise error
        with self._counting:
            if self.ended is None:
                task.record.count_error(code)
        self._met.append(code)
        return code

    def pause(self, code: str) -> float | None:
        """Seconds until the next try, after a transaction that met `code` was rolled back; none if there is none."""
        self.memory.forget()
        if self.ended is not None or len(self._met) >= self.retry.attempts or not self.retry.covers(code):
            return None
        return self.retry.pause(len(self._met))

    def count(self, task: Task, seen: int, had: int, ended: int) -> bool:
        """Counts the transaction that has ended. False, and nothing is counted, if it has outlasted the drain."""
        record, memory, start = task.record, self.memory, self.start
        with self._counting:
            if self.ended is not None:
                return False
            self.inside += self._within(start, ended)
            if seen == FAILED:
                record.failed += 1
            elif seen == EMPTY:
                record.empty += 1
            else:
                record.committed += 1
                self.stall = max(self.stall, ended - self.last)
                self.last = ended
                if self.warm < ended <= self.end.time:
                    record.ended += 1
                if start >= self.warm:
                    record.measured += 1
                    record.rows += seen
                    record.service[ended - start] += 1
                    if record.wait is not None:
                        record.wait[had - start] += 1
                    if self.due is not None:
                        record.response[ended - self.due] += 1
                        record.lag[start - self.due] += 1
                    if memory.query is not None:
                        record.query[memory.query - start] += 1
                    if memory.first_row is not None:
                        record.first_row[memory.first_row - start] += 1
            if self._met:
                if seen != FAILED:
                    record.cured.update(self._met)
                self._met.clear()
            record.verified += memory.verified
            record.mismatches += memory.mismatches
            self.start = self.due = None
        memory.verified = memory.mismatches = 0
        if memory.yielded and seen != FAILED:
            memory.keep()
        return True

    def _within(self, start: int, ended: int) -> int:
        """Nanoseconds between the two that are in the window."""
        return max(0, min(ended, self.end.time) - max(start, self.warm))

    def leave(self) -> bool:
        """Ends the worker, if it has not ended yet. An arrival that it waits for is unserved then, and a transaction that
        is under way unfinished. Returns whether there is one."""
        with self._counting:
            if self.ended is not None:
                return False
            self.ended = now()
            self.stall = max(self.stall, self.ended - self.last)
            if self.start is not None:
                self.inside += self._within(self.start, self.ended)
                self.task.record.unfinished.append({
                    "service_ns": self.ended - self.start,
                    "response_ns": None if self.due is None else self.ended - self.due,
                })  # fmt: skip
            elif self.due is not None:
                self.schedule.leave(self.due - self.go)
            return self.start is not None

    def result(self) -> dict:
        """As in `result`, once the worker has ended."""
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

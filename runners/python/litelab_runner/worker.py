"""A worker: repeats its role's steps until the role ends."""

from time import perf_counter_ns as now
from time import sleep
from typing import Any

from .access import Handles
from .driver import EMPTY, FAILED, Memory
from .generator import Stream, below
from .params import Params
from .record import Record
from .schedule import Schedule
from .transaction import Retry, first_fetch, recover

# How long a pause may outlast the event that should end it, in nanoseconds.
SLICE = 10_000_000

# Later than any reading of the clock.
NEVER = 1 << 63

# More than a worker can do, and still a number of the machine's own size.
_ENDLESS = 1 << 62


class End:
    """When a role's last transaction may start; a reading of the clock. Where that is the end of another role it is
    NEVER until that role has ended."""

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

    def __init__(
        self, trial: dict, step: dict, place: int, worker: int, handles: Handles, open_load: bool, lot: int | None
    ):  # fmt: skip
        """`place` among the role's workers, `worker` among all of the database. `lot` bounds what is drawn at once."""
        self.index = step["transaction"]
        spec = trial["transactions"][self.index]
        self.weight = step["weight"]
        self.handle = handles[spec["writes"]]
        self.waits = self.handle.waits(spec["writes"])
        self.record = Record(self.waits, open_load, first_fetch(spec) is not None)
        self.params = params = Params(trial["seed"], spec, worker, lot)
        # Between two drawings nothing is timed, so that is where what was noted is counted.
        self.draws = params.operations(step["offset"] + place, step["stride"], self.record.between)
        self.yields = any(statement["yields"] for statement in spec["statements"])
        self.verifies = any(statement["work"]["kind"] == "sha256-verify" for statement in spec["statements"])
        required = any(statement["required"] for statement in spec["statements"])
        # Whether there is more to look at than whether it committed and how many rows it had.
        self.more = self.yields or self.verifies or required


class Counting:
    """How many operations of a task have succeeded while its worker does not say so: those that were taken without those
    that failed, and without the last, which is under way."""

    def __init__(self, task: Task):
        record = task.record
        self._taken, self._record = task.params.taken, record
        self._most = record.service.count()
        self._others = self._taken() - record.failed - self._most

    def __call__(self) -> int:
        # One that has just failed is, for a moment, under way as well.
        self._most = max(self._most, self._taken() - 1 - self._record.failed - self._others)
        return self._most


class Worker:
    # Operations whose values are drawn at once; none: as many as are quickest.
    lot: int | None = None

    def __init__(
        self, trial: dict, r: int, w: int, database: int, handles: Handles, retry: Retry,
        schedule: Schedule | None, end: End,
    ):  # fmt: skip
        """Number `w` of those that role `r` has in this process and on this database."""
        self.role = role = trial["roles"][r]
        self.database, self.retry, self.schedule, self.end = database, retry, schedule, end
        self.index = role["first_worker"] + w
        self.place = role["first_in_role"] + w
        self.warmup = trial["warmup_ms"] * 1_000_000
        self.tasks = [
            Task(trial, step, self.place, self.index, handles, schedule is not None, self.lot) for step in role["steps"]
        ]
        self.memory = Memory()
        self._choice = Stream(trial["seed"], f"{role['name']}.step")
        self.think = role["load"].get("think_us", 0) * 1_000
        self._weights = sum(task.weight for task in self.tasks)
        # Nanoseconds after the warm-up in transactions; when the worker ended.
        self.inside = self.ended = 0

    def run(self, go: int) -> None:
        """Works until the role ends, or something goes wrong that is not SQLite's."""
        role = self.role
        limit = self.limit()
        # The worker's own transactions have the numbers place, place + every, place + 2 * every, … in its role.
        number, every = self.place, role["workers_in_role"]
        warm = go + self.warmup
        simple = self._is_simple()
        at: int | None = 0
        while at is not None and number < limit:
            if simple and now() >= warm:
                self._repeat(self.tasks[0], len(range(number, limit, every)))
                break
            if role["order"] == "weighted":
                at = self._by_weight(number)
            at = self._step(at, go, warm)
            number += every
        self.finish()

    def limit(self) -> int:
        """Transactions of the role."""
        until = self.role["until"]
        return until["transactions"] if until["kind"] == "count" else _ENDLESS

    def finish(self) -> None:
        # Counting what was noted is not the trial's work.
        self.ended = self.ended or now()
        for task in self.tasks:
            task.record.service.settle()
            self.inside += task.record.service.sum

    def _is_simple(self) -> bool:
        """Whether this worker does one thing again and again, with nothing to wait for or to look after."""
        [task, *others] = self.tasks
        closed = self.schedule is None and not self.think and not self.end.slices
        return closed and not (others or task.waits or task.more)

    def _by_weight(self, number: int) -> int:
        """The first step whose cumulative weight exceeds the draw."""
        drawn = below(self._choice.word(number), self._weights)
        for at, task in enumerate(self.tasks):
            drawn -= task.weight
            if drawn < 0:
                return at
        return 0

    def _step(self, at: int, go: int, warm: int) -> int | None:
        """Does the step `at` once and returns the next one, none at the role's end."""
        task, memory, schedule, due = self.tasks[at], self.memory, self.schedule, go
        record, handle = task.record, task.handle
        values = next(task.draws)
        if schedule:
            due = self._arrival(go)
            if due is None:
                return None
        start = now()
        if start > self.end.time:
            if schedule:
                schedule.leave(due - go)
            return None
        session = handle.take() if task.waits else handle.session
        had = now() if task.waits else start
        attempt = session.attempts[task.index]
        try:
            seen = attempt(values, memory)
            ended = now()
        except Exception as error:
            seen, ended = self._recover(session, attempt, values, error, record)
        if task.waits:
            handle.give(session)

        if seen < 0 or start < warm:
            self._otherwise(record, seen, max(0, ended - max(start, warm)))
        else:
            record.service.note(ended - start)
            record.rows += seen
            if task.waits:
                record.wait.note(had - start)
            if schedule:
                record.response.note(ended - due)
                record.lag.note(start - due)
            if record.query:
                record.query.note(memory.query - start)
                if memory.first_row:
                    record.first_row.note(memory.first_row - start)
        if task.yields and seen != FAILED:
            memory.keep()
        if task.verifies:
            record.verified += memory.verified
            record.mismatches += memory.mismatches
            memory.verified = memory.mismatches = 0
        if self.think:
            self.end.sleep(now() + self.think)
        return 0 if seen == EMPTY or at + 1 == len(self.tasks) else at + 1

    def _repeat(self, task: Task, times: int) -> None:
        """`_step` again and again for a simple worker after the warm-up, without what such a one has no use for: every
        bytecode counts, for after a call of SQLite each takes some ten nanoseconds, and a point read three thousand."""
        record = task.record
        record.counting = Counting(task)
        loop = self._reads if hasattr(task.handle.session.attempts[task.index], "reads") else self._attempts
        record.rows += loop(task, times, record.service.near())
        self.ended = now()
        record.service.recount()
        record.counting = None

    def _attempts(self, task: Task, times: int, near: list[int]) -> int:
        """The loop of `_repeat`. Returns the rows."""
        memory, record, session, clock = self.memory, task.record, task.handle.session, now
        attempt, far = session.attempts[task.index], record.service.far
        timed, last = record.query is not None, self.end.time
        ends, rows = last != NEVER, 0
        for drawn in task.params.lists(times):
            for values in drawn:
                start = clock()
                if ends and start > last:
                    return rows
                try:
                    seen = attempt(values, memory)
                    took = clock() - start
                except Exception as error:
                    seen, took = self._again(session, attempt, values, error, record, start)
                    if seen == FAILED:
                        continue
                try:
                    near[took] += 1
                except IndexError:
                    far(took)
                rows += seen
                if timed:
                    record.query.note(memory.query - start)
                    if memory.first_row:
                        record.first_row.note(memory.first_row - start)
        return rows

    def _reads(self, task: Task, times: int, near: list[int]) -> int:
        """`_attempts` where each does nothing but fetch rows. What `attempt` does stands here, too: a call of it would be
        one more of the program's own functions."""
        record, session, clock = task.record, task.handle.session, now
        attempt, far, last = session.attempts[task.index], record.service.far, self.end.time
        run, sql = attempt.reads
        # `known`: the rows of those that have succeeded.
        ends, rows, known = last != NEVER, 0, 0
        for drawn in task.params.lists(times):
            for values in drawn:
                start = clock()
                if ends and start > last:
                    return rows
                try:
                    for _ in run(sql, values):
                        rows += 1
                    took = clock() - start
                except Exception as error:
                    rows = known
                    seen, took = self._again(session, attempt, values, error, record, start)
                    if seen == FAILED:
                        continue
                    rows += seen
                known = rows
                try:
                    near[took] += 1
                except IndexError:
                    far(took)
        return rows

    def _again(
        self, session: Any, attempt: Any, values: Any, error: Exception, record: Record, start: int
    ) -> tuple[int, int]:
        """After an error in a loop of `_repeat`: what came of it, and how long it took. What failed is counted here."""
        seen, ended = self._recover(session, attempt, values, error, record)
        if seen == FAILED:
            self._otherwise(record, seen, ended - start)
        return seen, ended - start

    def _otherwise(self, record: Record, seen: int, inside: int) -> None:
        """Counts what is not measured."""
        self.inside += inside
        if seen == EMPTY:
            record.empty += 1
        elif seen == FAILED:
            record.failed += 1
        else:
            record.warming += 1

    def _arrival(self, go: int) -> int | None:
        """Sleeps until the next arrival is due; none when nothing more arrives, which the worker waits out."""
        due = self.schedule.take(self.end.time - go)
        if due is None:
            self.end.sleep(NEVER)
            return None
        self.end.sleep(go + due)
        return go + due

    def _recover(self, session: Any, attempt: Any, values: Any, error: Exception, record: Record) -> tuple[int, int]:
        seen, ended, codes = recover(session, attempt, values, self.memory, self.retry, error)
        record.count_errors(codes, seen != FAILED)
        return seen, ended

"""A worker as a task. What it does is what `worker` says of a thread; every wait is awaited here, and nothing that the
loop would miss is done at once."""

import asyncio
from time import perf_counter_ns as now
from typing import Any

from .. import worker
from ..driver import EMPTY, FAILED, Fault, Session
from ..record import Record
from ..worker import NEVER, SLICE, End


class Worker(worker.Worker):
    # Values of so many operations are drawn at once: in a tenth of a millisecond or so, which the loop hardly notices.
    lot = 16

    async def run(self, go: int) -> None:
        """Works until the role ends, or something goes wrong that is not SQLite's."""
        number, every, limit = self.place, self.role["workers_in_role"], self.limit()
        warm = go + self.warmup
        at: int | None = 0
        while at is not None and number < limit:
            if self.role["order"] == "weighted":
                at = self._by_weight(number)
            at = await self._step(at, go, warm)
            number += every
        self.finish()

    async def _step(self, at: int, go: int, warm: int) -> int | None:
        """Does the step `at` once and returns the next one, none at the role's end."""
        task, schedule, due = self.tasks[at], self.schedule, go
        values = next(task.draws)
        if schedule:
            due = await self._arrival(go)
            if due is None:
                return None
        start = now()
        if start > self.end.time:
            if schedule:
                schedule.leave(due - go)
            return None
        handle = task.handle
        session = await handle.take() if task.waits else handle.session
        had = now()
        attempt = session.attempts[task.index]
        try:
            seen = await session.call(attempt, values, self.memory)
            ended = now()
        except Exception as error:
            seen, ended = await self._recover(session, attempt, values, error, task.record)
        if task.waits:
            handle.give(session)
        self._record(task, seen, warm, (due, start, had, ended))
        if self.think:
            await pause(self.end, now() + self.think)
        else:
            await next_request()
        return 0 if seen == EMPTY or at + 1 == len(self.tasks) else at + 1

    def _record(self, task: worker.Task, seen: int, warm: int, times: tuple[int, int, int, int]) -> None:
        record, memory = task.record, self.memory
        due, start, had, ended = times
        if seen < 0 or start < warm:
            self._otherwise(record, seen, max(0, ended - max(start, warm)))
        else:
            record.service.note(ended - start)
            record.rows += seen
            if record.wait:
                record.wait.note(had - start)
            if record.response:
                record.response.note(ended - due)
                record.lag.note(start - due)
            if record.query:
                record.query.note(memory.query - start)
                if memory.first_row:
                    record.first_row.note(memory.first_row - start)
        if task.yields and seen != FAILED:
            memory.keep()
        record.verified += memory.verified
        record.mismatches += memory.mismatches
        memory.verified = memory.mismatches = 0

    async def _arrival(self, go: int) -> int | None:
        due = self.schedule.take(self.end.time - go)
        await pause(self.end, NEVER if due is None else go + due)
        return None if due is None else go + due

    async def _recover(
        self, session: Session, attempt: Any, values: Any, error: Exception, record: Record
    ) -> tuple[int, int]:
        """As `transaction.recover`. Between two tries the loop is free."""
        codes: list[str] = []
        while True:
            code = session.code(error)
            if code is None:
                raise error
            codes.append(code)
            try:
                await session.call(session.rollback)
            except Exception as worse:
                raise Fault.of(worse, session.code(worse), "ROLLBACK") from worse
            self.memory.forget()
            if len(codes) >= self.retry.attempts or not self.retry.covers(code):
                record.count_errors(codes, False)
                return FAILED, now()
            await asyncio.sleep(self.retry.pause(len(codes)))
            try:
                seen = await session.call(attempt, values, self.memory)
                ended = now()
                record.count_errors(codes, True)
                return seen, ended
            except Exception as again:
                error = again


async def pause(end: End, due: int) -> None:
    """Until `due`, or until it is too late anyway."""
    while (moment := now()) < due and moment <= end.time:
        left = min(due, end.time + 1) - moment
        await asyncio.sleep((min(left, SLICE) if end.slices else left) / 1e9)


async def next_request() -> None:
    """Lets the loop go round as it does in an application, where the next request comes by an event, and is begun in
    the turn after that one: timers that are due, and who waits for a connection, come first. A task that went on at
    once would take again what it gave back, for `asyncio.Queue` gives to who asks, not to who waits."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)

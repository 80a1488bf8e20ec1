"""A worker as a task. What it does is what `worker` says of a thread; every wait is awaited here."""

import asyncio
from time import perf_counter_ns as now

from .. import worker
from ..driver import EMPTY, FAILED, Fault, Session
from ..params import Values
from ..transaction import Attempt
from ..worker import SLICE, End


class Worker(worker.Worker):
    async def run(self) -> None:
        """Works until the role ends, or something goes wrong that is not SQLite's."""
        memory, at = self.memory, 0
        for number in self.numbers():
            if self.is_weighted:
                at = self.by_weight(number)
            self.task = task = self.tasks[at]
            values = next(task.draws)
            if self.schedule and not await self._arrive():
                break
            start = now()
            if start > self.end.time:
                break
            self.start = start
            session, had, met = task.handle.session, start, None
            if task.waits:
                session, had = await task.handle.take(), now()
            try:
                attempt = session.attempts[task.index]
                seen = await session.call(attempt, values, memory)
                ended = now()
            except Exception as error:
                seen, ended, met = await self._try_again(session, attempt, values, error)
            finally:
                if task.waits:
                    task.handle.give(session)
            self.notes.append((task, self.due, start, had, ended, seen, memory.query, memory.first_row, met))
            if (ended >= self.counts_at or task.remembers) and not self.count():
                break
            if self.think:
                await pause(self.end, now() + self.think)
            else:
                await next_request()
            at = 0 if seen == EMPTY or at + 1 == len(self.tasks) else at + 1
        self.leave()

    async def _arrive(self) -> bool:
        await pause(self.end, self.arrival())
        return self.due is not None

    async def _try_again(
        self, session: Session, attempt: Attempt, values: Values, error: Exception
    ) -> tuple[int, int, list[str]]:
        met: list[str] = []
        while True:
            met.append(self.met(session, error))
            try:
                await session.call(session.rollback)
            except Exception as worse:
                raise Fault.of(worse, session.code(worse), "ROLLBACK") from worse
            if not self.tries_again(met):
                return FAILED, now(), met
            await asyncio.sleep(self.retry.pause(len(met)))
            try:
                return await session.call(attempt, values, self.memory), now(), met
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

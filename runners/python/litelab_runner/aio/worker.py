"""A worker as a task. It behaves like the thread in `worker`, with every wait awaited."""

import asyncio
from time import perf_counter_ns as now

from .. import worker
from ..driver import EMPTY, FAILED, Fault, Session
from ..params import Values
from ..transaction import Attempt
from ..worker import SLICE, End


class Worker(worker.Worker):
    async def run(self) -> None:
        """Works until the role ends, or an error occurs that is not from the database."""
        memory, at = self.memory, 0
        for number in self.numbers():
            if self.is_weighted:
                at = self.by_weight(number)
            self.task = task = self.tasks[at]
            values = next(task.draws)
            memory.query = memory.first_row = None
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
            if task.yields:
                memory.keep()
            if (ended >= self.counts_at or task.verifies) and not self.count():
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
    """Waits until `due`, or until just after the end if that is earlier."""
    while (moment := now()) < due and moment <= end.time:
        left = min(due, end.time + 1) - moment
        await asyncio.sleep((min(left, SLICE) if end.slices else left) / 1e9)


async def next_request() -> None:
    """Lets the loop run two iterations, as in an application before the next request.

    There the next request arrives as an event and starts in the iteration after it, so due timers and tasks waiting
    for a connection run first. A task that continued at once would take back the connection that it just returned,
    because `asyncio.Queue` serves the caller of `get`, not a waiting task.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)

"""A worker as a task. What it does is what `worker` says of a thread; every wait is awaited here."""

import asyncio
from time import perf_counter_ns as now

from .. import worker
from ..driver import FAILED, Fault, Session
from ..params import Bound
from ..worker import SLICE, End, Task


class Worker(worker.Worker):
    async def run(self) -> None:
        """Works until the role ends, or something goes wrong that is not SQLite's."""
        at = 0
        for number in self.numbers():
            task = self.choose(at, number)
            values = next(task.draws)
            if self.schedule and not await self._arrive():
                break
            if not self.starts():
                break
            session = await task.handle.take()
            had = now()
            try:
                seen, ended = await self._execute(session, task, values)
            finally:
                task.handle.give(session)
            if not self.count(task, seen, had, ended):
                break
            if self.think:
                await pause(self.end, now() + self.think)
            else:
                await next_request()
            at = self.following(at, seen)
        self.leave()

    async def _arrive(self) -> bool:
        await pause(self.end, self.arrival())
        return self.due is not None

    async def _execute(self, session: Session, task: Task, values: list[Bound]) -> tuple[int, int]:
        attempt = session.attempts[task.index]
        while True:
            try:
                return await session.call(attempt, values, self.memory), now()
            except Exception as error:
                code = self.met(session, task, error)
            try:
                await session.call(session.rollback)
            except Exception as error:
                raise Fault.of(error, session.code(error), "ROLLBACK") from error
            pause = self.pause(code)
            if pause is None:
                return FAILED, now()
            await asyncio.sleep(pause)


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

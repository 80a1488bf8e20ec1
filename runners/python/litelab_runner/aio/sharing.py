"""Sharing of connections between tasks, with asyncio's lock and queue."""

from asyncio import LifoQueue, Lock

from .. import sharing
from ..driver import Session
from .call import caller
from .loop import program


class Locked(sharing.Locked):
    async def take(self) -> Session:
        await self.lock.acquire()
        return self.session


class Pool(sharing.Pool):
    """A pool whose `take` is a coroutine; `give` never waits."""

    def __init__(self, sessions: list[Session]):
        free: LifoQueue[Session] = LifoQueue()
        for session in reversed(sessions):
            free.put_nowait(session)
        self.take, self.give = free.get, free.put_nowait


class Opened(sharing.Opened):
    """Connections, each with a function by which tasks call it."""

    Locked, Pool, Lock = Locked, Pool, Lock

    def _open(self, label: str, used: list[int]) -> Session:
        session = super()._open(label, used)
        session.call = caller(self.trial["executor"], session, program().loop)
        return session

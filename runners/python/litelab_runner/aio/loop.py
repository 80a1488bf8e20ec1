"""The event loop of the program, shared by worker tasks, the probe and asynchronous drivers."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from selectors import DefaultSelector
from threading import Thread
from time import perf_counter_ns as now
from typing import Any


class Waiting(DefaultSelector):
    """A selector that measures how long the loop was idle.

    Calls with a timeout of zero do not count as idle. If another thread holds the interpreter lock (GIL) after a wait,
    that time counts as idle too, because the two cannot be distinguished.
    """

    def __init__(self):
        super().__init__()
        # Total wait in nanoseconds; start of the current wait, if any.
        self._waited, self._since = 0, None

    def select(self, timeout: float | None = None):
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        self._since = now()
        try:
            return super().select(timeout)
        finally:
            self._waited, self._since = self._waited + now() - self._since, None

    def idle(self) -> int:
        """Returns the total wait in nanoseconds. Callable from any thread."""
        since = self._since
        return self._waited + (now() - since if since else 0)


class Loop:
    """Runs in a separate thread until the process ends.

    The main thread can therefore emit ticks while the loop is blocked.
    """

    def __init__(self):
        self.selector = Waiting()
        self.loop = asyncio.SelectorEventLoop(self.selector)
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def start(self, coroutine: Coroutine) -> Future:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def wait(self, coroutine: Coroutine) -> Any:
        """Runs a coroutine to its end. Must not be called on the loop itself."""
        return self.start(coroutine).result()


@cache
def program() -> Loop:
    """Returns the only loop of the program. The first call starts it."""
    return Loop()

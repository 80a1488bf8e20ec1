"""The program's event loop, which the workers' tasks, the probe and asynchronous drivers share."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from selectors import DefaultSelector
from threading import Thread
from time import perf_counter_ns as now
from typing import Any


class Waiting(DefaultSelector):
    """Adds up how long the loop had nothing to do. Asked without a timeout of zero, it waits; after that, time in which
    another thread has the interpreter's lock counts as waiting, too, for nobody can tell it apart."""

    def __init__(self):
        super().__init__()
        # Nanoseconds; when it began to wait, if it waits.
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
        """Nanoseconds so far; for any thread."""
        since = self._since
        return self._waited + (now() - since if since else 0)


class Loop:
    """Runs in a thread of its own until the process ends: the main thread says ticks, also while this one hangs."""

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
        """Runs it to its end; never called on the loop itself."""
        return self.start(coroutine).result()


@cache
def program() -> Loop:
    """The only one, started when it is asked for first."""
    return Loop()

"""The workers of a trial as tasks on the program's loop."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Queue
from threading import Event

from .. import stage
from .loop import program
from .probe import Probe
from .worker import Worker


class Stage(stage.Stage):
    _probed: Future

    def worker_class(self) -> type[Worker]:
        return Worker

    def begin(self, done: Queue) -> None:
        begun, loop = Event(), program()
        self._probed = loop.start(self._run(done, begun))
        begun.wait()

    async def _run(self, done: Queue, begun: Event) -> dict | None:
        loop, trial = program(), self.trial
        if trial["runtime_threads"]:
            loop.loop.set_default_executor(ThreadPoolExecutor(trial["runtime_threads"]))
        self.start()
        self.lag = self.first_lag()
        begun.set()
        probe = Probe(loop, self.go, trial["probe_ms"], trial["warmup_ms"], self.lag) if self.lag else None
        await asyncio.gather(*(self._work(r, worker, done) for r, worker in self.workers))
        return probe and await probe.stop()

    async def _work(self, r: int, worker: Worker, done: Queue) -> None:
        try:
            await worker.run(self.go)
            self.leave(r)
            done.put(None)
        except Exception as error:
            done.put(error)

    def probed(self) -> dict | None:
        return self._probed.result()

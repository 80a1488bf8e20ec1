"""The workers of a trial as tasks on the event loop."""

from asyncio import gather
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event

from .. import stage
from .loop import program
from .probe import Probe
from .worker import Worker


class Stage(stage.Stage):
    worker_class = Worker

    def begin(self, done: Queue) -> None:
        begun = Event()
        program().start(self._run(done, begun))
        begun.wait()

    def make_probe(self, go: int, period_ms: int, warmup_ms: int) -> Probe:
        return Probe(program(), go, period_ms, warmup_ms)

    async def _run(self, done: Queue, begun: Event) -> None:
        if self.trial["runtime_threads"]:
            program().loop.set_default_executor(ThreadPoolExecutor(self.trial["runtime_threads"]))
        self.start()
        begun.set()
        await gather(*(self._work(worker, done) for worker in self.workers))

    async def _work(self, worker: Worker, done: Queue) -> None:
        try:
            await worker.run()
            self.leave(worker)
            done.put((worker, None))
        except Exception as error:
            done.put((worker, error))

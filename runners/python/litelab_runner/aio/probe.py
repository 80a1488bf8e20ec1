"""The host probe on the event loop.

It measures how late its timer runs, how long a trivial job waits for a thread of the default executor, and how much
of the time the loop was busy.
"""

from time import perf_counter_ns as now

from .. import probe
from ..record import Latencies, encoded
from .loop import Loop


class Probe(probe.Probe):
    """A probe started on the loop and stopped by another thread, because the loop may be blocked.

    Each timer that runs after the warm-up submits a job. A job that no thread has started at the end is recorded
    with its wait so far.
    """

    def __init__(self, program: Loop, go: int, period_ms: int, warmup_ms: int):
        super().__init__(go, period_ms, warmup_ms)
        self._program = program
        self._pool_wait = Latencies(int)
        # Submission times of the jobs still waiting.
        self._waiting: set[int] = set()
        # Clock and total idle time at the first timer after the warm-up.
        self._since: tuple[int, int] | None = None

    def start(self) -> None:
        self._program.loop.call_later(max(0, self._due - now()) / 1e9, self._run)

    def _run(self) -> None:
        moment = now()
        if self._stopped:
            return
        # A timer can be early by the resolution of the clock.
        if moment >= self._due:
            if moment >= self._warm:
                self._since = self._since or (moment, self._program.selector.idle())
                self._waiting.add(moment)
                self._program.loop.run_in_executor(None, self._job, moment)
            self.ring(moment)
        self.start()

    def _job(self, submitted: int) -> None:
        """Runs in a thread of the executor.

        The way back to the loop is not part of this wait; it is part of the lateness.
        """
        self._taken_up(submitted, now())

    def _taken_up(self, submitted: int, moment: int) -> None:
        with self._lock:
            if submitted in self._waiting:
                self._waiting.remove(submitted)
                self._pool_wait[moment - submitted] += 1

    def stop(self) -> dict:
        result, moment = super().stop(), now()
        for submitted in list(self._waiting):
            self._taken_up(submitted, moment)
        result["timers"]["pool_wait"] = encoded(self._pool_wait)
        if self._since:
            since, waited = self._since
            idle = (self._program.selector.idle() - waited) / max(1, moment - since)
            result["gauges"]["utilization"] = min(1.0, max(0.0, 1 - idle))
        return result

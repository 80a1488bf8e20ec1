"""The host probe on the program's own loop: how late its timer runs, how long a trivial job waits in the default
executor until a thread takes it up, and how much of the time the loop was busy."""

from time import perf_counter_ns as now

from ..probe import Lag
from ..record import Latencies
from .loop import Loop


class Probe:
    """Made, and stopped, on the loop. A timer that is due while the last one is still late counts, too, so a stall of
    ten periods weighs as ten; a job is submitted by each that runs. What is due in the warm-up is not recorded."""

    def __init__(self, program: Loop, go: int, period_ms: int, warmup_ms: int, lag: Lag):
        self._program, self._lag = program, lag
        self._period, self._warm = period_ms * 1_000_000, go + warmup_ms * 1_000_000
        self._due = go + self._period
        self._lateness, self._pool_wait = Latencies(), Latencies()
        # The clock, and the time waited until then, at the first timer after the warm-up.
        self._since: tuple[int, int] | None = None
        self._wait()

    def _wait(self) -> None:
        self._timer = self._program.loop.call_later(max(0, self._due - now()) / 1e9, self._ring)

    def _ring(self) -> None:
        moment = now()
        # A timer can be early by as much as the clock resolves.
        if moment >= self._due:
            if moment >= self._warm:
                self._since = self._since or (moment, self._program.selector.waited)
                self._program.loop.run_in_executor(None, self._job, moment)
            self._note(moment)
        self._wait()

    def _note(self, moment: int) -> None:
        late = moment - self._due
        while self._due <= moment:
            if self._due >= self._warm:
                self._lateness.note(moment - self._due)
            self._due += self._period
        self._lag.note(late, self._due)

    def _job(self, submitted: int) -> None:
        """In a thread of the executor. The way back to the loop is the loop's lateness, and not in this."""
        self._pool_wait.note(now() - submitted)

    async def stop(self) -> dict:
        """As in `result`, when all jobs are done."""
        moment = now()
        self._timer.cancel()
        self._note(moment)
        utilization = None
        if self._since:
            since, waited = self._since
            idle = (self._program.selector.waited - waited) / max(1, moment - since)
            utilization = min(1.0, max(0.0, 1 - idle))
        await self._program.loop.shutdown_default_executor()
        return {
            "lateness": self._lateness.encoded(),
            "pool_wait": self._pool_wait.encoded(),
            "utilization": utilization,
        }

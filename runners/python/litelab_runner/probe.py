"""The host probe for workers as threads: how late a thread wakes that does nothing but measure this.

A worker that does not release the interpreter lock (GIL) shows here, as it would in any other thread of the program.
`aio.probe` contains the probe for workers on a loop.
"""

from threading import Lock, Thread
from time import perf_counter_ns as now
from time import sleep

from .record import Latencies, encoded


class Probe:
    """A timer with a period of `period_ms` that records how late it runs.

    A due time that passes while the timer is still late for the previous one counts too, so a stall of ten periods
    counts as ten. Due times in the warm-up are not recorded.
    """

    def __init__(self, go: int, period_ms: int, warmup_ms: int):
        self._period, self._warm = period_ms * 1_000_000, go + warmup_ms * 1_000_000
        self._due = go + self._period
        self._lateness = Latencies(int)
        # Longest delay since the last tick.
        self._longest = 0
        self._lock = Lock()
        self._stopped = False

    def start(self) -> None:
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        """Sleeps instead of using an event loop.

        An iteration of a loop takes several times as long, and the workers would wait for the interpreter lock
        meanwhile, a hundred times per second.
        """
        while not self._stopped:
            sleep(max(0, self._due - now()) / 1e9)
            self.ring(now())

    def ring(self, moment: int) -> None:
        """Records that the timer runs at `moment`."""
        with self._lock:
            if not self._stopped:
                self._longest = max(self._longest, moment - self._due)
                self._note(moment)

    def _note(self, moment: int) -> None:
        while self._due <= moment:
            if self._due >= self._warm:
                self._lateness[moment - self._due] += 1
            self._due += self._period

    def lag(self, moment: int) -> int:
        """Returns the longest delay since the last tick, warm-up included, or for how long the timer is overdue."""
        with self._lock:
            longest, self._longest = self._longest, 0
            return max(longest, moment - self._due, 0)

    def stop(self) -> dict:
        """Stops the probe and returns its part of `result`. A timer that is overdue counts with its delay so far."""
        with self._lock:
            self._stopped = True
            self._note(now())
        return {"timers": {"probe": encoded(self._lateness)}, "gauges": {}}

"""The host probe beside threads: how late a thread wakes that has nothing to do but to note that, while the workers
work in theirs. One that does not let go of the interpreter's lock (GIL) shows here, as it would in anything else the
program has to do. Of workers on a loop `aio.probe` has the probe."""

from threading import Lock, Thread
from time import perf_counter_ns as now
from time import sleep

from .record import Latencies, encoded


class Probe:
    """A timer of `period_ms`. A time that passes while it is still late for the last one counts too, so a stall of ten
    periods weighs as ten. Those in the warm-up are not recorded."""

    def __init__(self, go: int, period_ms: int, warmup_ms: int):
        self._period, self._warm = period_ms * 1_000_000, go + warmup_ms * 1_000_000
        self._due = go + self._period
        self._lateness = Latencies(int)
        # Since the last tick.
        self._longest = 0
        self._lock = Lock()
        self._stopped = False

    def start(self) -> None:
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        """It sleeps, and has no event loop: a turn of one takes several times as long, and the workers wait for the
        interpreter meanwhile, a hundred times a second."""
        while not self._stopped:
            sleep(max(0, self._due - now()) / 1e9)
            self.ring(now())

    def ring(self, moment: int) -> None:
        """The timer runs at `moment`."""
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
        """The longest that the timer ran late since the last tick, or how long it is overdue; in the warm-up, too."""
        with self._lock:
            longest, self._longest = self._longest, 0
            return max(longest, moment - self._due, 0)

    def stop(self) -> dict:
        """As in `result`. A timer that is overdue counts as late as it is."""
        with self._lock:
            self._stopped = True
            self._note(now())
        return {"lateness": encoded(self._lateness), "pool_wait": None, "utilization": None}

"""The host probe beside threads: how late a thread wakes that has nothing to do but to note that, while the workers
work in theirs. One that does not let go of the interpreter's lock (GIL) shows here, as it would in anything else the
program has to do. Of workers on a loop `aio.probe` has the probe."""

from threading import Event
from time import perf_counter_ns, sleep

from .record import Latencies

_LONGEST_SLEEP = 0.05
"""Seconds; the thread looks that often whether it is over."""


class Lag:
    """The longest that the probe's timer ran late, for the thread that says ticks: it goes on while the loop hangs."""

    def __init__(self, due: int):
        self._due, self._longest = due, 0

    def note(self, late: int, due: int) -> None:
        """The timer ran so late, and is due next at `due`."""
        self._longest, self._due = max(self._longest, late), due

    def take(self, now: int) -> int:
        """The longest since the last time, or how long it is overdue; in the warm-up, too."""
        longest, self._longest = self._longest, 0
        return max(longest, now - self._due, 0)


def run(go: int, period_ms: int, warmup_ms: int, stop: Event, lag: Lag) -> Latencies:
    """Runs until `stop`. A time that passes while the thread is still late for the last one counts too, so a stall of ten
    periods weighs as ten. Those in the warm-up are not recorded.

    It sleeps, and has no event loop: a turn of one takes several times as long, and the workers wait for the interpreter
    meanwhile, a hundred times a second."""
    lateness = Latencies()
    period, warm = period_ms * 1_000_000, go + warmup_ms * 1_000_000
    due = go + period
    while not stop.is_set():
        now = perf_counter_ns()
        if now < due:
            sleep(min((due - now) / 1e9, _LONGEST_SLEEP))
            continue
        late = now - due
        while due <= now:
            if due >= warm:
                lateness.note(now - due)
            due += period
        lag.note(late, due)
        lateness.settle(fewest=100)
    return lateness

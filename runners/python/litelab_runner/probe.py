"""The host probe beside threads: the lag of an asyncio event loop that runs in a thread of its own while the workers
work in theirs. One that does not let go of the interpreter's lock (GIL) shows here, as it would in anything else the
program has to do. Of workers on a loop `aio.probe` has the probe."""

import asyncio
from threading import Event
from time import perf_counter_ns

from .record import Latencies

_LONGEST_SLEEP = 0.05
"""Seconds; the loop looks that often whether it is over."""


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
    """Runs until `stop`. A timer that is due while the last one is still late counts too, so a stall of ten periods
    weighs as ten. Dues in the warm-up are not recorded."""
    lateness, loop = Latencies(), asyncio.new_event_loop()
    period, warm = period_ms * 1_000_000, go + warmup_ms * 1_000_000
    due = go + period

    # A callback, not a coroutine that sleeps: half the time at each turn, which the workers have to wait for.
    def ring() -> None:
        nonlocal due
        if stop.is_set():
            return loop.stop()
        now = perf_counter_ns()
        late = now - due
        while due <= now:
            if due >= warm:
                lateness.note(now - due)
            due += period
        lag.note(late, due)
        lateness.settle(fewest=100)
        loop.call_later(min((due - perf_counter_ns()) / 1e9, _LONGEST_SLEEP), ring)

    loop.call_soon(ring)
    try:
        loop.run_forever()
    finally:
        loop.close()
    return lateness

"""The host probe: a thread with a timer, and how late it ran. A thread that does not let go of the interpreter's lock
(GIL) shows here, as it would in anything else the program has to do."""

from threading import Event
from time import perf_counter_ns

from .record import Latencies


def run(go: int, period_ms: int, warmup_ms: int, stop: Event) -> Latencies:
    """Runs until `stop`. A timer that is due while the last one is still late counts too, so a stall of ten periods
    weighs as ten. Dues in the warm-up are not recorded."""
    lateness = Latencies()
    period = period_ms * 1_000_000
    due = go + period
    warm = go + warmup_ms * 1_000_000
    while True:
        early = due - perf_counter_ns()
        if stop.wait(max(0, early) / 1e9):
            return lateness
        now = perf_counter_ns()
        while due <= now:
            if due >= warm:
                lateness.note(now - due)
            due += period
        lateness.settle()

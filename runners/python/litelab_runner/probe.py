"""The host probe: the lag of an asyncio event loop that runs in a thread of its own while the workers work in theirs. One
that does not let go of the interpreter's lock (GIL) shows here, as it would in anything else the program has to do."""

import asyncio
from threading import Event
from time import perf_counter_ns

from .record import Latencies

_LONGEST_SLEEP = 0.05
"""Seconds; the loop looks that often whether it is over."""


def run(go: int, period_ms: int, warmup_ms: int, stop: Event) -> Latencies:
    """Runs until `stop`. A timer that is due while the last one is still late counts too, so a stall of ten periods
    weighs as ten. Dues in the warm-up are not recorded."""
    lateness = Latencies()
    asyncio.run(_probe(lateness, go, period_ms * 1_000_000, go + warmup_ms * 1_000_000, stop))
    return lateness


async def _probe(lateness: Latencies, go: int, period: int, warm: int, stop: Event) -> None:
    due = go + period
    while not stop.is_set():
        early = due - perf_counter_ns()
        if early > 0:
            await asyncio.sleep(min(early / 1e9, _LONGEST_SLEEP))
        now = perf_counter_ns()
        while due <= now:
            if due >= warm:
                lateness.note(now - due)
            due += period
        lateness.settle()

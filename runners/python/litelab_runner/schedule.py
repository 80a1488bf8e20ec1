"""Arrivals of an open loop: one schedule for all workers of a role, starting at `go`."""

from math import isfinite, log
from threading import Lock

from .driver import Fault
from .generator import Stream, unit


class Schedule:
    """The schedule of one role. Times are in nanoseconds since `go`."""

    def __init__(self, seed: int, role: dict):
        self._rate = role["load"]["rate"]
        if not (isfinite(self._rate) and self._rate > 0):
            raise Fault(f"role `{role['name']}`: a rate of {self._rate} is none")
        self._poisson = role["load"]["arrivals"] == "poisson"
        self._stream = Stream(seed, f"{role['name']}.arrivals.{role['first_in_role']}")
        # Gaps from `go` to the first of constant arrivals: 1, or less if several processes share the role.
        self._phase = (role["first_in_role"] + role["workers"]) / role["workers_in_role"]
        self._lock = Lock()
        self._number = 0
        # Seconds from `go` to the last arrival taken; exponential gaps only.
        self._elapsed = 0.0
        # Arrivals taken by a worker that could not start them before the end.
        self._left: list[int] = []

    def take(self, end: float) -> int | None:
        """Returns the time of the next arrival. If that is after `end`, it returns None and keeps the arrival."""
        with self._lock:
            # Each gap precedes its arrival, so nothing is due at `go` itself.
            if self._poisson:
                elapsed = self._elapsed - log(1 - unit(self._stream.word(self._number))) / self._rate
            else:
                # Computed from the number, so that rounding errors do not accumulate.
                elapsed = (self._number + self._phase) / self._rate
            due = int(elapsed * 1e9)
            if due > end:
                return None
            self._number += 1
            self._elapsed = elapsed
            return due

    def leave(self, due: int) -> None:
        """Returns an arrival that was taken and not started."""
        with self._lock:
            self._left.append(due)

    def unserved(self, end: float) -> int:
        """Counts the arrivals due until `end` that no worker has started. Consumes the rest of the schedule."""
        never_taken = 0
        while self.take(end) is not None:
            never_taken += 1
        return never_taken + sum(due <= end for due in self._left)

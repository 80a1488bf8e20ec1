"""Arrivals of an open load: one schedule for all workers of a role, from `go` on."""

from math import isfinite, log
from threading import Lock

from .driver import Fault
from .generator import Stream, unit


class Schedule:
    """The schedule of one role; times in nanoseconds from `go`."""

    def __init__(self, seed: int, role: dict):
        self._rate = role["load"]["rate"]
        if not (isfinite(self._rate) and self._rate > 0):
            raise Fault(f"role `{role['name']}`: a rate of {self._rate} is none")
        self._poisson = role["load"]["arrivals"] == "poisson"
        self._stream = Stream(seed, f"{role['name']}.arrivals.{role['first_in_role']}")
        # From `go` to the first of constant arrivals, in gaps: 1, but less in one process of several.
        self._phase = (role["first_in_role"] + role["workers"]) / role["workers_in_role"]
        self._lock = Lock()
        self._number = 0
        # Seconds from `go` to the last arrival taken; exponential gaps only.
        self._elapsed = 0.0
        # Arrivals taken by a worker that then came too late to start them.
        self._left: list[int] = []

    def take(self, end: float) -> int | None:
        """When the next arrival is due. None, and it stays, when that is after `end`."""
        with self._lock:
            # A gap comes before its arrival, the first one, too: nothing is due at `go` itself.
            if self._poisson:
                elapsed = self._elapsed - log(1 - unit(self._stream.word(self._number))) / self._rate
            else:
                # From the number, not by adding up, so that no rounding gathers.
                elapsed = (self._number + self._phase) / self._rate
            due = int(elapsed * 1e9)
            if due > end:
                return None
            self._number += 1
            self._elapsed = elapsed
            return due

    def leave(self, due: int) -> None:
        """Gives back an arrival that was taken and not started."""
        with self._lock:
            self._left.append(due)

    def unserved(self, end: float) -> int:
        """Arrivals due until `end` that nobody started. Takes what is left of the schedule."""
        never_taken = 0
        while self.take(end) is not None:
            never_taken += 1
        return never_taken + sum(due <= end for due in self._left)

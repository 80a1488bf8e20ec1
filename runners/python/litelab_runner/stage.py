"""The workers of a trial as threads, what they have in common, and what is said of them."""

import os
from queue import Empty, Queue
from threading import Barrier, Event, Lock, Thread
from time import perf_counter_ns as now

from . import probe
from .access import Opened
from .driver import Fault, find
from .message import say
from .record import Board, Latencies
from .schedule import Schedule
from .transaction import Retry
from .worker import NEVER, End, Worker


class Stage:
    """The workers of a trial and what they have in common."""

    def __init__(self, trial: dict, retry: Retry, schedules: list[Schedule | None], databases: list[Opened]):
        self.trial, self.schedules = trial, schedules
        roles = trial["roles"]
        self.ends = [End(role["until"]["kind"] == "role") for role in roles]
        self.working = [role["workers"] * len(databases) for role in roles]
        self._leaving = Lock()
        self.board = Board(trial)
        self.workers: list[tuple[int, Worker]] = []
        for database, opened in enumerate(databases):
            handles = iter(opened.handles)
            for r, role in enumerate(roles):
                for w in range(role["workers"]):
                    worker = self.worker_class()(
                        trial, r, w, database, next(handles), retry, schedules[r], self.ends[r]
                    )
                    self.workers.append((r, worker))
                    for task in worker.tasks:
                        self.board.records[r, task.index].append(task.record)
        self.go = 0
        self.lag: probe.Lag | None = None

    def worker_class(self) -> type[Worker]:
        return Worker

    def run(self) -> dict:
        """Starts all workers together, and ticks until the last has ended. A trial that cannot go on ends the process
        here: workers may hang on what the faulty one still holds, and there is no result to wait for."""
        # For each worker that has ended none, or what it could not go on for.
        done: Queue[Exception | None] = Queue()
        self.begin(done)
        self._tick_until(done)
        elapsed = max((worker.ended for _, worker in self.workers), default=self.go) - self.go
        return self._result(elapsed, self.probed())

    def begin(self, done: Queue) -> None:
        """Starts the workers and the probe; `go` is known when it returns."""
        barrier = Barrier(len(self.workers) + 1, action=self.start)

        def work(r: int, worker: Worker) -> None:
            try:
                barrier.wait()
                worker.run(self.go)
                self.leave(r)
                done.put(None)
            except Exception as error:
                done.put(error)

        for r, worker in self.workers:
            Thread(target=work, args=(r, worker), daemon=True).start()
        barrier.wait()
        self.lag = self.first_lag()
        self._prober = Prober(self.go, self.trial, self.lag) if self.lag else None

    def first_lag(self) -> probe.Lag | None:
        """Of the probe that begins now; none without one."""
        period = self.trial["probe_ms"] * 1_000_000
        return probe.Lag(self.go + period) if period else None

    def probed(self) -> dict | None:
        """What the probe saw, once the workers have ended."""
        return self._prober and self._prober.stop()

    def start(self) -> None:
        """It is `go` now."""
        self.go = now()
        for role, end in zip(self.trial["roles"], self.ends):
            if role["until"]["kind"] == "time":
                end.time = self.go + role["until"]["ms"] * 1_000_000
        for r, working in enumerate(self.working):
            if working == 0:
                self._ended(r)

    def leave(self, r: int) -> None:
        with self._leaving:
            self.working[r] -= 1
            if self.working[r] == 0:
                self._ended(r)

    def _ended(self, r: int) -> None:
        """Ends the roles that wait for this one."""
        for role, end in zip(self.trial["roles"], self.ends):
            if role["until"].get("name") == self.trial["roles"][r]["name"]:
                end.time = now()

    def _tick_until(self, done: Queue) -> None:
        every = max(1, self.trial["tick_ms"]) * 1_000_000
        due = self.go + every
        working = len(self.workers)
        while working:
            try:
                error = done.get(timeout=max(0, due - now()) / 1e9)
            except Empty:
                self._tick()
                due = self.go + ((now() - self.go) // every + 1) * every
                continue
            if error is not None:
                say(self._fault(error).failed())
                os._exit(1)
            working -= 1
        # The rest, so that all ticks add up to the result.
        self._tick()

    def _tick(self) -> None:
        moment = now()
        tick = {"type": "tick", "t_ms": (moment - self.go) // 1_000_000, "counts": self.board.tick()}
        say({**tick, "lag_ns": self.lag.take(moment)} if self.lag else tick)

    def _fault(self, error: Exception) -> Fault:
        return Fault.of(error, find(self.trial["driver"]).code(error))

    def _result(self, elapsed: int, probed: dict | None) -> dict:
        unserved = {}
        for r, (schedule, end) in enumerate(zip(self.schedules, self.ends)):
            if schedule and end.time != NEVER:
                unserved[r] = schedule.unserved(end.time - self.go)
        warmup = self.trial["warmup_ms"] * 1_000_000
        warm = self.go + warmup
        return {
            "elapsed_ns": elapsed,
            "measured_ns": max(0, elapsed - warmup),
            "operations": self.board.operations(unserved),
            "workers": [
                {
                    "role": worker.role["name"],
                    "worker": worker.index,
                    "database": worker.database,
                    "committed": sum(task.record.committed for task in worker.tasks),
                    "inside_ns": worker.inside,
                    "outside_ns": max(0, worker.ended - warm - worker.inside),
                }
                for _, worker in self.workers
            ],
            "probe": probed,
        }


class Prober:
    """The host probe's thread."""

    def __init__(self, go: int, trial: dict, lag: probe.Lag):
        self._lateness: list[Latencies] = []
        self._stop = Event()
        arguments = (go, trial["probe_ms"], trial["warmup_ms"], self._stop, lag)
        self._thread = Thread(target=lambda: self._lateness.append(probe.run(*arguments)), daemon=True)
        self._thread.start()

    def stop(self) -> dict:
        """As in `result`."""
        self._stop.set()
        self._thread.join()
        [lateness] = self._lateness
        return {"lateness": lateness.encoded(), "pool_wait": None, "utilization": None}

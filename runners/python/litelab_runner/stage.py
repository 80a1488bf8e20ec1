"""The workers of a trial as threads, their shared state, and their messages."""

import os
from queue import Empty, Queue
from threading import Barrier, Lock, Thread
from time import perf_counter_ns as now

from .sharing import Opened
from .driver import Fault, find
from .message import say
from .probe import Probe
from .record import Board
from .schedule import Schedule
from .transaction import Retry
from .worker import NEVER, SLICE, End, Worker


class Stage:
    """The workers of a trial and their shared state."""

    worker_class = Worker

    def __init__(self, trial: dict, retry: Retry, schedules: list[Schedule | None], databases: list[Opened]):
        self.trial, self.schedules = trial, schedules
        roles = trial["roles"]
        self.ends = [End(role["until"]["kind"] == "role") for role in roles]
        self.board = Board(trial)
        self.workers: list[Worker] = []
        # By role: the workers that have not ended.
        self._working: list[set[Worker]] = [set() for _ in roles]
        self._leaving = Lock()
        for database, opened in enumerate(databases):
            handles = iter(opened.handles)
            for r, role in enumerate(roles):
                for w in range(role["workers"]):
                    worker = self.worker_class(trial, r, w, database, next(handles), retry, schedules[r], self.ends[r])
                    self.workers.append(worker)
                    self._working[r].add(worker)
                    for task in worker.tasks:
                        self.board.records[r, task.index].append(task.record)
        self._drain = trial["drain_ms"] * 1_000_000
        # Whether a transaction is unfinished: its call may never return.
        self.hangs = False
        self.go = 0
        self._probe: Probe | None = None

    def run(self) -> dict:
        """Starts all workers together, and ticks until the last has ended or was abandoned after its drain.

        A trial that cannot continue ends the process here: other workers may wait for what the faulty one still
        holds, and there will be no result.
        """
        # Workers that have ended, with the error of one that could not continue.
        done: Queue[tuple[Worker, Exception | None]] = Queue()
        self.begin(done)
        self._watch(done)
        return self._result()

    def begin(self, done: Queue) -> None:
        """Starts the workers and the probe, and sets `go`."""
        barrier = Barrier(len(self.workers) + 1, action=self.start)

        def work(worker: Worker) -> None:
            try:
                barrier.wait()
                worker.run()
                self.leave(worker)
                done.put((worker, None))
            except Exception as error:
                done.put((worker, error))

        for worker in self.workers:
            # A daemon thread, so that a blocked call does not keep the process alive.
            Thread(target=work, args=(worker,), daemon=True).start()
        barrier.wait()

    def make_probe(self, go: int, period_ms: int, warmup_ms: int) -> Probe:
        return Probe(go, period_ms, warmup_ms)

    def start(self) -> None:
        """Sets the time of `go`."""
        self.go = now()
        for worker in self.workers:
            worker.begin(self.go)
        for role, end, working in zip(self.trial["roles"], self.ends, self._working):
            if role["until"]["kind"] == "time":
                end.time = self.go + role["until"]["ms"] * 1_000_000
            if not working:
                self._ended(role["name"])
        if self.trial["probe_ms"]:
            self._probe = self.make_probe(self.go, self.trial["probe_ms"], self.trial["warmup_ms"])
            self._probe.start()

    def leave(self, worker: Worker) -> None:
        """Records that a worker has ended. Further calls for it have no effect."""
        with self._leaving:
            for role, working in zip(self.trial["roles"], self._working):
                if worker in working:
                    working.remove(worker)
                    if not working:
                        self._ended(role["name"])

    def _ended(self, name: str) -> None:
        """Ends the roles that wait for this one."""
        for role, end in zip(self.trial["roles"], self.ends):
            if role["until"].get("name") == name:
                end.time = now()

    def _watch(self, done: Queue) -> None:
        every = max(1, self.trial["tick_ms"]) * 1_000_000
        due = self.go + every
        while any(self._working):
            try:
                worker, error = done.get(timeout=max(0, min(due, self._drained()) - now()) / 1e9)
                if error is not None and worker.ended is None:
                    say(self._fault(error).failed())
                    os._exit(1)
            except Empty:
                self._abandon()
            if now() >= due:
                self._tick()
                due = self.go + ((now() - self.go) // every + 1) * every
        # The last tick, so that all ticks add up to the result.
        self._tick()

    def _drained(self) -> int:
        """Returns the next time to check whether a role has drained; every few milliseconds after its drain."""
        ends = [end.time + self._drain for end, working in zip(self.ends, self._working) if working]
        return max(min(ends, default=0), now() + SLICE)

    def _abandon(self) -> None:
        """Ends the workers that outlast the drain of their role.

        A worker between two transactions ends on its own, unless an abandoned one blocks its loop.
        """
        for end, working in zip(self.ends, self._working):
            if now() < end.time + self._drain:
                continue
            for worker in list(working):
                if worker.start is not None or self.hangs:
                    self.hangs |= worker.leave()
                    self.leave(worker)

    def _tick(self) -> None:
        moment = now()
        tick = {"type": "tick", "t_ms": (moment - self.go) // 1_000_000, "counts": self.board.tick()}
        say({**tick, "lag_ns": self._probe.lag(moment)} if self._probe else tick)

    def _fault(self, error: Exception) -> Fault:
        return Fault.of(error, find(self.trial["driver"]).code(error))

    def _result(self) -> dict:
        elapsed = max((worker.ended for worker in self.workers), default=self.go) - self.go
        unserved = {}
        for r, (schedule, end) in enumerate(zip(self.schedules, self.ends)):
            if schedule and end.time != NEVER:
                unserved[r] = schedule.unserved(end.time - self.go)
        return {
            "elapsed_ns": elapsed,
            "measured_ns": max(0, elapsed - self.trial["warmup_ms"] * 1_000_000),
            "operations": self.board.operations(unserved),
            "workers": [worker.result() for worker in self.workers],
            **(self._probe.stop() if self._probe else {}),
        }

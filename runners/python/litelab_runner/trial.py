"""The verb `run`: open everything, say `ready`, wait for `go`, report while the workers work, say `result`."""

import os
from queue import Empty, Queue
from threading import Barrier, Event, Lock, Thread
from time import perf_counter_ns as now

from . import PROTOCOL, probe
from .access import Opened
from .driver import Fault, find
from .message import next_line, say
from .record import Board, Latencies
from .schedule import Schedule
from .transaction import Retry
from .worker import NEVER, End, Worker


def run() -> None:
    """Runs the trial on the first line. Input that ends before `go` is no error: nothing is run."""
    trial = next_line()
    if trial is None:
        return
    check(trial)
    retry, write_lock = Retry(trial["retry"]), Lock()
    schedules = [Schedule(trial["seed"], role) if role["load"]["kind"] == "open" else None for role in trial["roles"]]
    databases = [Opened(trial, database, write_lock) for database in range(len(trial["databases"]))]
    stage = Stage(trial, retry, schedules, databases)
    say({"type": "ready", "connections": [settings for opened in databases for settings in opened.settings]})
    message = next_line()
    if message is None:
        return
    if message.get("type") != "go":
        raise Fault(f"`{message}` is not go")
    result = stage.run()
    for opened in databases:
        opened.close()
    say({"type": "result", **result})


def check(trial: dict) -> None:
    """What this runner could not do, or would do wrong without a word."""
    if trial["protocol"] != PROTOCOL:
        raise Fault(f"protocol {trial['protocol']} is not {PROTOCOL}")
    driver = find(trial["driver"])
    for kind, asked, known in (
        ("executor", trial["executor"], driver.executors),
        ("access", trial["access"]["kind"], driver.accesses),
    ):
        if asked not in known:
            raise Fault(f"{kind} {asked} is not supported by {trial['driver']}, which has {', '.join(known)}")
    roles = {role["name"]: role for role in trial["roles"]}
    for name, role in roles.items():
        if any(step["transaction"] >= len(trial["transactions"]) for step in role["steps"]):
            raise Fault(f"role `{name}` has a step without its transaction")
        if not role["steps"] or (role["order"] == "weighted" and not any(s["weight"] for s in role["steps"])):
            raise Fault(f"role `{name}` has no step to do")
        if role["first_in_role"] + role["workers"] > role["workers_in_role"]:
            raise Fault(f"role `{name}` has more workers here than in all")
        # A chain of roles that wait for each other has to come to one that ends by itself.
        waits_for = role
        for _ in range(len(roles) + 1):
            if waits_for["until"]["kind"] != "role":
                break
            other = waits_for["until"]["name"]
            if other not in roles:
                raise Fault(f"role `{name}` waits for `{other}`, and there is none")
            waits_for = roles[other]
        else:
            raise Fault(f"role `{name}` never ends")


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
                    worker = Worker(trial, r, w, database, next(handles), retry, schedules[r], self.ends[r])
                    self.workers.append((r, worker))
                    for task in worker.tasks:
                        self.board.records[r, task.index].append(task.record)
        self.go = 0

    def run(self) -> dict:
        """Starts all workers together, and ticks until the last has ended. A trial that cannot go on ends the process
        here: workers may hang on what the faulty one still holds, and there is no result to wait for."""
        done: Queue[Exception | None] = Queue()
        barrier = Barrier(len(self.workers) + 1, action=self._start)

        def work(r: int, worker: Worker) -> None:
            try:
                barrier.wait()
                worker.run(self.go)
                self._leave(r)
                done.put(None)
            except Exception as error:
                done.put(error)

        for r, worker in self.workers:
            Thread(target=work, args=(r, worker), daemon=True).start()
        barrier.wait()
        stop = Event()
        prober = Prober(self.go, self.trial, stop) if self.trial["probe_ms"] else None
        self._tick_until(done)
        elapsed = max((worker.ended for _, worker in self.workers), default=self.go) - self.go
        stop.set()
        return self._result(elapsed, prober and prober.lateness())

    def _start(self) -> None:
        """It is `go` now. The barrier calls this before it lets anyone pass."""
        self.go = now()
        for role, end in zip(self.trial["roles"], self.ends):
            if role["until"]["kind"] == "time":
                end.time = self.go + role["until"]["ms"] * 1_000_000
        for r, working in enumerate(self.working):
            if working == 0:
                self._ended(r)

    def _leave(self, r: int) -> None:
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
        say({"type": "tick", "t_ms": (now() - self.go) // 1_000_000, "counts": self.board.tick()})

    def _fault(self, error: Exception) -> Fault:
        return Fault.of(error, find(self.trial["driver"]).code(error))

    def _result(self, elapsed: int, lateness: Latencies | None) -> dict:
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
            "probe": lateness and {"lateness": lateness.encoded(), "pool_wait": None, "utilization": None},
        }


class Prober:
    """The host probe's thread."""

    def __init__(self, go: int, trial: dict, stop: Event):
        self._lateness: list[Latencies] = []
        arguments = (go, trial["probe_ms"], trial["warmup_ms"], stop)
        self._thread = Thread(target=lambda: self._lateness.append(probe.run(*arguments)), daemon=True)
        self._thread.start()

    def lateness(self) -> Latencies:
        """Waits for its end; `stop` was set before."""
        self._thread.join()
        [lateness] = self._lateness
        return lateness

"""Sharing of connections between workers, with the locks and queues of the standard library, as in an application."""

from functools import partial
from queue import LifoQueue
from threading import Lock

from .connect import settings_at_end
from .driver import Fault, Session, find
from .transaction import compile


class Own:
    """A worker's own connection, available without waiting."""

    waits = False

    def __init__(self, session: Session):
        self.session = session


class Locked:
    """A connection under a lock that other connections or workers may share."""

    waits = True

    def __init__(self, session: Session, lock: Lock):
        self.session, self.lock = session, lock

    def take(self) -> Session:
        self.lock.acquire()
        return self.session

    def give(self, _session: Session) -> None:
        self.lock.release()


class Pool:
    """A last-in, first-out pool of connections."""

    waits, session = True, None

    def __init__(self, sessions: list[Session]):
        self._free: LifoQueue[Session] = LifoQueue()
        # The connection opened first is lent first.
        for session in reversed(sessions):
            self._free.put(session)
        self.take = self._free.get
        self.give = self._free.put


# The connections of a worker: for transactions that write (True), and for those that only read (False).
Handles = dict[bool, Own | Locked | Pool]


class Opened:
    """All connections to one database, opened, configured, filled and prepared."""

    Locked, Pool, Lock = Locked, Pool, Lock

    def __init__(self, trial: dict, database: int, write_lock: Lock):
        self.trial, self.database, self.write_lock = trial, database, write_lock
        self.driver = find(trial["driver"])
        self.sessions: list[Session] = []
        # As in the message `ready`.
        self.settings: list[dict] = []
        # One for each worker in the order of the roles.
        self.handles: list[Handles] = []
        workers = [role for role in trial["roles"] for _ in range(role["workers"])]
        everything = sorted({step["transaction"] for role in trial["roles"] for step in role["steps"]})
        match trial["sharing"]:
            case {"kind": "own-connection" | "app-lock" as kind}:
                for role in workers:
                    used = sorted({step["transaction"] for step in role["steps"]})
                    session = self._open(role["name"], used)
                    own = Own(session)
                    writing = self.Locked(session, write_lock) if kind == "app-lock" else own
                    self.handles.append({True: writing, False: own})
            case {"kind": "one-connection"}:
                one = self.Locked(self._open("shared", everything), self.Lock())
                self.handles = [{True: one, False: one}] * len(workers)
            case {"kind": "pool", "connections": size}:
                pool = self._pool("pool", size, everything)
                self.handles = [{True: pool, False: pool}] * len(workers)
            case {"kind": "writer-readers", "readers": readers}:
                writing = [t for t in everything if trial["transactions"][t]["writes"]]
                writer = self.Locked(self._open("writer", writing), self.Lock())
                reader = self._pool("reader", readers, [t for t in everything if t not in writing])
                self.handles = [{True: writer, False: reader}] * len(workers)
            case other:
                raise Fault(f"sharing {other['kind']} is not supported")

    def _open(self, label: str, used: list[int]) -> Session:
        trial, database = self.trial, self.trial["databases"][self.database]
        memory = database["kind"] == "memory"
        if memory and self.sessions and not database["shared"]:
            name = database["name"]
            raise Fault(f"memory database `{name}` is private to one connection, and a second was asked for")
        specs = [trial["transactions"][index] for index in used]
        try:
            statements = sum(len(spec["statements"]) for spec in specs)
            # In a cluster, each connection over all processes starts at the next host.
            first = min((role["first_worker"] for role in trial["roles"] if role["workers"]), default=0)
            place = {"place": first + len(self.sessions)} if database["kind"] == "server" else {}
            session = self.driver({**database, **place}, trial["connection"], trial["prepare"], statements)
            if memory and not self.sessions:
                session.script(database["setup"])
            self.sessions.append(session)
            settings = session.settings(trial["connection"]["read_back"])
            make = session.compile or partial(compile, session)
            session.attempts = {index: make(spec) for index, spec in zip(used, specs)}
        except Fault:
            raise
        except Exception as error:
            raise Fault.of(error, self.driver.code(error)) from error
        self.settings.append({"database": self.database, "label": label, "settings": settings})
        return session

    def _pool(self, label: str, size: int, used: list[int]) -> Pool:
        if size < 1:
            raise Fault("a pool needs at least one connection")
        return self.Pool([self._open(label, used) for _ in range(size)])

    def settings_at_end(self) -> list[dict]:
        """Reads the settings again. The form is that of `self.settings`."""
        names = self.trial["connection"]["read_back"]
        return [
            {**before, "settings": settings_at_end(session, names)}
            for before, session in zip(self.settings, self.sessions)
        ]

    def close(self) -> None:
        """Runs `teardown` on the first connection, and closes all connections."""
        database = self.trial["databases"][self.database]
        if database["kind"] == "memory":
            self.sessions[0].script(database["teardown"])
        for session in self.sessions:
            session.close()

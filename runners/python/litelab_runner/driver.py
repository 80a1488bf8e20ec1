"""What a driver has to offer; everything else of a trial is the same for all."""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any

# What a statement or a transaction returns instead of a number of rows.
EMPTY = -1
FAILED = -2

BEGIN = {
    "none": None,
    "deferred": "BEGIN DEFERRED",
    "immediate": "BEGIN IMMEDIATE",
    "exclusive": "BEGIN EXCLUSIVE",
}

# Imported when asked for: a process that measures one SQLite has no other loaded.
DRIVERS = {
    "sqlite3": "stdlib.Sqlite3",
    "apsw": "apsw_driver.Apsw",
    "aiosqlite": "aiosqlite_driver.Aiosqlite",
    "litequeue": "queues.litequeue.Litequeue",
    "persist-queue": "queues.persist_queue.PersistQueue",
    "huey": "queues.huey.Huey",
    "psycopg": "psycopg_driver.Psycopg",
    "noop": "noop.Noop",
}


class Fault(Exception):
    """Why a trial cannot go on; `code` is the error's name where it was the database that said no."""

    def __init__(self, reason: str, code: str | None = None):
        super().__init__(reason)
        self.code = code

    @classmethod
    def of(cls, error: Exception, code: str | None = None, during: str = "") -> "Fault":
        """From any error, with what was being done."""
        if isinstance(error, Fault):
            return cls(f"{during}: {error}" if during else str(error), error.code)
        said = code or type(error).__name__
        return cls(f"{during}: {said}: {error}" if during else f"{said}: {error}", code)

    def failed(self) -> dict:
        """The last line of a trial that cannot go on."""
        return {"type": "failed", "reason": " ".join(str(self).split()), "code": self.code}


# A worker is a task on an event loop. The driver's call blocks the loop; a thread of the default executor, which any of
# them may be; the connection's own thread.
ON_LOOP = ["inline", "offload", "dedicated"]


class Session:
    """One open connection. It goes from thread to thread, and is never used by two at the same time."""

    # What a driver supports unless it says otherwise. Executors are threads, and processes of one such thread each;
    # those of `ON_LOOP` are for what may be called from any thread.
    accesses = ["per-worker", "shared", "pool", "write-lock", "split"]
    executors = ["threads", "processes"]
    # What it offers in place of SQL.
    interface: str | None = None
    # What it speaks, and what opens a transaction there.
    dialect = "sqlite"
    begins = BEGIN
    # Whether its calls, and so its attempts and `rollback`, are awaited on the program's loop.
    awaits = False
    # How a task calls it: `aio.call`.
    call: Callable[..., Awaitable]
    # What makes its attempts, where that is not `transaction.compile`.
    compile: Callable[[dict], Callable] | None = None

    # Executes a statement with its values and returns an iterator over its rows.
    run: Callable[..., Iterable]
    # One function for each transaction that the connection was prepared for, made by `transaction.compile`.
    attempts: dict[int, Callable[[Any, "Memory"], int]]

    def __init__(self, database: dict, connection: dict, prepare: str = "once", statements: int = 0):
        """Opens, and runs the settings in order. `statements` is how many it will have to keep prepared."""
        raise NotImplementedError

    def script(self, statements: list[str]) -> None:
        """Runs each statement to its end."""
        raise NotImplementedError

    def settings(self, names: list[str]) -> dict:
        """Runs one read transaction, then asks for each PRAGMA by name."""
        raise NotImplementedError

    def statement(self, transaction: dict, at: int, timed: bool) -> Callable[[Any, "Memory"], int]:
        """A function of (values, memory) that executes the `at`-th statement as often as it says and returns the rows
        fetched, or changed where it yields none, or EMPTY. `timed`: it notes `query` and `first_row`."""
        raise NotImplementedError

    def rollback(self) -> None:
        """Rolls back where a transaction is open. Some errors (SQLITE_FULL, SQLITE_IOERR, …) have done so by
        themselves: https://sqlite.org/lang_transaction.html. On a server it opens another connection where this one is
        lost."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    @staticmethod
    def code(error: Exception) -> str | None:
        """The name of SQLite's extended result code; none for an error that is not SQLite's own."""
        raise NotImplementedError

    @staticmethod
    def build() -> dict:
        """`version` of the library and the `sqlite` build inside, as in `describe`."""
        raise NotImplementedError


class Memory:
    """What a worker keeps from one statement, and one transaction, to the next."""

    __slots__ = ("yielded", "committed", "verified", "mismatches", "query", "first_row")

    def __init__(self):
        self.yielded: dict[str, Any] = {}
        # The same as of the last commit: a transaction rolled back has yielded nothing.
        self.committed: dict[str, Any] = {}
        self.verified = self.mismatches = 0
        # Readings of the clock in the last transaction with a statement that is timed.
        self.query: int | None = None
        self.first_row: int | None = None

    def keep(self) -> None:
        self.committed = dict(self.yielded)

    def forget(self) -> None:
        self.yielded = dict(self.committed)


def find(name: str) -> type[Session]:
    """The class of a driver by its name."""
    if name not in DRIVERS:
        raise Fault(f"driver `{name}` is none of {', '.join(DRIVERS)}")
    module, _, cls = DRIVERS[name].rpartition(".")
    return getattr(import_module(f"{__package__}.{module}"), cls)

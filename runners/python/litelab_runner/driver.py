"""The interface of a driver; the rest of a trial is the same for all drivers."""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any

# Returned by a statement or a transaction instead of a number of rows.
EMPTY = -1
FAILED = -2

BEGIN = {
    "none": None,
    "deferred": "BEGIN DEFERRED",
    "immediate": "BEGIN IMMEDIATE",
    "exclusive": "BEGIN EXCLUSIVE",
}

# Imported on demand, so that a process that measures one SQLite loads no other.
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
    """Reason why a trial cannot continue. `code` is the error name if the error is from the database."""

    def __init__(self, reason: str, code: str | None = None):
        super().__init__(reason)
        self.code = code

    @classmethod
    def of(cls, error: Exception, code: str | None = None, during: str = "") -> "Fault":
        """Creates a Fault from any error and a description of the operation."""
        if isinstance(error, Fault):
            return cls(f"{during}: {error}" if during else str(error), error.code)
        said = code or type(error).__name__
        return cls(f"{during}: {said}: {error}" if during else f"{said}: {error}", code)

    def failed(self) -> dict:
        """Returns the last message of a trial that cannot continue."""
        return {"type": "failed", "reason": " ".join(str(self).split()), "code": self.code}


# Executors with tasks on an event loop. A call of the driver blocks the loop; runs in any thread of the default
# executor; or runs in the thread of its connection.
ON_LOOP = ["inline", "offload", "dedicated"]


class Session:
    """One open connection. It may be used by different threads, but never by two at the same time."""

    # Default kinds of sharing and executors of a driver. The executors are threads, and several processes with threads;
    # those of `ON_LOOP` require that the driver can be called from any thread.
    sharings = ["own-connection", "one-connection", "pool", "app-lock", "writer-readers"]
    executors = ["threads", "processes"]
    # Interface offered in place of SQL.
    interface: dict | None = None
    # SQL dialect, and the statements that open a transaction in it.
    dialect = "sqlite"
    begins = BEGIN
    # Whether its calls, including attempts and `rollback`, are awaited on the event loop.
    awaits = False
    # Function by which a task calls it, see `aio.call`.
    call: Callable[..., Awaitable]
    # Creates its attempts; default: `transaction.compile`.
    compile: Callable[[dict], Callable] | None = None

    # Executes a statement with its values and returns an iterator over its rows.
    run: Callable[..., Iterable]
    # One function for each transaction that the connection is prepared for, created by `transaction.compile`.
    attempts: dict[int, Callable[[Any, "Memory"], int]]

    def __init__(self, database: dict, connection: dict, prepare: str = "once", statements: int = 0):
        """Opens a connection and applies the settings. `statements` is the number of statements to keep prepared."""
        raise NotImplementedError

    @classmethod
    def by_dsn(cls, _dsn: str, _options: dict) -> "Session":
        """Opens a connection by a complete data source name, with the arguments of the driver's constructor.

        Nothing is added, so that the connection is that of an application. Such a session runs scripts, settings, and
        the calls below, and no transactions of a trial.
        """
        raise Fault("this driver opens no SQLite database by a data source name (`dsn`)")

    def begin(self) -> None:
        """Begins a transaction as an application does, of which some drivers need no call."""

    def abandon(self) -> None:
        """Rolls back as an application does. A driver without autocommit begins the next transaction at once."""
        self.rollback()

    def script(self, statements: list[str]) -> None:
        """Runs each statement to completion."""
        raise NotImplementedError

    def settings(self, names: list[str]) -> dict:
        """Runs one read transaction, then reads each PRAGMA by name."""
        raise NotImplementedError

    def statement(self, transaction: dict, at: int, timed: bool) -> Callable[[Any, "Memory"], int]:
        """Returns a function of (values, memory) that executes the `at`-th statement with its repetitions.

        The function returns the number of rows fetched, or changed if there are none to fetch, or EMPTY. If `timed`,
        it records `query` and `first_row`.
        """
        raise NotImplementedError

    def rollback(self) -> None:
        """Rolls back if a transaction is open. On a server it also replaces a lost connection.

        Some errors (SQLITE_FULL, SQLITE_IOERR, …) have already rolled back: https://sqlite.org/lang_transaction.html
        """
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    @staticmethod
    def code(error: Exception) -> str | None:
        """Returns the name of a database error, for SQLite by its extended result code. Other errors: None."""
        raise NotImplementedError

    @staticmethod
    def build() -> dict:
        """Returns the `version` of the library and its `sqlite` build, as in `describe`."""
        raise NotImplementedError


class Memory:
    """State that a worker keeps between statements and between transactions."""

    __slots__ = ("yielded", "committed", "verified", "mismatches", "query", "first_row")

    def __init__(self):
        self.yielded: dict[str, Any] = {}
        # The yielded values as of the last commit, because a rolled back transaction yields nothing.
        self.committed: dict[str, Any] = {}
        self.verified = self.mismatches = 0
        # Clock readings in the last transaction with a timed statement.
        self.query: int | None = None
        self.first_row: int | None = None

    def keep(self) -> None:
        self.committed = dict(self.yielded)

    def forget(self) -> None:
        self.yielded = dict(self.committed)


def find(name: str) -> type[Session]:
    """Returns the class of the driver with this name."""
    if name not in DRIVERS:
        raise Fault(f"driver `{name}` is none of {', '.join(DRIVERS)}")
    module, _, cls = DRIVERS[name].rpartition(".")
    return getattr(import_module(f"{__package__}.{module}"), cls)

"""The driver `sqlite3`: the module of Python's standard library, with the SQLite that it is linked to."""

import platform
import sqlite3

from . import codes
from .connect import address, chosen
from .driver import Memory
from .statement import BRACKETS, DML, Execute, One, SqlSession

# Default of the module.
_CACHED = 128


def how(database: dict, connection: dict, prepare: str, statements: int) -> tuple[str, dict]:
    """Returns the path or URI to connect to, and the arguments."""
    path, uri = address(database)
    options = {"uri": uri, "cached_statements": max(_CACHED, statements + BRACKETS)}
    options |= chosen(connection["options"], {"timeout", "cached_statements", "uri"})
    if prepare == "each":
        options["cached_statements"] = 0
    return path, {"isolation_level": None, **options}


class Sqlite3(SqlSession):
    """A session with the module's defaults, including a busy timeout of 5 s, except for two arguments.

    `isolation_level=None` leaves BEGIN to the application, here the trial. `check_same_thread` is off, because a
    connection is used by different threads.
    """

    def __init__(self, database: dict, connection: dict, prepare: str = "once", statements: int = 0):
        path, options = how(database, connection, prepare, statements)
        opened = sqlite3.connect(path, check_same_thread=False, **options)
        self.set_up(opened, prepare, connection["settings"])

    @classmethod
    def by_dsn(cls, dsn: str, options: dict) -> "Sqlite3":
        session = cls.__new__(cls)
        session.set_up(sqlite3.connect(dsn, **options), "once", [])
        return session

    def abandon(self) -> None:
        self.connection.rollback()

    def changing(self, sql: str) -> One:
        run, cursor, connection = self.run, self.cursor, self.connection

        def counted(values: tuple, _memory: Memory) -> int:
            run(sql, values)
            return cursor.rowcount

        def compared(values: tuple, _memory: Memory) -> int:
            before = connection.total_changes
            run(sql, values)
            return connection.total_changes - before

        # The module also decides by the first word. It has no `changes()`, and no `rowcount` after DDL or after
        # `WITH … INSERT`. The total includes changes by triggers.
        return counted if DML.match(sql) else compared

    def changing_many(self, sql: str) -> Execute | None:
        if not DML.match(sql):
            return None
        run, cursor = self.cursor.executemany, self.cursor

        def many(bound: list[tuple], _memory: Memory) -> int:
            run(sql, bound)
            return cursor.rowcount

        return many

    def columns(self, sql: str, nulls: tuple) -> list[str]:
        cursor = self.connection.execute(f"SELECT * FROM ({sql.rstrip().rstrip(';')}) LIMIT 0", nulls)
        return [column[0] for column in cursor.description]

    def close(self) -> None:
        self.connection.close()

    @staticmethod
    def code(error: Exception) -> str | None:
        # Errors of the module itself (a wrong number of values) have no such attribute.
        code = getattr(error, "sqlite_errorcode", None) if isinstance(error, sqlite3.Error) else None
        return None if code is None else codes.name(code)

    @staticmethod
    def build() -> dict:
        connection = sqlite3.connect(":memory:")
        sqlite = {
            "version": sqlite3.sqlite_version,
            "source_id": connection.execute("SELECT sqlite_source_id()").fetchone()[0],
            "compile_options": [option for (option,) in connection.execute("PRAGMA compile_options")],
        }
        connection.close()
        return {"version": platform.python_version(), "sqlite": sqlite}

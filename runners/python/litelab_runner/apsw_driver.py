"""The driver `apsw`: Another Python SQLite Wrapper, with the SQLite in its wheel."""

from collections.abc import Iterator

import apsw

from . import codes
from .connect import address, chosen
from .driver import Fault, Memory
from .statement import BRACKETS, DML, Execute, One, SqlSession

# Default of the library.
_CACHED = 100


class Apsw(SqlSession):
    """A session with the library's defaults, which include no busy timeout."""

    def __init__(self, database: dict, connection: dict, prepare: str = "once", statements: int = 0):
        path, uri = address(database)
        options = {"statementcachesize": max(_CACHED, statements + BRACKETS)}
        if uri:
            if "OMIT_SHARED_CACHE" in apsw.compile_options:
                # The URI would be accepted, but each connection would get a database of its own.
                raise Fault("apsw's SQLite has no shared cache (OMIT_SHARED_CACHE), so no shared database in memory")
            options["flags"] = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        options |= chosen(connection["options"], {"flags", "vfs", "statementcachesize"})
        if prepare == "each":
            options["statementcachesize"] = 0
        self.set_up(apsw.Connection(path, **options), prepare, connection["settings"])

    @classmethod
    def by_dsn(cls, dsn: str, options: dict) -> "Apsw":
        session = cls.__new__(cls)
        session.set_up(apsw.Connection(dsn, **options), "once", [])
        return session

    def begin(self) -> None:
        # What `with connection:` does. The connection is closed before the block would end.
        self.connection.__enter__()

    def changing(self, sql: str) -> One:
        run, total, changes = self.run, self.connection.total_changes, self.connection.changes

        def counted(values: tuple, _memory: Memory) -> int:
            run(sql, values)
            return changes()

        def compared(values: tuple, _memory: Memory) -> int:
            before = total()
            run(sql, values)
            # `changes` keeps its value after a statement that counts no changes, such as DDL.
            return changes() if total() != before else 0

        return counted if DML.match(sql) else compared

    def changing_many(self, sql: str) -> Execute | None:
        if not DML.match(sql):
            return None
        run, changes = self.cursor.executemany, self.connection.changes

        def many(bound: list[tuple], _memory: Memory) -> int:
            rows = 0

            def each() -> Iterator[tuple]:
                # `changes` is of the last execution; the total would include those by triggers.
                nonlocal rows
                for at, values in enumerate(bound):
                    rows += changes() if at else 0
                    yield values

            run(sql, each())
            return rows + changes() if bound else 0

        return many

    def columns(self, sql: str, nulls: tuple) -> list[str]:
        names: list[str] = []

        def look(cursor: apsw.Cursor, _sql: str, _bindings: object) -> bool:
            names.extend(column[0] for column in cursor.get_description())
            return False

        cursor = self.connection.cursor()
        cursor.exec_trace = look
        try:
            cursor.execute(sql, nulls)
        except apsw.ExecTraceAbort:
            pass
        return names

    def close(self) -> None:
        self.connection.close()

    @staticmethod
    def code(error: Exception) -> str | None:
        # Errors of the library itself (a wrong number of values) have no code, or none of SQLite's.
        code = getattr(error, "extendedresult", -1) if isinstance(error, apsw.Error) else -1
        return codes.name(code) if code > 0 else None

    @staticmethod
    def build() -> dict:
        options = list(apsw.compile_options)
        sqlite = {
            "version": apsw.sqlite_lib_version(),
            "source_id": apsw.sqlite3_sourceid(),
            "compile_options": options,
        }
        return {"version": apsw.apsw_version(), "sqlite": sqlite}

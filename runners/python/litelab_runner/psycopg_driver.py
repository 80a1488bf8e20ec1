"""The driver `psycopg`: PostgreSQL by psycopg 3, with the libpq in its wheel.

`prepare = "once"` prepares a statement at its first execution. psycopg keeps one prepared statement per combination
of value types, where integers of two, four and eight bytes differ. Results are requested in binary format.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.types.numeric import NumericBinaryLoader

from . import codes
from .driver import BEGIN, Fault, Memory
from .server import ANSWER_PATIENCE, CONNECT_PATIENCE, REOPEN_PATIENCE, Address, Link, Lost, printed
from .statement import One, SqlSession

# Keys of libpq's connection strings that change how a connection works.
_OPTIONS = {
    "application_name", "channel_binding", "gssencmode", "options", "require_auth", "sslcert", "sslcrl", "sslkey",
    "sslmode", "sslnegotiation", "sslpassword", "sslrootcert", "sslsni",
}  # fmt: skip

# libpq reports no SQLSTATE if a server refuses a connection, only the message.
_REFUSALS = {
    "password authentication failed": "invalid_password",
    "too many clients already": "too_many_connections",
    "remaining connection slots": "too_many_connections",
    "too many connections for": "too_many_connections",
    "no pg_hba.conf entry": "invalid_authorization_specification",
    "database system is": "cannot_connect_now",
    'FATAL:  database "': "invalid_catalog_name",
}

_COPY = re.compile(r"\s*COPY\s.*\sFROM\s+STDIN\s*;?\s*", re.IGNORECASE | re.DOTALL)
_COUNTED = re.compile(r"(INSERT|UPDATE|DELETE|MERGE|COPY)\b")


class Bool(Loader):
    def load(self, data: Any) -> int:
        return int(bytes(data) in (b"\x01", b"t"))


class BinaryBool(Bool):
    format = psycopg.pq.Format.BINARY


class Numeric(NumericBinaryLoader):
    """Loads a numeric value as an integer if it is one, otherwise as the nearest float."""

    def load(self, data: Any) -> Any:
        number: Decimal = super().load(data)
        return int(number) if number.is_finite() and number == number.to_integral_value() else float(number)


class Connection(psycopg.Connection):
    """A connection whose calls time out."""

    def wait(self, gen: Any, *arguments: Any, **given: Any) -> Any:
        try:
            return super().wait(gen, *arguments, **{"timeout": ANSWER_PATIENCE, **given})
        except psycopg.errors._WaitTimeout as error:
            # A late answer would be taken for the answer to the next request.
            self.pgconn.finish()
            raise Lost("CONNECTION_TIMEOUT", error) from error


class Psycopg(SqlSession):
    """A session on a PostgreSQL server.

    `autocommit` leaves BEGIN to the application, here the trial; `RawCursor` accepts `$1` as the server does.
    """

    sharings = ["own-connection", "pool"]
    executors = ["threads", "processes"]
    dialect = "postgres"
    begins = {kind: sql and "BEGIN" for kind, sql in BEGIN.items()}

    def __init__(self, database: dict, connection: dict, prepare: str = "once", _statements: int = 0):
        address = Address(database["url"], "postgres", 5432)
        settings = connection["settings"]
        threshold = None if prepare == "each" else 0
        arguments = {
            **address.options(connection["options"], _OPTIONS), "user": address.user, "password": address.password,
            "dbname": address.database, "connect_timeout": CONNECT_PATIENCE,
        }  # fmt: skip

        def opening(host: str, port: int):
            def open() -> Connection:
                return opened(host, port, arguments, database["schema"], settings, threshold)

            return open

        self._link = Link([opening(*host) for host in address.hosts], database.get("place", 0))
        # Statements refer to the session, so that they continue on another connection when this one is lost.
        self.connection = self
        self.compiles_each = prepare == "each"
        self.attempts = {}
        self._cursor = self._link.connection.cursor(binary=True)

    def run(self, sql: str, values: tuple | None = None) -> Any:
        """Runs a statement. Without values it is a statement such as BEGIN, and is not prepared."""
        return self._cursor.execute(sql, values, prepare=False if values is None else None)

    def execute(self, sql: str, values: tuple) -> Any:
        """Runs a statement on a new cursor."""
        return self._link.connection.cursor(binary=True).execute(sql, values)

    def script(self, statements: list[str]) -> None:
        for sql in statements:
            try:
                self.run(sql)
            except Exception as error:
                raise Fault.of(error, self.code(error), sql) from error

    def settings(self, names: list[str]) -> dict:
        return {name: printed(self.run(f"SHOW {name}").fetchone()[0]) for name in names}

    def rollback(self) -> None:
        if not self._link.connection.closed:
            try:
                if self._link.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    self.run("ROLLBACK")
                return
            except Exception:
                if not self._link.connection.closed:
                    raise
        try:
            self._link.reopen()
        except Exception as error:
            raise Fault.of(error, self.code(error), f"no connection again within {REOPEN_PATIENCE} s") from error
        self._cursor = self._link.connection.cursor(binary=True)

    def changing(self, sql: str) -> One:
        def counted(values: tuple, _memory: Memory) -> int:
            cursor = self.run(sql, values)
            return cursor.rowcount if _COUNTED.match(cursor.statusmessage or "") else 0

        return counted

    def changing_many(self, sql: str) -> None:
        """Returns None, because `executemany` would send the statements in one pipeline, and so in one transaction."""
        return None

    def columns(self, sql: str, nulls: tuple) -> list[str]:
        return self._described(sql)[1]

    def _described(self, sql: str) -> tuple[int, list[str]]:
        """Returns the number of parameters and the columns. Prepares the unnamed statement."""
        pgconn = self._link.connection.pgconn
        for result in (pgconn.prepare(b"", sql.encode()), pgconn.describe_prepared(b"")):
            if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(result)
        return result.nparams, [result.fname(at).decode() for at in range(result.nfields)]

    def _compiled(self, spec: dict) -> tuple[int, bool]:
        given = len(spec["bind"]) * spec["tuples"]
        if _COPY.fullmatch(spec["sql"]):
            if not given:
                raise Fault("its rows are what is bound, and nothing is")
            wanted, columns = given, []
        else:
            wanted, columns = self._described(spec["sql"])
        if wanted != given:
            raise Fault(f"it has {wanted} parameters, and {given} are bound")
        if len(columns) < len(spec["yields"]):
            raise Fault(f"it has {len(columns)} columns, and yields {spec['yields']}")
        # All rows have been received when the first one is available, so no stepping to the end is needed.
        return len(columns), False

    def _one(self, spec: dict, width: int, writes: bool, timed: bool) -> One:
        if _COPY.fullmatch(spec["sql"]):
            return self._copying(spec["sql"], len(spec["bind"]))
        return super()._one(spec, width, writes, timed)

    def _copying(self, sql: str, width: int) -> One:
        def copied(values: tuple, _memory: Memory) -> int:
            with self._cursor.copy(sql) as copy:
                for row in rows(values, width):
                    copy.write_row(row)
            return self._cursor.rowcount

        return copied

    def close(self) -> None:
        self._link.connection.close()

    @staticmethod
    def code(error: Exception) -> str | None:
        if isinstance(error, Lost):
            return error.name
        if not isinstance(error, psycopg.Error):
            return None
        if error.sqlstate:
            return codes.of_state(error.sqlstate)
        # Errors of the library itself (a wrong number of values) are not OperationalErrors.
        return "CONNECTION_LOST" if isinstance(error, psycopg.OperationalError) else None

    @staticmethod
    def build() -> dict:
        return {"version": psycopg.__version__, "sqlite": None}


def rows(values: tuple, width: int) -> Iterable[tuple]:
    return (values[at : at + width] for at in range(0, len(values), width))


def opened(
    host: str, port: int, arguments: dict, schema: str, settings: list[dict], threshold: int | None
) -> Connection:
    """Opens a connection and applies its settings."""
    try:
        connection = Connection.connect(
            host=host,
            port=port,
            autocommit=True,
            prepare_threshold=threshold,
            cursor_factory=psycopg.RawCursor,
            **arguments,
        )
    except psycopg.OperationalError as error:
        said = next((name for text, name in _REFUSALS.items() if text in str(error)), None)
        late = isinstance(error, psycopg.errors.ConnectionTimeout)
        raise Lost(said or ("CONNECTION_TIMEOUT" if late else "CONNECTION_REFUSED"), error) from error
    connection.prepared_max = None
    for name, loader in (("bool", Bool), ("bool", BinaryBool), ("numeric", Numeric)):
        connection.adapters.register_loader(name, loader)
    path = '"' + schema.replace('"', '""') + '"'
    for sql in [f"SET SESSION search_path = {path}", *(setting["sql"] for setting in settings)]:
        try:
            connection.execute(sql, prepare=False)
        except Exception as error:
            connection.close()
            raise Fault.of(error, Psycopg.code(error), sql) from error
    return connection

"""The driver `aiosqlite`: the standard library's module behind awaitable calls, with one thread per connection.

https://aiosqlite.omnilib.dev

Each call is awaited separately, as in an application: begin, execution, each batch of rows, closing a cursor, and
commit go to the thread and back. A pause within a transaction is awaited too, with the connection held.
"""

from asyncio import sleep
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from importlib.metadata import version
from time import perf_counter_ns as now
from typing import Any

import aiosqlite

from . import connect
from .aio.loop import program
from .driver import EMPTY, Fault, Memory
from .params import Bound, Values
from .statement import DML, SqlSession, filled, nulls, yielded
from .stdlib import Sqlite3, how
from .transaction import first_fetch
from .work import verifying

# Executes a statement with all its repetitions.
Execute = Callable[[Bound, Memory], Awaitable[int]]


class Aiosqlite(SqlSession):
    """A session used by the main thread until `go`, which waits for the loop, and by tasks on the loop afterwards."""

    executors = ["dedicated"]
    awaits = True

    def __init__(self, database: dict, connection: dict, prepare: str = "once", statements: int = 0):
        path, options = how(database, connection, prepare, statements)
        self.compiles_each = prepare == "each"
        self.attempts = {}

        self._open(path, options)
        connect.apply(self, connection["settings"])

    @classmethod
    def by_dsn(cls, dsn: str, options: dict) -> "Aiosqlite":
        session = cls.__new__(cls)
        session._open(dsn, options)
        return session

    def _open(self, path: str, options: dict) -> None:
        async def opened() -> aiosqlite.Connection:
            # Created on the loop, whose thread is a daemon: so the connection's thread is a daemon too and does not
            # keep the process alive.
            return await aiosqlite.connect(path, **options)

        self.connection = self._wait(opened())

    def _wait(self, coroutine: Coroutine) -> Any:
        return program().wait(coroutine)

    def run(self, sql: str, values: tuple = ()) -> Iterable[tuple]:
        """Executes a statement before `go` or after the end."""

        async def fetched() -> Iterable[tuple]:
            return await self.connection.execute_fetchall(sql, values)

        return iter(self._wait(fetched()))

    def columns(self, sql: str, nulls: tuple) -> list[str]:
        async def described() -> list[str]:
            async with self.connection.execute(f"SELECT * FROM ({sql.rstrip().rstrip(';')}) LIMIT 0", nulls) as cursor:
                return [column[0] for column in cursor.description]

        return self._wait(described())

    def compile(self, transaction: dict) -> Callable[[Values, Memory], Awaitable[int]]:
        """Like `transaction.compile`, for awaited calls."""
        timed = first_fetch(transaction)
        begin, hold = self.begins[transaction["begin"]], transaction["hold_us"] / 1e6
        executes = [self.statement(transaction, at, at == timed) for at in range(len(transaction["statements"]))]
        holds = [statement["hold_us"] / 1e6 for statement in transaction["statements"]]
        connection, alone = self.connection, len(executes) == 1

        async def attempt(values: Values, memory: Memory) -> int:
            if begin:
                await connection.execute(begin)
            if hold:
                await sleep(hold)
            rows = 0
            for execute, bound, after in zip(executes, (values,) if alone else values, holds):
                seen = await execute(bound, memory)
                if seen == EMPTY:
                    rows = EMPTY
                    break
                rows += seen
                if after:
                    await sleep(after)
            if begin:
                await connection.commit()
            return rows

        return attempt

    def statement(self, transaction: dict, at: int, timed: bool) -> Execute:
        spec = transaction["statements"][at]
        required, places = spec["required"], yielded(transaction, spec)
        try:
            width, writes = self._compiled(spec)
            one = self._changing(spec["sql"]) if width == 0 else self._fetching(spec, writes)
        except Exception as error:
            raise Fault.of(error, self.code(error), spec["sql"]) from error
        many = width == 0 and DML.match(spec["sql"]) and not (self.compiles_each or places or required)
        if spec["repeat"] != 1 and many:
            return self._changing_many(spec["sql"])

        async def execute(bound: Bound, memory: Memory) -> int:
            rows, noting = 0, timed
            for values in (bound,) if spec["repeat"] == 1 else bound:
                seen = await one(filled(values, places, memory) if places else values, memory, noting)
                if required and not seen:
                    return EMPTY
                rows += seen
                noting = False
            return rows

        return execute

    def _changing(self, sql: str):
        connection, says = self.connection, DML.match(sql)

        async def one(values: tuple, _memory: Memory, _noting: bool) -> int:
            before = connection.total_changes
            cursor = await connection.execute(sql, values)
            # See `stdlib`.
            return cursor.rowcount if says else connection.total_changes - before

        return one

    def _changing_many(self, sql: str) -> Execute:
        connection = self.connection

        async def many(bound: Bound, _memory: Memory) -> int:
            return (await connection.executemany(sql, bound)).rowcount

        return many

    def _fetching(self, spec: dict, writes: bool):
        sql, fetch, yields, connection = spec["sql"], spec["fetch"], spec["yields"], self.connection
        verify = None
        if spec["work"]["kind"] == "verify":
            verify = verifying(spec["work"], self.columns(sql, nulls(spec)))

        def see(row: tuple, seen: int, memory: Memory, noting: bool) -> None:
            if seen == 0:
                if noting:
                    memory.first_row = now()
                if yields:
                    memory.yielded.update(zip(yields, row))
            if verify:
                verify(row, memory)

        async def one(values: tuple, memory: Memory, noting: bool) -> int:
            seen = 0
            async with connection.execute(sql, values) as cursor:
                if noting:
                    memory.query, memory.first_row = now(), None
                if fetch == "buffer":
                    for row in await cursor.fetchall():
                        see(row, seen, memory, noting)
                        seen += 1
                elif fetch == "first":
                    if (row := await cursor.fetchone()) is not None:
                        see(row, seen, memory, noting)
                        seen = 1
                    if writes:
                        # Closing would discard an error of its commit.
                        await cursor.fetchall()
                else:
                    async for row in cursor:
                        see(row, seen, memory, noting)
                        seen += 1
            return seen

        return one

    async def rollback(self) -> None:
        if self.connection.in_transaction:
            await self.connection.rollback()

    def abandon(self) -> None:
        self._wait(self.connection.rollback())

    def close(self) -> None:
        self._wait(self.connection.close())

    code = staticmethod(Sqlite3.code)

    @staticmethod
    def build() -> dict:
        return {"version": version("aiosqlite"), "sqlite": Sqlite3.build()["sqlite"]}

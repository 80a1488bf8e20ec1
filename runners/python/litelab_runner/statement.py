"""Executing statements through a cursor whose `execute` and `executemany` return an iterable of rows.

The modules of the drivers contain the differences. A connection keeps one cursor for all its statements. Both
drivers cache compiled statements by their text, which is how they prepare once.
"""

import re
from collections.abc import Callable
from time import perf_counter_ns as now
from typing import Any

from . import connect
from .driver import EMPTY, ON_LOOP, Fault, Memory, Session
from .params import Bound
from .work import verifying

# Executes a statement once: a function of (values, memory) that returns the number of rows.
One = Callable[[tuple, Memory], int]
# Executes a statement with all its repetitions, in that case for a list of values.
Execute = Callable[[Bound, Memory], int]

# Matches statements that report how many rows they changed, including zero.
DML = re.compile(r"(\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(insert|update|delete|replace)\b", re.IGNORECASE | re.DOTALL)

# Capacity of the statement cache beyond the trial's statements, for BEGIN and COMMIT.
BRACKETS = 8


class SqlSession(Session):
    """A session on a connection with cursors. A driver opens the connection in its `__init__` and calls `set_up`."""

    executors = [*Session.executors, *ON_LOOP]

    connection: Any
    cursor: Any
    # Whether a statement is compiled at each execution.
    compiles_each: bool

    def set_up(self, connection: Any, prepare: str, settings: list[dict]) -> None:
        self.connection, self.cursor = connection, connection.cursor()
        self.compiles_each = prepare == "each"
        self.run = self.cursor.execute
        self.attempts = {}
        connect.apply(self, settings)

    def script(self, statements: list[str]) -> None:
        connect.script(self, statements)

    def settings(self, names: list[str]) -> dict:
        return connect.read_back(self, names)

    def rollback(self) -> None:
        if self.connection.in_transaction:
            self.run("ROLLBACK")

    def changing(self, sql: str) -> One:
        """Returns a function that executes a statement without columns and returns the number of rows changed."""
        raise NotImplementedError

    def changing_many(self, sql: str) -> Execute | None:
        """Returns the same for a list of values, with the `executemany` of the driver if it has one.

        This is the Python idiom for repeated execution. It executes the statement once per item, and also stops at the
        first error. It compiles once for all items, so it is not used if each execution has to compile.
        """
        raise NotImplementedError

    def columns(self, sql: str, nulls: tuple) -> list[str]:
        """Returns the names of the columns without executing the statement."""
        raise NotImplementedError

    def statement(self, transaction: dict, at: int, timed: bool) -> Execute:
        spec = transaction["statements"][at]
        places = yielded(transaction, spec)
        try:
            width, writes = self._compiled(spec)
            if spec["repeat"] != 1 and width == 0 and not (self.compiles_each or places or spec["required"]):
                many = self.changing_many(spec["sql"])
                if many:
                    return many
            rest = self._one(spec, width, writes, False)
            return executing(self._one(spec, width, writes, True) if timed else rest, rest, spec, places)
        except Exception as error:
            raise Fault.of(error, self.code(error), spec["sql"]) from error

    def _compiled(self, spec: dict) -> tuple[int, bool]:
        """Returns the number of columns, and whether the statement writes.

        Fails if SQLite does not compile it, or if the number of parameters differs.
        """
        plan = list(self.run(f"EXPLAIN {spec['sql']}", nulls(spec)))
        width = max((p2 for _, opcode, _, p2, *_ in plan if opcode == "ResultRow"), default=0)
        if width < len(spec["yields"]):
            raise Fault(f"it has {width} columns, and yields {spec['yields']}")
        return width, any(opcode == "Transaction" and p2 for _, opcode, _, p2, *_ in plan)

    def _one(self, spec: dict, width: int, writes: bool, timed: bool) -> One:
        sql, yields = spec["sql"], spec["yields"]
        if width == 0:
            return self.changing(sql)
        verify = None
        if spec["work"]["kind"] == "verify":
            verify = verifying(spec["work"], self.columns(sql, nulls(spec)))
        match spec["fetch"]:
            case "first":
                return fetching_first(self.connection.execute, sql, verify, yields, writes)
            case "buffer":
                return fetching_buffer(self.run, sql, verify, yields, timed)
        return fetching_all(self.run, sql, verify, yields, timed)


def nulls(spec: dict) -> tuple:
    """Returns as many null values as a statement binds."""
    return (None,) * (len(spec["bind"]) * spec["tuples"])


def yielded(transaction: dict, spec: dict) -> list[tuple[int, str]]:
    """Returns the indices of a statement's values that take yielded values, with their names."""
    sources = [transaction["params"][index]["source"] for index in spec["bind"]] * spec["tuples"]
    return [(place, source["name"]) for place, source in enumerate(sources) if source["kind"] == "yielded"]


def fetching_all(run: Callable, sql: str, verify, yields: list[str], timed: bool) -> One:
    """Steps to the end, row by row."""

    def plain(values: tuple, _memory: Memory) -> int:
        seen = 0
        for _ in run(sql, values):
            seen += 1
        return seen

    def one(values: tuple, memory: Memory) -> int:
        rows = run(sql, values)
        if timed:
            memory.query, memory.first_row = now(), None
        seen = 0
        for row in rows:
            if seen == 0:
                if timed:
                    memory.first_row = now()
                if yields:
                    memory.yielded.update(zip(yields, row))
            if verify:
                verify(row, memory)
            seen += 1
        return seen

    return one if timed or yields or verify else plain


def fetching_buffer(run: Callable, sql: str, verify, yields: list[str], timed: bool) -> One:
    """Collects all rows first."""

    def one(values: tuple, memory: Memory) -> int:
        cursor = run(sql, values)
        if timed:
            memory.query = now()
        rows = cursor.fetchall()
        if timed:
            memory.first_row = now() if rows else None
        if rows and yields:
            memory.yielded.update(zip(yields, rows[0]))
        if verify:
            for row in rows:
                verify(row, memory)
        return len(rows)

    return one


def fetching_first(execute: Callable, sql: str, verify, yields: list[str], writes: bool) -> One:
    """Fetches the first row with a separate cursor and closes it.

    Otherwise the statement would still be open when the transaction ends. (`sqlite3` steps to the second row while it
    returns the first.)

    A statement that writes and returns rows has written when its first row is available, but under autocommit it
    commits at its end, and closing would discard an error of that commit. So it is stepped to its end.
    """

    def one(values: tuple, memory: Memory) -> int:
        cursor = execute(sql, values)
        row = cursor.fetchone()
        if writes:
            for _ in cursor:
                pass
        cursor.close()
        if row is None:
            return 0
        if verify:
            verify(row, memory)
        if yields:
            memory.yielded.update(zip(yields, row))
        return 1

    return one


def executing(first: One, rest: One, spec: dict, places: list[tuple[int, str]]) -> Execute:
    """Combines the functions that execute a statement as specified.

    `first` is used for the first execution, `rest` for its repetitions; `places` receive yielded values.
    """
    if places:
        first, rest = filling(first, places), filling(rest, places)
    if spec["repeat"] != 1:
        return repeating(first, rest, spec["required"])
    return needing(first) if spec["required"] else first


def filling(one: One, places: list[tuple[int, str]]) -> One:
    return lambda values, memory: one(filled(values, places, memory), memory)


def filled(values: tuple, places: list[tuple[int, str]], memory: Memory) -> tuple:
    """Returns the values with yielded ones inserted; null if none was yielded before."""
    whole = list(values)
    for place, name in places:
        whole[place] = memory.yielded.get(name)
    return tuple(whole)


def needing(one: One) -> One:
    """Wraps a statement that must return a row."""
    return lambda values, memory: one(values, memory) or EMPTY


def repeating(first: One, rest: One, required: bool) -> Execute:
    """Returns a function that executes a statement once for each item of a list."""

    def execute(bound: list[tuple], memory: Memory) -> int:
        rows, one = 0, first
        for values in bound:
            seen = one(values, memory)
            if required and not seen:
                return EMPTY
            rows += seen
            one = rest
        return rows

    return execute

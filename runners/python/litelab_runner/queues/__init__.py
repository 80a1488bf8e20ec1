"""Task queues as drivers: libraries that keep tasks in their own tables and accept no SQL.

A statement names an operation, `CALL queue.claim()`; `docs/reference/protocol.md` specifies the operations. A new queue is a
module like those here, with a class that opens the library and has one method per operation. The library manages its
own transactions: begin and commit of the trial do nothing, and repetitions are separate calls.
"""

import re
import sqlite3
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter_ns as now
from typing import Any

from .. import connect
from ..driver import Fault, Memory, Session
from ..statement import Execute, One, executing, yielded
from ..stdlib import Sqlite3
from ..work import verifying

_CALL = re.compile(r"\s*CALL\s+(\w+)\s*\.\s*(\w+)\s*\(([^()]*)\)\s*;?\s*")

# Arguments of each operation.
_OPERATIONS = {"enqueue": ["payload", "priority"], "claim": [], "complete": ["id"], "fail": ["id"]}

_COLUMNS = ["id", "payload"]


class QueueSession(Session):
    """A queue of a library in one file. A driver opens it in its `__init__` and calls `set_up`."""

    interface = {
        "name": "queue",
        "operations": [
            {"name": name, "arguments": given, "columns": _COLUMNS if name == "claim" else [], "writes": True}
            for name, given in _OPERATIONS.items()
        ],
    }
    sharings = ["own-connection", "one-connection"]
    # Name on the package index.
    distribution: str
    # Connections of the library; the writing one is first.
    connections: list[sqlite3.Connection]

    def enqueue(self, payload: Any, priority: Any) -> None:
        raise NotImplementedError

    def claim(self) -> tuple[Any, Any] | None:
        """Claims the next task for this caller only. Returns its id and payload, or None if there is none."""
        raise NotImplementedError

    def complete(self, task: Any) -> None:
        raise NotImplementedError

    def fail(self, task: Any) -> None:
        raise NotImplementedError

    def set_up(self, connections: list[sqlite3.Connection], settings: list[dict]) -> None:
        """Applies the settings after those that the library applies itself."""
        self.connections = connections
        self.attempts = {}
        for connection in connections:
            connect.apply(_Asked(connection), settings)

    def run(self, _sql: str, _values: tuple = ()) -> tuple:
        """Handles begin and commit, which do nothing."""
        return ()

    def settings(self, names: list[str]) -> dict:
        writer, *others = [connect.read_back(_Asked(connection), names) for connection in self.connections]
        for other in others:
            if other != writer:
                raise Fault(f"{self.distribution} has connections with different settings: {writer} and {other}")
        return writer

    def statement(self, transaction: dict, at: int, timed: bool) -> Execute:
        spec = transaction["statements"][at]
        operation = self._operation(spec)
        if operation == "claim":
            verifying(spec["work"], _COLUMNS)
            if len(spec["yields"]) > len(_COLUMNS):
                raise Fault(f"{spec['sql']}: it has columns {_COLUMNS}, and yields {spec['yields']}")
            first, rest = (claiming(self.claim, spec["yields"], noted) for noted in (timed, False))
        else:
            if spec["yields"] or spec["required"]:
                raise Fault(f"{spec['sql']}: it returns no row")
            first = rest = calling(getattr(self, operation))
        return executing(first, rest, spec, yielded(transaction, spec))

    def _operation(self, spec: dict) -> str:
        """Returns the operation named by a statement, after checking it."""
        sql = spec["sql"]
        called = _CALL.fullmatch(sql)
        if called is None:
            known = ", ".join(f"CALL queue.{name}" for name in _OPERATIONS)
            raise Fault(f"`{sql}`: {self.distribution} takes no SQL, but {known}")
        interface, operation, arguments = called.groups()
        if interface != "queue" or operation not in _OPERATIONS:
            raise Fault(f"`{interface}.{operation}` is no operation of a queue, which has {', '.join(_OPERATIONS)}")
        given = [argument.strip() for argument in arguments.split(",")] if arguments.strip() else []
        wanted = len(_OPERATIONS[operation])
        if given != [f"?{place}" for place in range(1, wanted + 1)] or len(spec["bind"]) * spec["tuples"] != wanted:
            raise Fault(f"`{sql}`: `{operation}` takes {wanted} arguments, ?1, ?2, … in order, each bound")
        return operation

    def rollback(self) -> None:
        """Rolls back open transactions: not every library does so after a failed commit."""
        for connection in self.connections:
            if connection.in_transaction:
                connection.rollback()

    def close(self) -> None:
        raise NotImplementedError

    code = staticmethod(Sqlite3.code)

    @classmethod
    def build(cls) -> dict:
        return {"version": version(cls.distribution), "sqlite": Sqlite3.build()["sqlite"]}


class _Asked:
    """Adapts a connection of a library to the parts of a session that `connect` uses."""

    code = staticmethod(Sqlite3.code)

    def __init__(self, connection: sqlite3.Connection):
        self.run = connection.execute

    def script(self, statements: list[str]) -> None:
        connect.script(self, statements)


def claiming(claim: Callable[[], tuple | None], yields: list[str], timed: bool) -> One:
    def one(_values: tuple, memory: Memory) -> int:
        task = claim()
        if timed:
            memory.query = now()
            memory.first_row = now() if task else None
        if task is None:
            return 0
        if yields:
            memory.yielded.update(zip(yields, task))
        return 1

    return one


def calling(operation: Callable[..., None]) -> One:
    def one(values: tuple, _memory: Memory) -> int:
        operation(*values)
        return 1

    return one


def path(database: dict) -> str:
    """Returns the file of a database. These libraries support no other kind."""
    if database["kind"] != "file":
        raise Fault("a task queue needs a database in a file")
    return database["path"]

"""The driver `noop`: a driver without a database. Its figures show the overhead of the runner."""

from time import perf_counter_ns as now

from .connect import chosen
from .driver import ON_LOOP, Memory, Session
from .statement import Execute, executing


class Noop(Session):
    """A session that answers every statement with one row of no columns, so that no transaction ends empty."""

    executors = [*Session.executors, *ON_LOOP]
    connection = None

    def __init__(self, _database: dict, connection: dict, _prepare: str = "once", _statements: int = 0):
        chosen(connection["options"], set())
        self.attempts = {}

    def run(self, _sql: str, _values: tuple = ()) -> tuple:
        return ()

    def script(self, _statements: list[str]) -> None:
        pass

    def settings(self, names: list[str]) -> dict:
        return dict.fromkeys(names)

    def statement(self, transaction: dict, at: int, timed: bool) -> Execute:
        def one(_values: tuple, _memory: Memory) -> int:
            return 1

        def noted(_values: tuple, memory: Memory) -> int:
            memory.query = now()
            memory.first_row = now()
            return 1

        # No transaction ends empty.
        spec = {**transaction["statements"][at], "required": False}
        return executing(noted if timed else one, one, spec, [])

    def rollback(self) -> None:
        pass

    def close(self) -> None:
        pass

    @staticmethod
    def code(_error: Exception) -> str | None:
        return None

    @staticmethod
    def build() -> dict:
        return {"version": "1", "sqlite": None}

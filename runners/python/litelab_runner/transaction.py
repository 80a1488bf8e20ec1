"""One execution of a transaction, and what is done after an error."""

from collections.abc import Callable
from time import perf_counter_ns, sleep
from typing import Any

from . import codes
from .driver import EMPTY, FAILED, Fault, Memory, Session

Attempt = Callable[[Any, Memory], int]


def first_fetch(transaction: dict) -> int | None:
    """The statement that `query` and `first_row` belong to, if they are timed."""
    if not transaction["timed_rows"]:
        return None
    fetches = [at for at, s in enumerate(transaction["statements"]) if s["fetch"] in ("all", "buffer")]
    return fetches[0] if fetches else None


def compile(session: Session, transaction: dict) -> Attempt:
    """A function of (values, memory) that does the transaction once, from begin to commit, on this connection. It
    returns the rows of all statements, or EMPTY; errors are the driver's own."""
    timed = first_fetch(transaction)
    statements = transaction["statements"]
    begin, hold = session.begins[transaction["begin"]], transaction["hold_us"] / 1e6
    executes = [session.statement(transaction, at, at == timed) for at in range(len(statements))]
    holds = [statement["hold_us"] / 1e6 for statement in statements]
    run = session.run

    if len(statements) == 1:
        [execute], [after] = executes, holds
        if begin is None and not (hold or after):
            # Autocommit: the statement is the transaction.
            return execute

        def single(values: Any, memory: Memory) -> int:
            if begin:
                run(begin)
            if hold:
                sleep(hold)
            seen = execute(values, memory)
            if after and seen != EMPTY:
                sleep(after)
            if begin:
                run("COMMIT")
            return seen

        return single

    def attempt(values: Any, memory: Memory) -> int:
        if begin:
            run(begin)
        if hold:
            sleep(hold)
        rows = 0
        for execute, given, after in zip(executes, values, holds):
            seen = execute(given, memory)
            if seen == EMPTY:
                rows = EMPTY
                break
            rows += seen
            if after:
                sleep(after)
        if begin:
            run("COMMIT")
        return rows

    return attempt


class Retry:
    """What a worker does after an error that a retry may cure."""

    def __init__(self, retry: dict, dialect: str = "sqlite"):
        for name in retry["on"]:
            if not codes.is_known(dialect, name):
                raise Fault(f"`{name}` is no result code of {dialect}")
        self.attempts = retry["attempts"]
        self._on = set(retry["on"])
        self._backoff, self._longest = retry["backoff_us"], retry["max_backoff_us"]
        self._multiplier = retry["multiplier"]

    def covers(self, code: str) -> bool:
        """A primary code of SQLite stands for its extended ones."""
        return code in self._on or codes.primary(code) in self._on

    def pause(self, done: int) -> float:
        """Seconds between try `done` (from 1) and the next."""
        try:
            grown = self._backoff * self._multiplier ** (done - 1)
        except OverflowError:
            grown = self._longest
        return min(grown, self._longest) / 1e6


def recover(
    session: Session, attempt: Attempt, values: Any, memory: Memory, retry: Retry, error: Exception
) -> tuple[int, int, list[str]]:
    """After a first try that failed: rolls back, and tries again with the same values while the retry covers it.
    Returns what a try returned at last, or FAILED; when that was over; and the codes seen. What is no error of a
    database goes on up."""
    seen: list[str] = []
    while True:
        code = session.code(error)
        if code is None:
            raise error
        seen.append(code)
        try:
            session.rollback()
        except Exception as worse:
            raise Fault.of(worse, session.code(worse), "ROLLBACK") from worse
        memory.forget()
        if len(seen) >= retry.attempts or not retry.covers(code):
            return FAILED, perf_counter_ns(), seen
        sleep(retry.pause(len(seen)))
        try:
            rows = attempt(values, memory)
            return rows, perf_counter_ns(), seen
        except Exception as again:
            error = again

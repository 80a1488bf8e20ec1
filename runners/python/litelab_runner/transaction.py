"""One execution of a transaction, and the errors that are retried."""

from collections.abc import Callable
from time import sleep

from . import codes
from .driver import EMPTY, Fault, Memory, Session
from .params import Values

Attempt = Callable[[Values, Memory], int]


def first_fetch(transaction: dict) -> int | None:
    """Returns the index of the statement timed by `query` and `first_row`, or None."""
    if not transaction["timed_rows"]:
        return None
    fetches = [at for at, s in enumerate(transaction["statements"]) if s["fetch"] in ("all", "buffer")]
    return fetches[0] if fetches else None


def compile(session: Session, transaction: dict) -> Attempt:
    """Returns a function of (values, memory) that runs the transaction once on this connection, from begin to commit.

    The function returns the number of rows of all statements, or EMPTY. It raises the errors of the driver.
    """
    timed = first_fetch(transaction)
    begin, hold = session.begins[transaction["begin"]], transaction["hold_us"] / 1e6
    executes = [session.statement(transaction, at, at == timed) for at in range(len(transaction["statements"]))]
    holds = [statement["hold_us"] / 1e6 for statement in transaction["statements"]]
    run, alone = session.run, len(executes) == 1
    if alone and begin is None and not (hold or holds[0]):
        # Autocommit: the statement is the transaction.
        return executes[0]

    def attempt(values: Values, memory: Memory) -> int:
        if begin:
            run(begin)
        if hold:
            sleep(hold)
        rows = 0
        for execute, bound, after in zip(executes, (values,) if alone else values, holds):
            seen = execute(bound, memory)
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
    """The retry policy of a worker."""

    def __init__(self, retry: dict, dialect: str = "sqlite"):
        for name in retry["on"]:
            if not codes.is_known(dialect, name):
                raise Fault(f"`{name}` is no result code of {dialect}")
        self.attempts = retry["attempts"]
        self._on = set(retry["on"])
        self._backoff, self._longest = retry["backoff_us"], retry["max_backoff_us"]
        self._multiplier = retry["multiplier"]

    def covers(self, code: str) -> bool:
        """Whether this error is retried. A listed primary code of SQLite covers its extended codes."""
        return code in self._on or codes.primary(code) in self._on

    def pause(self, done: int) -> float:
        """Returns the seconds between attempt `done` (from 1) and the next."""
        if self._backoff == 0:
            return 0.0
        try:
            grown = self._backoff * self._multiplier ** (done - 1)
        except OverflowError:
            grown = self._longest
        return min(grown, self._longest) / 1e6

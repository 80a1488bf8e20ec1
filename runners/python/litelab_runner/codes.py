"""Error names, from the tables shared by all runners: SQLite's result codes, and errors of servers."""

import json
import re

from . import SHARED

BY_NAME: dict[str, int] = json.loads((SHARED / "result-codes.json").read_text())
BY_CODE = {code: name for name, code in BY_NAME.items()}

_SERVER: dict = json.loads((SHARED / "server-codes.json").read_text())
CONNECTION = _SERVER["connection"]
POSTGRES: dict[str, str] = _SERVER["postgres"]

# Errors of a server caused by a conflict between two transactions.
_CONTENDING = {"serialization_failure", "deadlock_detected"}


def name(code: int) -> str:
    """Returns the extended name of a SQLite result code.

    An unknown extended code has the name of its primary code, the low byte.
    """
    return BY_CODE.get(code) or BY_CODE.get(code & 0xFF) or "SQLITE_UNKNOWN"


def of_state(state: str) -> str:
    """Returns the condition name of a PostgreSQL SQLSTATE."""
    return POSTGRES.get(state) or f"sqlstate_{state}"


def is_known(dialect: str, name: str) -> bool:
    """Whether errors of this dialect can have this name."""
    if dialect == "sqlite":
        return name in BY_NAME
    return name in CONNECTION or name in POSTGRES.values() or bool(re.fullmatch("sqlstate_[0-9A-Z]{5}", name))


def primary(name: str) -> str:
    """Returns the name of the primary code for SQLite, and any other name unchanged."""
    return BY_CODE[BY_NAME[name] & 0xFF] if name in BY_NAME else name


def is_busy(name: str) -> bool:
    """Whether ticks count this error as busy: a conflict with another transaction."""
    return name in _CONTENDING or primary(name) == "SQLITE_BUSY"

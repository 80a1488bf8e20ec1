"""Errors by name, from the tables that all runners share: SQLite's result codes, and a server's answers."""

import json
import re

from . import SHARED

BY_NAME: dict[str, int] = json.loads((SHARED / "result-codes.json").read_text())
BY_CODE = {code: name for name, code in BY_NAME.items()}

_SERVER: dict = json.loads((SHARED / "server-codes.json").read_text())
CONNECTION = _SERVER["connection"]
POSTGRES: dict[str, str] = _SERVER["postgres"]

# Of a server what two transactions that met each other are told.
_CONTENDING = {"serialization_failure", "deadlock_detected"}


def name(code: int) -> str:
    """The extended name of SQLite's; of an unknown extended code that of its primary code, the low byte."""
    return BY_CODE.get(code) or BY_CODE.get(code & 0xFF) or "SQLITE_UNKNOWN"


def of_state(state: str) -> str:
    """The condition name of an SQLSTATE of PostgreSQL."""
    return POSTGRES.get(state) or f"sqlstate_{state}"


def is_known(dialect: str, name: str) -> bool:
    """Whether an error of this dialect may have this name."""
    if dialect == "sqlite":
        return name in BY_NAME
    return name in CONNECTION or name in POSTGRES.values() or bool(re.fullmatch("sqlstate_[0-9A-Z]{5}", name))


def primary(name: str) -> str:
    """Of SQLite's the primary code's name, of any other itself."""
    return BY_CODE[BY_NAME[name] & 0xFF] if name in BY_NAME else name


def is_busy(name: str) -> bool:
    """What ticks count: that another transaction was in the way."""
    return name in _CONTENDING or primary(name) == "SQLITE_BUSY"

"""SQLite's result codes by name, from the table that all runners share."""

import json

from . import SHARED

BY_NAME: dict[str, int] = json.loads((SHARED / "result-codes.json").read_text())
BY_CODE = {code: name for name, code in BY_NAME.items()}


def name(code: int) -> str:
    """The extended name; of an unknown extended code that of its primary code, the low byte."""
    return BY_CODE.get(code) or BY_CODE.get(code & 0xFF) or "SQLITE_UNKNOWN"

"""Messages as lines of JSON on standard input and output."""

import json
import sys
from threading import Lock

_saying = Lock()


def say(message: dict) -> None:
    """Writes one line and flushes it, because the core reads while the trial runs."""
    line = json.dumps(message, separators=(",", ":"), allow_nan=False)
    with _saying:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def next_line() -> dict | None:
    """Reads the next line of standard input. Returns None at its end."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None

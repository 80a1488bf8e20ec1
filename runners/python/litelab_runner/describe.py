"""The verb `describe`: what this runner is and can do."""

import platform

from . import PROTOCOL, RUNNER
from .driver import DRIVERS, find

ACCESSES = ["per-worker", "shared", "pool", "write-lock", "split"]

# Threads, and processes of one such thread each.
EXECUTORS = ["threads", "processes"]


def describe() -> dict:
    return {
        "protocol": PROTOCOL,
        "runner": RUNNER,
        "language": "python",
        "runtime": f"{platform.python_implementation()} {platform.python_version()}",
        "drivers": [
            {"name": name, **find(name).build(), "accesses": ACCESSES, "executors": EXECUTORS} for name in DRIVERS
        ],
    }

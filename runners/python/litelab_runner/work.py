"""Work of the client on each fetched row.

Both drivers create a tuple of all columns of a row, so every fetched row has been converted to Python values, even
if a workload requests no work.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from .driver import Fault, Memory

# Does the work on one row.
Job = Callable[[tuple, Memory], None]


def verifying(work: dict, columns: list[str]) -> Job | None:
    """Returns the job that compares hashes, or None for any other work."""
    if work["kind"] != "verify":
        return None
    for name in (work["value"], work["hash"]):
        if name not in columns:
            raise Fault(f"no column `{name}` to verify among {columns}")
    value, digest = columns.index(work["value"]), columns.index(work["hash"])

    def verify(row: tuple, memory: Memory) -> None:
        memory.verified += 1
        if not agree(row[value], row[digest]):
            memory.mismatches += 1

    return verify


def agree(value: Any, digest: Any) -> bool:
    """Whether `digest` is the hexadecimal SHA-256 of the bytes that `value` encodes.

    False for values that are not text or not hexadecimal.
    """
    if not (isinstance(value, str) and isinstance(digest, str)):
        return False
    try:
        data = bytes.fromhex(value)
    except ValueError:
        return False
    # `fromhex` ignores spaces.
    return 2 * len(data) == len(value) and sha256(data).hexdigest() == digest.lower()

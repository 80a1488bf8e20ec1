"""The verb `describe`: what this runner is and can do."""

import platform
import sys

from . import PROTOCOL, RUNNER
from .driver import DRIVERS, find


def describe() -> dict:
    return {
        "protocol": PROTOCOL,
        "runner": RUNNER,
        "language": "python",
        "runtime": f"{platform.python_implementation()} {platform.python_version()}",
        "drivers": [described for name in DRIVERS if (described := of_driver(name))],
    }


def of_driver(name: str) -> dict | None:
    """None where its library cannot be imported, which must not keep the others from being used."""
    try:
        driver = find(name)
    except ImportError as error:
        print(f"driver {name}: {error}", file=sys.stderr)
        return None
    more = {"interface": driver.interface} if driver.interface else {}
    if driver.dialect != "sqlite":
        more["dialect"] = driver.dialect
    return {
        "name": name, **driver.build(), "accesses": driver.accesses, "executors": driver.executors, **more
    }  # fmt: skip

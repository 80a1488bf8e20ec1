"""The verb `describe`: the properties of this runner and its drivers."""

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
    """Describes a driver, or returns None if its library cannot be imported; the other drivers remain usable."""
    try:
        driver = find(name)
    except ImportError as error:
        print(f"driver {name} is left out: {error}", file=sys.stderr)
        return None
    more = {"interface": driver.interface} if driver.interface else {}
    if driver.dialect != "sqlite":
        more["dialect"] = driver.dialect
    return {
        "name": name, **driver.build(), "sharings": driver.sharings, "executors": driver.executors, **more
    }  # fmt: skip

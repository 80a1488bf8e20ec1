"""The verb `run`: opens everything, prints `ready`, waits for `go`, ticks while the workers run, prints `result`."""

import os
from threading import Lock

from . import PROTOCOL
from .sharing import Opened
from .driver import ON_LOOP, Fault, find
from .message import next_line, say
from .schedule import Schedule
from .stage import Stage
from .transaction import Retry


def run() -> None:
    """Runs the trial on the first line. If the input ends before `go`, it runs nothing and raises no error."""
    trial = next_line()
    if trial is None:
        return
    check(trial)
    opening, staging, lock = Opened, Stage, Lock
    if trial["executor"] in ON_LOOP:
        # A program of threads does not load asyncio, which takes as long as all its other modules.
        from . import aio

        opening, staging, lock = aio.Opened, aio.Stage, aio.Lock
    retry, write_lock = Retry(trial["retry"], find(trial["driver"]).dialect), lock()
    schedules = [Schedule(trial["seed"], role) if role["load"]["kind"] == "open" else None for role in trial["roles"]]
    databases = [opening(trial, database, write_lock) for database in range(len(trial["databases"]))]
    stage = staging(trial, retry, schedules, databases)
    say({"type": "ready", "connections": [settings for opened in databases for settings in opened.settings]})
    message = next_line()
    if message is None:
        return
    if message.get("type") != "go":
        raise Fault(f"`{message}` is not go")
    result = stage.run()
    if not stage.hangs:
        result["connections"] = [settings for opened in databases for settings in opened.settings_at_end()]
        for opened in databases:
            opened.close()
    say({"type": "result", **result})
    if stage.hangs:
        # A thread blocked in a call of SQLite can be neither ended nor joined.
        os._exit(0)


def check(trial: dict) -> None:
    """Rejects trials that this runner does not support, or would silently run incorrectly."""
    if trial["protocol"] != PROTOCOL:
        raise Fault(f"protocol {trial['protocol']} is not {PROTOCOL}")
    driver = find(trial["driver"])
    for kind, asked, known in (
        ("executor", trial["executor"], driver.executors),
        ("sharing", trial["sharing"]["kind"], driver.sharings),
    ):
        if asked not in known:
            raise Fault(f"{kind} {asked} is not supported by {trial['driver']}, which has {', '.join(known)}")
    for transaction in trial["transactions"]:
        if driver.interface and transaction["begin"] != "none":
            raise Fault(
                f"transaction `{transaction['name']}`: a library's operations are transactions of their own; "
                'write begin = "none"'
            )
    for database in trial["databases"]:
        if (database["kind"] == "server") != (driver.dialect != "sqlite"):
            works = (
                "a server of " + driver.dialect if driver.dialect != "sqlite" else "databases of SQLite, not a server's"
            )
            raise Fault(f"driver `{trial['driver']}` opens {works}; this database is of kind `{database['kind']}`")
    roles = {role["name"]: role for role in trial["roles"]}
    for name, role in roles.items():
        if any(step["transaction"] >= len(trial["transactions"]) for step in role["steps"]):
            raise Fault(f"role `{name}` has a step without its transaction")
        if not role["steps"] or (role["order"] == "weighted" and not any(s["weight"] for s in role["steps"])):
            raise Fault(f"role `{name}` has no step to do")
        if role["first_in_role"] + role["workers"] > role["workers_in_role"]:
            raise Fault(f"role `{name}` has more workers here than in all")
        # A chain of roles that wait for each other must end at a role with another condition.
        waits_for = role
        for _ in range(len(roles) + 1):
            if waits_for["until"]["kind"] != "role":
                break
            other = waits_for["until"]["name"]
            if other not in roles:
                raise Fault(f"role `{name}` waits for `{other}`, and there is none")
            waits_for = roles[other]
        else:
            raise Fault(f"role `{name}` never ends")

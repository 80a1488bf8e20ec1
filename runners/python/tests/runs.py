"""Trials for tests, run by the real program in a separate process."""

import functools
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from litelab_runner.params import Params

FOLDER = Path(__file__).resolve().parents[1]
PROTOCOL = FOLDER.parents[1] / "crates" / "protocol"

SCHEMA = "CREATE TABLE kv(id INTEGER PRIMARY KEY, k INTEGER NOT NULL, v TEXT NOT NULL)"


def pragma(name: str, value: str) -> dict:
    """A setting of SQLite."""
    return {"name": name, "sql": f"PRAGMA {name} = {value}"}


def session(name: str, value: str) -> dict:
    """A setting of a server session."""
    return {"name": name, "sql": f"SET SESSION {name} = {value}"}


WAL = [pragma("journal_mode", "WAL"), pragma("synchronous", "NORMAL")]


def tried(test):
    """Repeats a test up to five times: a busy machine can spoil single attempts, a fault spoils all."""

    @functools.wraps(test)
    def often(self):
        for at in range(4):
            try:
                return test(self)
            except AssertionError:
                # Wait for a burst of load to pass.
                time.sleep(0.2 * 2**at)
        return test(self)

    return often


def seen(operation: dict) -> dict[str, tuple[int, int]]:
    """Returns the numbers of errors seen and cured by name."""
    return {name: (error["seen"], error["cured"]) for name, error in operation["errors"].items()}


def param(called: str, kind: str, **source) -> dict:
    return {"name": called, "source": {"kind": kind, **source}}


def statement(sql: str, bind: list[int], **given) -> dict:
    default = {"tuples": 1, "repeat": 1, "fetch": "none", "work": {"kind": "none"}, "yields": [], "required": False}
    return {"sql": sql, "bind": bind, "hold_us": 0, **default, **given}


def transaction(name: str, params: list[dict], *statements: dict, begin: str = "none", writes: bool = True) -> dict:
    return {
        "name": name, "begin": begin, "writes": writes, "hold_us": 0, "timed_rows": True, "params": params, "statements": list(statements)
    }  # fmt: skip


INSERT = transaction(
    "insert",
    [param("id", "sequence", start=1, step=1), param("k", "uniform", low=1, high=1000), param("v", "hex", bytes=9)],
    statement("INSERT INTO kv(id, k, v) VALUES (?1, ?2, ?3)", [0, 1, 2]),
)
READ = transaction(
    "read",
    [param("id", "uniform", low=1, high=100)],
    statement("SELECT id, k, v FROM kv WHERE id = ?1", [0], fetch="all", work={"kind": "read"}),
    begin="deferred",
    writes=False,
)


def drawn(transaction: dict, count: int) -> list[tuple]:
    """Returns the values bound by the first operations of a transaction with one statement."""
    return Params(7, transaction, 0).draw(list(range(count)))


def role(name: str, transactions: list[int], workers: int, until: dict, **given) -> dict:
    """A role that repeats its transactions in a closed loop; `until` without its kind."""
    kind = {"transactions": "count", "ms": "time", "name": "role"}[next(iter(until))]
    default = {"first_worker": 0, "first_in_role": 0, "workers_in_role": workers, "order": "cycle"}
    steps = [{"transaction": t, "weight": 1, "stride": workers, "offset": 0} for t in transactions]
    load = {"kind": "closed", "think_us": 0}
    until = {"kind": kind, **until}
    return {"name": name, "workers": workers, **default, "steps": steps, "load": load, "until": until, **given}


def trial(driver: str, path: Path | str, transactions: list[dict], roles: list[dict], **given) -> dict:
    default = {
        "sharing": {"kind": "own-connection"},
        "connection": {"settings": WAL, "read_back": ["journal_mode", "synchronous"], "options": {}},
        "retry": {"attempts": 1, "backoff_us": 0, "multiplier": 1.0, "max_backoff_us": 0, "on": []},
        "databases": [{"kind": "file", "path": str(path)}],
    }
    executor = "dedicated" if driver == "aiosqlite" else "threads"
    fixed = {"protocol": 3, "id": "test", "executor": executor, "prepare": "once", "seed": 7, "runtime_threads": None}
    times = {"warmup_ms": 0, "drain_ms": 10_000, "tick_ms": 50, "probe_ms": 10}
    return {**fixed, "driver": driver, **default, "transactions": transactions, "roles": roles, **times, **given}


def made(directory: str, rows: int = 0, schema: str = SCHEMA) -> Path:
    """Creates a database file with the table and some rows, in WAL mode."""
    path = Path(tempfile.mkdtemp(dir=directory)) / "test.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(schema)
    connection.executemany("INSERT INTO kv(id, k, v) VALUES (?, ?, 'v')", [(i + 1, i) for i in range(rows)])
    connection.commit()
    connection.close()
    return path


def start(verb: str = "run") -> subprocess.Popen:
    command = [sys.executable, str(FOLDER / "main.py"), verb]
    # Not in the runner's own folder: the core starts it in the folder of the trial.
    return subprocess.Popen(
        command, cwd=tempfile.gettempdir(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def lines(trial: dict, go: bool = True) -> tuple[list[dict], int]:
    """Returns all lines of a run and its exit code."""
    said = json.dumps(trial) + ('\n{"type":"go"}\n' if go else "\n")
    with start() as process:
        out, err = process.communicate(said, timeout=300)
    assert not err, err
    return [json.loads(line) for line in out.splitlines()], process.returncode


def locked(trial: dict, path: Path) -> dict:
    """Returns the result of a trial while the write lock is held for its first one and a half seconds."""
    with start() as process:
        process.stdin.write(json.dumps(trial) + "\n")
        process.stdin.flush()
        ready = json.loads(process.stdout.readline())
        assert ready["type"] == "ready", ready
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        process.stdin.write('{"type":"go"}\n')
        process.stdin.flush()
        time.sleep(1.5)
        other.execute("COMMIT")
        other.close()
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, ""), err
    return json.loads(out.splitlines()[-1])


class Outcome:
    """The output of a successful run."""

    def __init__(self, trial: dict):
        said, code = lines(trial)
        assert code == 0, said[-1]
        self.ready, *self.ticks, self.result = said
        assert self.ready["type"] == "ready" and self.result["type"] == "result", said
        assert self.ticks and all(tick["type"] == "tick" for tick in self.ticks)

    def operation(self, role: str, transaction: str) -> dict:
        [found] = [o for o in self.result["operations"] if (o["role"], o["transaction"]) == (role, transaction)]
        return found

    def ticked(self, key: str) -> int:
        return sum(count[key] for tick in self.ticks for count in tick["counts"])


def query(path: Path, sql: str) -> list[tuple]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()

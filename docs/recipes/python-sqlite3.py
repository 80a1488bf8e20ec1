"""Connections of a Python application to SQLite, with the sqlite3 module of the standard library.

Checked by:
    litelab doctor app.db --driver python:sqlite3 --dsn app.db --option timeout=5 --option isolation_level=null
        --pragma journal_mode=WAL --pragma synchronous=FULL --pragma foreign_keys=1
"""

import contextlib
import sqlite3
import sys


def connect(path):
    """Opens a connection. One thread uses it at a time; threads have connections of their own."""
    # Seconds; without transactions of the driver, which begins them deferred.
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"):
        db.execute(f"PRAGMA {setting}")
    return db


@contextlib.contextmanager
def transaction(db):
    """A transaction that writes. It waits for the write lock at its begin, never in its middle."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # some errors have rolled it back
            db.execute("ROLLBACK")
        raise


writer, reader = connect(sys.argv[1]), connect(sys.argv[1])
reader.execute("PRAGMA query_only = 1")
with transaction(writer):
    writer.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    writer.execute("INSERT INTO note(text) VALUES (?)", ["a"])
for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys"):
    print(name, *{db.execute(f"PRAGMA {name}").fetchone()[0] for db in (writer, reader)})
print("ready", flush=True)
sys.stdin.read()
reader.close()
writer.close()

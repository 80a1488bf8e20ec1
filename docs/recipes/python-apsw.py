"""Connections of a Python application to SQLite, with apsw.

Checked by:
    litelab doctor app.db --driver apsw --dsn app.db --pragma busy_timeout=5000 --pragma journal_mode=WAL
        --pragma synchronous=FULL --pragma foreign_keys=1
"""

import sys

import apsw


def connect(path):
    """Opens a connection. One thread uses it at a time; threads have connections of their own."""
    db = apsw.Connection(path)
    # The timeout first: apsw itself waits for no lock.
    for setting in ("busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"):
        db.execute(f"PRAGMA {setting}")
    return db


writer, reader = connect(sys.argv[1]), connect(sys.argv[1])
# `with writer:` begins with this (apsw 3.51 and later). `query_only` would refuse it.
writer.transaction_mode = "IMMEDIATE"
reader.execute("PRAGMA query_only = 1")
with writer:
    writer.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    writer.execute("INSERT INTO note(text) VALUES (?)", ["a"])
for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys"):
    print(name, *{db.execute(f"PRAGMA {name}").fetchone()[0] for db in (writer, reader)})
print("ready", flush=True)
sys.stdin.read()
reader.close()
writer.close()

"""Holds locks of a database for known times: one request a line on standard input.

`write SECONDS` keeps a write transaction open, `read SECONDS` a read transaction, `checkpoint SECONDS` a FULL checkpoint
that waits so long for a reader. Before and after each the holder prints the time in seconds since 1970.
"""

import sqlite3
import sys
import time

db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
db.execute("SELECT count(*) FROM t").fetchall()
print("ready", flush=True)
for line in sys.stdin:
    what, seconds = line.split()
    if what == "checkpoint":
        db.execute(f"PRAGMA busy_timeout = {int(float(seconds) * 1000)}")
        print(time.time(), flush=True)
        db.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    else:
        db.execute("BEGIN IMMEDIATE" if what == "write" else "BEGIN")
        db.execute("INSERT INTO t VALUES (1)" if what == "write" else "SELECT count(*) FROM t").fetchall()
        print(time.time(), flush=True)
        time.sleep(float(seconds))
    end = time.time()
    if what != "checkpoint":
        db.execute("COMMIT")
    print(end, flush=True)

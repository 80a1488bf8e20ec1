"""SQLite beside an asyncio loop: a thread that owns the connection that writes, and two that own those that read.

Checked by:
    litelab doctor app.db --driver python:sqlite3 --dsn app.db --option timeout=5 --option isolation_level=null
        --pragma journal_mode=WAL --pragma synchronous=FULL --pragma foreign_keys=1
"""

import asyncio
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


class Database:
    """Each call is one trip to a thread, for a whole transaction; the loop's default pool stays free for others."""

    def __init__(self, path, readers=2):
        self._own = threading.local()

        def connect():
            self._own.db = db = sqlite3.connect(path, timeout=5, isolation_level=None)
            for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"):
                db.execute(f"PRAGMA {setting}")

        self._writer = ThreadPoolExecutor(1, initializer=connect)
        self._readers = ThreadPoolExecutor(readers, initializer=connect)

    async def read(self, work, *args):
        """Runs `work(connection, …)` in a thread that reads."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: work(self._own.db, *args))

    async def write(self, work, *args):
        """Runs `work(connection, …)` in a transaction that has the write lock from its begin."""

        def transaction():
            with self._own.db as db:  # commits, or rolls back after an exception
                db.execute("BEGIN IMMEDIATE")
                return work(db, *args)

        return await asyncio.get_running_loop().run_in_executor(self._writer, transaction)


def add(db, text):
    db.execute("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    return db.execute("INSERT INTO note(text) VALUES (?)", [text]).lastrowid


def setting(db, name):
    return db.execute(f"PRAGMA {name}").fetchone()[0]


async def main():
    database = Database(sys.argv[1])
    await database.write(add, "a")
    for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys"):
        print(name, *{await database.write(setting, name), await database.read(setting, name)})
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())

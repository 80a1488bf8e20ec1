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
        self._path, self._own, self._open = path, threading.local(), []
        self._writer, self._readers = ThreadPoolExecutor(1), ThreadPoolExecutor(readers)

    def _connection(self, query_only):
        # At the first call of a thread: if it fails, that call fails, and the next one tries again.
        if not hasattr(self._own, "db"):
            db = sqlite3.connect(self._path, timeout=5, isolation_level=None, check_same_thread=False)
            for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"):
                db.execute(f"PRAGMA {setting}")
            db.execute(f"PRAGMA query_only = {query_only}")
            self._own.db = db
            # The one that writes is closed last.
            self._open.insert(len(self._open) if query_only else 0, db)
        return self._own.db

    async def _run(self, executor, query_only, begin, work, args):
        def transaction():
            # Commits, or rolls back after an exception; with `autocommit` of Python 3.12 it would do neither.
            with self._connection(query_only) as db:
                db.execute(begin)
                return work(db, *args)

        return await asyncio.get_running_loop().run_in_executor(executor, transaction)

    async def read(self, work, *args):
        """Runs `work(connection, …)` on one state of the database. It returns rows, and not a cursor."""
        return await self._run(self._readers, 1, "BEGIN", work, args)

    async def write(self, work, *args):
        """Runs `work(connection, …)` in a transaction that has the write lock from its begin.

        A call that has begun commits, even if its caller is cancelled or has run into a timeout.
        """
        return await self._run(self._writer, 0, "BEGIN IMMEDIATE", work, args)

    def close(self):
        """Waits for all calls, which blocks the loop, and closes the connection that writes last."""
        self._readers.shutdown()
        self._writer.shutdown()
        for db in reversed(self._open):
            db.close()


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
    database.close()


asyncio.run(main())

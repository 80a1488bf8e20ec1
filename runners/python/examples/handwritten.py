"""The loop that a developer would write for one question, to measure the overhead of the runner.

It uses the same random values from the same generator, in a separate thread like a worker, without a clock around
transactions, without a histogram, and without options.

`handwritten.py DRIVER insert|batch|read DB N SEED [connection]` inserts N rows one by one under autocommit, inserts
N batches of 1000 in transactions, or reads N random rows by rowid. Prints operations per second. With `connection`
it calls `execute` of the connection, which creates a cursor each time, instead of `execute` of one cursor.
"""

import sys
from pathlib import Path
from threading import Thread
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from litelab_runner.generator import Stream, below

INSERT = "INSERT INTO kv(k, v) VALUES (?1, 'value of this row, of some length')"
READ = "SELECT id, k, v FROM kv WHERE id = ?1"


def connect(driver: str, path: str):
    if driver == "sqlite3":
        import sqlite3

        connection = sqlite3.connect(path, isolation_level=None)
    elif driver == "apsw":
        import apsw

        connection = apsw.Connection(path)
    else:
        # `aiosqlite` has no worker threads, which are what this program compares with.
        raise SystemExit(f"no loop for {driver}")
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL"):
        list(connection.execute(f"PRAGMA {pragma}"))
    return connection


def insert(caller, n: int, seed: int, _rows: int) -> None:
    stream, execute = Stream(seed, "insert.k"), caller.execute
    for row in range(n):
        execute(INSERT, (1 + below(stream.word(row), 1_000_000),))


def batch(caller, n: int, seed: int, _rows: int) -> None:
    stream = Stream(seed, "batch.k")
    for at in range(n):
        rows = [(1 + below(stream.word(row), 1_000_000),) for row in range(at * 1000, (at + 1) * 1000)]
        caller.execute("BEGIN IMMEDIATE")
        caller.executemany(INSERT, rows)
        caller.execute("COMMIT")


def read(caller, n: int, seed: int, rows: int) -> None:
    stream, execute = Stream(seed, "read.id"), caller.execute
    for row in range(n):
        for _ in execute(READ, (1 + below(stream.word(row), rows),)):
            pass


def main(driver: str, verb: str, path: str, n: str, seed: str, *style: str) -> None:
    connection = connect(driver, path)
    caller = connection if style else connection.cursor()
    [(rows,)] = caller.execute("SELECT count(*) FROM kv")
    start = perf_counter()
    {"insert": insert, "batch": batch, "read": read}[verb](caller, int(n), int(seed), rows)
    print(f"{int(n) / (perf_counter() - start):.3f}")


if __name__ == "__main__":
    thread = Thread(target=main, args=sys.argv[1:])
    thread.start()
    thread.join()

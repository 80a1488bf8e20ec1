"""The driver `persist-queue`, its SQLiteAckQueue: https://github.com/peter-wangxu/persist-queue

By default it sets WAL and waits up to ten seconds for a lock. A claim is a SELECT followed by an UPDATE in a
separate transaction, under a lock of the library's object: two objects on one file do give the same task to two
workers. Therefore all workers share one object in one process. Opening an object releases every task that was
claimed and not completed, by any object. It has no priorities.

`multithreading` allows use by threads other than the one that opened it; it then has a second connection for writes.
"""

from os.path import basename, dirname
from typing import Any

from persistqueue import Empty, SQLiteAckQueue

from ..connect import chosen
from . import QueueSession, path


class PersistQueue(QueueSession):
    distribution = "persist-queue"
    sharings = ["one-connection"]
    executors = ["threads"]

    def __init__(self, database: dict, connection: dict, _prepare: str = "once", _statements: int = 0):
        options = chosen(connection["options"], {"timeout"})
        file = path(database)
        self.queue = SQLiteAckQueue(
            dirname(file) or ".", db_file_name=basename(file), multithreading=True, **options
        )  # fmt: skip
        # The library has no public names for them.
        self.set_up([self.queue._putter, self.queue._getter], connection["settings"])

    def enqueue(self, payload: Any, _priority: Any) -> None:
        self.queue.put(payload)

    def claim(self) -> tuple[Any, Any] | None:
        try:
            task = self.queue.get(block=False, raw=True)
        except Empty:
            return None
        return task["pqid"], task["data"]

    def complete(self, task: Any) -> None:
        self.queue.ack(id=task)

    def fail(self, task: Any) -> None:
        self.queue.nack(id=task)

    def close(self) -> None:
        self.queue.close()

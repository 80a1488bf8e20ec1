"""The driver `huey`, its SqliteHuey: https://github.com/coleifer/huey

The driver does what the consumer does around a task, without the consumer: `dequeue` removes a task from the table and
creates an object. From then on the task is only in the memory of its worker, so completing it does nothing, and it is
lost if the worker dies. Failing enqueues it again, as the consumer does for a task with retries.

By default it sets WAL and a cache of 8 MB, waits up to five seconds for a lock, and writes in exclusive transactions.
"""

from typing import Any

from huey import SqliteHuey

from ..connect import chosen
from ..driver import Fault
from . import QueueSession, path


class Huey(QueueSession):
    distribution = "huey"

    def __init__(self, database: dict, connection: dict, _prepare: str = "once", _statements: int = 0):
        known = {"cache_mb", "fsync", "journal_mode", "timeout", "strict_fifo"}
        self.huey = SqliteHuey(filename=path(database), **chosen(connection["options"], known))
        self.task = self.huey.task()(handle)
        # Tasks claimed and neither completed nor failed.
        self.claimed: dict[str, Any] = {}
        self.set_up([self.huey.storage.conn], connection["settings"])

    def enqueue(self, payload: Any, priority: Any) -> None:
        self.task(payload, priority=priority)

    def claim(self) -> tuple[Any, Any] | None:
        task = self.huey.dequeue()
        if task is None:
            return None
        self.claimed[task.id] = task
        [payload] = task.args
        return task.id, payload

    def complete(self, task: Any) -> None:
        self.claimed.pop(task, None)

    def fail(self, task: Any) -> None:
        if task not in self.claimed:
            raise Fault(f"no task `{task}` was claimed here and neither completed nor failed")
        self.huey.enqueue(self.claimed[task])
        del self.claimed[task]

    def close(self) -> None:
        self.huey.storage.close()


def handle(payload: Any) -> Any:
    """The function of a task; the worker of the trial does its work."""
    return payload

"""The driver `litequeue`: https://github.com/litements/litequeue

By default it sets WAL, `synchronous = NORMAL`, `temp_store = MEMORY` and a cache of 256 MB. A claim is one UPDATE in
a transaction that takes the write lock first. A task whose worker has died stays locked: the library lists such
tasks, and requires the application to release them. It has no priorities.
"""

from typing import Any

from litequeue import LiteQueue

from ..connect import chosen
from . import QueueSession, path


class Litequeue(QueueSession):
    distribution = "litequeue"

    def __init__(self, database: dict, connection: dict, _prepare: str = "once", _statements: int = 0):
        options = chosen(connection["options"], {"maxsize", "sqlite_cache_size_bytes", "timeout"})
        self.queue = LiteQueue(path(database), **options)
        self.complete, self.fail = self.queue.done, self.queue.retry
        self.set_up([self.queue.conn], connection["settings"])

    def enqueue(self, payload: Any, _priority: Any) -> None:
        self.queue.put(payload)

    def claim(self) -> tuple[Any, Any] | None:
        message = self.queue.pop()
        return message and (message.message_id, message.data)

    def close(self) -> None:
        self.queue.close()

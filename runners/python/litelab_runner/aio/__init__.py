"""Workers as asyncio tasks on one event loop: the executors `inline`, `offload` and `dedicated`.

The modules `stage`, `worker`, `sharing` and `probe` correspond to those of the same name in the parent package.
`loop` is the event loop, and `call` calls blocking drivers from it. Drivers with awaitable calls set
`Session.awaits`.
"""

from asyncio import Lock

from .sharing import Opened
from .stage import Stage

__all__ = ["Lock", "Opened", "Stage"]

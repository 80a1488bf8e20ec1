"""Workers as asyncio tasks on the program's event loop: the executors `inline`, `offload` and `dedicated`.

The modules have the names of those they stand beside: `stage`, `worker`, `access`, `probe`. `loop` is the program's
loop, and `call` how a driver that blocks is called from it. A driver whose own calls are awaited says so
(`Session.awaits`).
"""

from asyncio import Lock

from .access import Opened
from .stage import Stage

__all__ = ["Lock", "Opened", "Stage"]

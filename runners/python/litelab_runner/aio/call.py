"""How a worker on the loop calls a driver: `call(function, *arguments)` is awaited."""

from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from ..driver import Session

Call = Callable[..., Awaitable[Any]]


def caller(executor: str, session: Session, loop: AbstractEventLoop) -> Call:
    if session.awaits:
        return passing
    if executor == "inline":
        return blocking
    # `asyncio.to_thread` is this, and carries context variables along.
    own = ThreadPoolExecutor(max_workers=1) if executor == "dedicated" else None
    return partial(loop.run_in_executor, own)


async def blocking(function: Callable, *arguments: Any) -> Any:
    """On the loop's own thread."""
    return function(*arguments)


def passing(function: Callable[..., Awaitable], *arguments: Any) -> Awaitable[Any]:
    """What the driver has is awaited already."""
    return function(*arguments)

"""Calling a driver from a task: `call(function, *arguments)` is awaited."""

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
    # Equivalent to `asyncio.to_thread`, which also copies context variables.
    own = ThreadPoolExecutor(max_workers=1) if executor == "dedicated" else None
    return partial(loop.run_in_executor, own)


async def blocking(function: Callable, *arguments: Any) -> Any:
    """Calls the function in the thread of the loop."""
    return function(*arguments)


def passing(function: Callable[..., Awaitable], *arguments: Any) -> Awaitable[Any]:
    """Calls a function of the driver that is awaitable itself."""
    return function(*arguments)

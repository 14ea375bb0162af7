"""How a call of the client becomes one that can be awaited. Loads only the standard library."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


def twin(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[Any, P], Awaitable[R]]:
    """The same call for a class whose `sync` is the client: it runs in a thread, so that the event loop never waits."""

    @functools.wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio  # noqa: PLC0415 - it is loaded already where this runs, and costs a hook 30 ms where it does not

        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return call

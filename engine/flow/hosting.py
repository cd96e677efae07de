"""Where subtasks run and how messages travel: in this process. The simulation has its own of both."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from pravega_lab.engine.flow.channels import Deliver


class Running(Protocol):
    """An attempt that was started."""

    async def stop(self) -> None:
        """Cancel it; return when nothing of it runs any more."""


class TaskHost(Protocol):
    """Starts attempts of subtasks."""

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> Running: ...


class _LocalTask:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    async def stop(self) -> None:
        self._task.cancel()
        if not self._task.done():
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # it was reported; asyncio need not say it again


class LocalHost:
    """Tasks of the running loop."""

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> Running:
        return _LocalTask(asyncio.get_running_loop().create_task(coro, name=name))


class LocalWire:
    """Delivers at once (data) or in the loop's next turn (calls); loses nothing."""

    def data(self, lane: str, deliver: Deliver, *args: object) -> None:
        deliver(*args)

    def call(self, lane: str, deliver: Deliver, *args: object, may_be_lost: bool = False) -> None:
        asyncio.get_running_loop().call_soon(deliver, *args)

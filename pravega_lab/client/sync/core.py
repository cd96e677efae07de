"""Define what the synchronous classes share: running calls of the asyncio core, and their client."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pravega_lab.client.loop_thread import Undo, loop_thread
from pravega_lab.client.writing.event_buffer import Added

if TYPE_CHECKING:
    from pravega_lab.client.client import AsyncClient
    from pravega_lab.client.writing.appends import Appends

T = TypeVar("T")


class ClientHandle(Protocol):
    """Describes the `Client` that a stream or table belongs to, as far as these need it."""

    uri: str

    @property
    def _core(self) -> AsyncClient: ...


def refuse(event: object, key: object) -> Added:
    """Take no event, in place of `EventBuffer.add`."""
    return Added.REFUSED


def collect_soon(appends: Appends | None) -> int:
    """Have the loop send what was added, and return 1, the number of events that the call has taken."""
    if appends is not None:
        loop_thread().call_soon(appends.collect)
    return 1


def run(call: Coroutine[Any, Any, T], undo: Undo[T] | None = None) -> T:
    """Run ``call`` on the loop thread of this process and return its result. See `Loop.run`."""
    return loop_thread().run(call, undo)

"""Define what the synchronous classes share: running calls of the asyncio core, and their client."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.writing.event_buffer import Added

if TYPE_CHECKING:
    from pravega_lab.client.client import AsyncClient
    from pravega_lab.client.writing.appends import Appends

T = TypeVar("T")
_REFUSED, _TAKEN = Added.REFUSED, Added.TAKEN


class ClientHandle(Protocol):
    """Describes the `Client` that a stream or table belongs to, as far as these need it."""

    uri: str

    @property
    def _core(self) -> AsyncClient: ...


def single_writes(appends: Appends | None) -> Callable[[object, object], int]:
    """Return a function that takes an event and its key in the caller's thread.

    It returns 1 if the event was taken, and 0 if it has to be written by a call of the loop, as every event
    without ``appends``. It wakes the loop only when the loop has to send what was taken.
    """
    if appends is None:
        return lambda event, key: 0
    add_to_buffer, collect = appends.buffer.add, appends.collect

    def add(event: object, key: object) -> int:
        added = add_to_buffer(event, key)
        if added is _TAKEN:
            return 1
        if added is _REFUSED:
            return 0
        loop_thread().call_soon(collect)
        return 1

    return add


def run(call: Coroutine[Any, Any, T]) -> T:
    """Run ``call`` on the loop thread of this process and return its result."""
    return loop_thread().run(call)

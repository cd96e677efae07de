"""Define what the synchronous classes share: running calls of the asyncio core, and their client."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pravega_lab.client.loop_thread import loop_thread

if TYPE_CHECKING:
    from pravega_lab.client.client import AsyncClient

T = TypeVar("T")


class ClientHandle(Protocol):
    """Describes the `Client` that a stream or table belongs to, as far as these need it."""

    uri: str

    @property
    def _core(self) -> AsyncClient: ...


def run(call: Coroutine[Any, Any, T]) -> T:
    """Run ``call`` on the loop thread of this process and return its result."""
    return loop_thread().run(call)

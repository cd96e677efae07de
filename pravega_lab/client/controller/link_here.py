"""The link to the controller of a store in the same process. See `client.connection.in_process`."""

from __future__ import annotations

from pravega_lab.client.connection import in_process
from pravega_lab.client.controller.link import ControllerCallError


class LinkHere:
    """A `ControllerLink` to the store at an address, as long as it is there."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    async def call(self, method: str, request: bytes) -> bytes:
        """See `ControllerLink.call`."""
        store = in_process.find(self._host, self._port)
        if store is None:
            raise ControllerCallError("UNAVAILABLE", "the store was closed")
        return await store.call(method, request)

    async def close(self) -> None:
        """See `ControllerLink.close`."""


def link_to(host: str, port: int) -> LinkHere | None:
    """Return a link to the store at an address, None if that is not in this process."""
    return None if in_process.find(host, port) is None else LinkHere(host, port)

"""Define how the client talks to a controller: encoded protobuf in, encoded protobuf out.

There are two kinds: `GrpcLink` over a network, and the simulation's link in memory. The code above does not
know which one it uses.
"""

from __future__ import annotations

from typing import Protocol


class ControllerCallError(Exception):
    """Raised when a call failed with a gRPC status.

    ``code_name`` is gRPC's name of the status (``"NOT_FOUND"``, pravega.md D7).
    """

    def __init__(self, code_name: str, details: str) -> None:
        super().__init__(f"{code_name}: {details}")
        self.code_name = code_name
        self.details = details


class ControllerLink(Protocol):
    """Describes a link to one controller. `call` may be cancelled at any time."""

    async def call(self, method: str, request: bytes) -> bytes:
        """Call the rpc ``method`` (``"createScope"``). Raises `ControllerCallError`."""
        ...

    async def close(self) -> None:
        """Close the channel; closing twice is fine."""
        ...

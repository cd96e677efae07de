"""How the client talks to a controller: encoded protobuf in, encoded protobuf out.

Two kinds exist: `GrpcLink` over a network, and the simulation's, in memory. Nothing above knows which.
"""

from __future__ import annotations

from typing import Protocol


class ControllerCallError(Exception):
    """The call failed with a gRPC status; ``code_name`` as gRPC spells it (``"NOT_FOUND"``, D7)."""

    def __init__(self, code_name: str, details: str) -> None:
        super().__init__(f"{code_name}: {details}")
        self.code_name = code_name
        self.details = details


class ControllerLink(Protocol):
    """One controller. ``call`` may be cancelled at any time."""

    async def call(self, method: str, request: bytes) -> bytes:
        """Call the rpc ``method`` (``"createScope"``). Raises `ControllerCallError`."""
        ...

    async def close(self) -> None:
        """Close the channel; closing twice is fine."""
        ...

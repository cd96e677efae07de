"""`AsyncClient`: scopes, streams and tables of one store, on the caller's event loop."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.link import ControllerLink
from pravega_lab.client.values import RetentionPolicy, ScalingPolicy

if TYPE_CHECKING:
    from pravega_lab.client.stream import AsyncStream
    from pravega_lab.client.table import AsyncTable


class AsyncClient:
    """See `face.Client` for what each call does.

    Args:
        uri: ``tcp://host:port`` of a controller.
        retry_for_s: As in `face.connect`.
        link: Takes the place of the gRPC channel to ``uri``.
        chance: Where writer ids, routes of keyless events and pauses between retries come from.
    """

    def __init__(
        self,
        uri: str,
        *,
        retry_for_s: float = 30.0,
        link: ControllerLink | None = None,
        chance: Random | None = None,
    ) -> None:
        self.uri = uri

    async def list_scopes(self) -> list[str]:
        raise NotImplementedError

    async def create_scope(self, scope: str) -> bool:
        raise NotImplementedError

    async def delete_scope(self, scope: str) -> bool:
        raise NotImplementedError

    async def list_streams(self, scope: str, tag: str | None = None) -> list[str]:
        raise NotImplementedError

    async def create_stream(
        self,
        scoped_name: str,
        *,
        scaling: ScalingPolicy = ScalingPolicy.fixed(1),
        retention: RetentionPolicy = RetentionPolicy.none(),
        tags: Sequence[str] = (),
        create_scope: bool = True,
    ) -> AsyncStream:
        raise NotImplementedError

    def stream(self, scoped_name: str) -> AsyncStream:
        raise NotImplementedError

    def table(self, scoped_name: str) -> AsyncTable:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

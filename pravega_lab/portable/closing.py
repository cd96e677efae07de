"""What a ``with`` block or an ``async with`` block closes at its end."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import Protocol, Self


class _Closable(Protocol):
    def close(self) -> object: ...


class _AsyncClosable(Protocol):
    def close(self) -> Awaitable[object]: ...


class ClosedByWith:
    """Has `close` called at the end of a ``with`` block."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self: _Closable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ClosedByAsyncWith:
    """Has `close` called at the end of an ``async with`` block."""

    __slots__ = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self: _AsyncClosable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

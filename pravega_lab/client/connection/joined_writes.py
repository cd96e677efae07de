"""Write small pieces of one turn of the loop together: a call of the system takes longer than a piece."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable


class JoinedWrites:
    """Is in front of a transport and keeps the order of what is written."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes | memoryview] = []

    def write(self, data: bytes | memoryview) -> None:
        """Write at once, without a copy, after all that was written before."""
        self.flush()
        self._transport.write(data)

    def writelines(self, parts: Iterable[bytes | memoryview]) -> None:
        """Write small pieces at the end of this turn of the loop."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts += parts

    def abort(self) -> None:
        """Close at once."""
        self._parts.clear()
        self._transport.abort()

    def flush(self) -> None:
        """Write what waits for the end of the turn, for a caller that waits for the reply."""
        if self._parts:
            parts, self._parts = self._parts, []
            if not self._transport.is_closing():  # uvloop's raises after the connection was lost
                self._transport.write(b"".join(parts))

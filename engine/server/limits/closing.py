"""Close a connection whose client may take nothing any more."""

from __future__ import annotations

import asyncio
import contextlib


async def close_within(writer: asyncio.StreamWriter, limit_s: float) -> None:
    """Close a connection when its client has taken everything, and after ``limit_s`` in any case."""
    writer.close()
    with contextlib.suppress(OSError):
        async with asyncio.timeout(limit_s):
            await writer.wait_closed()
    writer.transport.abort()

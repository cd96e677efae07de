"""Small pieces that are written together at the end of a turn of the loop."""

from __future__ import annotations

import asyncio
from typing import Any

from pravega_lab.client.connection.joined_writes import JoinedWrites
from pravega_lab.client.loop_thread import new_loop


def test_pieces_that_wait_when_the_connection_ends_are_dropped() -> None:
    problems: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
        writes = JoinedWrites(transport, loop)
        transport.abort()  # the connection is lost in the next turn, before the pieces are written
        writes.writelines([b"piece"])
        await asyncio.sleep(0.01)
        server.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
    assert problems == []

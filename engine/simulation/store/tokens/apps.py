"""`Thief`: uses tokens for what they do not allow, and after their time, as no client does."""

from __future__ import annotations

import asyncio
import struct
from uuid import UUID

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.connection.connection import WIRE_VERSION, WIRE_VERSION_OLDEST
from pravega_lab.protocol.names import segment_name, split_scoped_name
from pravega_lab.protocol.wire.codec import decode, encode
from pravega_lab.protocol.wire.commands import (
    AppendBlockEnd,
    Command,
    GetStreamSegmentInfo,
    Hello,
    KeepAlive,
    SetupAppend,
)

from ....store.security.permissions import Permission, of_stream
from ....store.security.tokens import issue
from ..apps import STREAM, App, Surroundings
from ..history import KEYLESS
from ..store_process import HOST, PORT, WALL_START_MS
from .users import TTL_S

OTHER = f"{STREAM}er/0.#epoch.0"
"""A segment of another stream, whose name begins with the name of the stream."""
REPLY_S = 20.0
USES = ("read", "append", "append", "read token writes", "other stream", "forged")


class Thief(App):
    """Requests a token, waits, and uses it: rightfully or not, and in time or not."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds
        self.count = 0

    async def live(self, client: AsyncClient) -> None:
        while self.rounds:
            self.rounds -= 1
            self.count += 1
            use = self.chance.choice(USES)
            self.log("token-asked", n=self.count)
            token = await client._controller.delegation_token(STREAM, use != "read token writes")
            self.log("token", n=self.count, ttl_s=TTL_S)
            if use == "forged":
                token = self.forge()
            segments = await client.stream(STREAM).segments()
            segment = segment_name(*split_scoped_name(STREAM), segments[0].segment_id) if segments else OTHER
            try:
                await self.use(use, token, OTHER if use == "other stream" else segment)
            except (OSError, EOFError, TimeoutError):
                self.log("token-lost", n=self.count)

    def forge(self) -> str:
        """Return a token that another key signed."""
        now_ms = WALL_START_MS + self.world.loop.now_us // 1000
        return issue(b"f" * 64, of_stream(*split_scoped_name(STREAM)), Permission.READ_UPDATE, now_ms)

    async def use(self, use: str, token: str, segment: str) -> None:
        """Send the request, now or after the token has expired, and note the reply."""
        wait_s = self.chance.choice((0.0, TTL_S - 3.0, TTL_S + 3.0))
        rightful = use in ("read", "append")
        writer_id = UUID(int=self.chance.getrandbits(128))
        if use != "append":
            await asyncio.sleep(wait_s)
        reader, writer = await asyncio.open_connection(HOST, PORT)
        try:
            writer.write(encode(Hello(WIRE_VERSION, WIRE_VERSION_OLDEST)))
            await self.reply(reader)
            request: Command = GetStreamSegmentInfo(1, segment, token)
            if use == "append":
                writer.write(encode(SetupAppend(1, writer_id, segment, token)))
                if type(await self.reply(reader)).__name__ != "AppendSetup":
                    return  # the segment is sealed
                event = self.event(f"{self.who}-{self.count}", KEYLESS, 0)
                request = self.append(writer_id, event)
                await asyncio.sleep(wait_s)
            elif use == "read token writes":
                request = SetupAppend(1, writer_id, segment, token)
            if use == "append":
                self.log("write", key=KEYLESS, events=[event])
            self.log("token-used", n=self.count, use=use, rightful=rightful)
            writer.write(encode(request))
            try:
                found = type(await self.reply(reader)).__name__
            except (OSError, EOFError):
                found = "closed"
            self.log("token-reply", n=self.count, reply=found)
        finally:
            writer.close()

    def append(self, writer_id: UUID, event: str) -> Command:
        """Return the request that appends one event."""
        data = struct.pack(">ii", 0, len(event)) + event.encode()
        return AppendBlockEnd(writer_id, len(data), data, 1, 1, 2)

    async def reply(self, reader: asyncio.StreamReader) -> Command:
        """Return the next reply that is no sign of life."""
        while True:
            async with asyncio.timeout(REPLY_S):
                code, length = struct.unpack(">ii", await reader.readexactly(8))
                found = decode(code, await reader.readexactly(length))
            if not isinstance(found, KeepAlive):
                return found

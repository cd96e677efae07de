"""The readers of a simulated world: they follow a stream, read segments, read to the tail, or truncate."""

from __future__ import annotations

from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import HEAD, TAIL
from pravega_lab.errors import BadInputError, TruncatedDataError
from pravega_lab.protocol.stream_cut import StreamCut

from .apps import STREAM, App, Surroundings


class Follower(App):
    """Follows the stream to its end. A later life resumes at the last saved position."""

    def __init__(self, world: Surroundings, name: str) -> None:
        super().__init__(world, name)
        self.position: StreamCut | None = None

    async def live(self, client: AsyncClient) -> None:
        await self.begin(client)
        try:
            await self.read_on(client)
        except TruncatedDataError as error:
            self.log("read-truncated")
            self.position = error.resume_at if isinstance(error.resume_at, StreamCut) else None
            raise
        self.log("read-all")

    async def begin(self, client: AsyncClient) -> None:
        """Log where this life begins. With truncation, that is the current head for the first life."""
        if self.position is None and self.world.may_be_truncated:
            self.position = await client.stream(STREAM).head()
        self.log("reading", positions=None if self.position is None else written(self.position))

    async def read_on(self, client: AsyncClient) -> None:
        start = self.position or HEAD
        async with client.stream(STREAM).follow(start, batch_bytes=self.bytes_max()) as batches:
            while not batches.ended:
                batch = await batches.next_batch(timeout_s=5.0)
                if batch is not None:
                    self.show(batch)
                    await self.save(client, batches.position())

    def bytes_max(self) -> int:
        return self.chance.choice((1, 100, 100_000))

    def show(self, batch: Any) -> None:
        columns = [batch.column(n).to_pylist() for n in range(3)]
        for event, segment, offset in zip(*columns, strict=True):
            self.log("read", segment=segment, offset=offset, event=event.decode())

    async def save(self, client: AsyncClient, position: StreamCut) -> None:
        if self.chance.random() < 0.3:
            self.position = position


class Truncator(Follower):
    """Truncates the stream at its position, so everything that it truncates was read."""

    async def save(self, client: AsyncClient, position: StreamCut) -> None:
        self.position = position
        if self.chance.random() < 0.2:
            self.log("truncate", positions=written(position))
            try:
                await client.stream(STREAM).truncate(position)
            except BadInputError:  # requested twice, because the first reply was lost
                self.log("truncate-refused")


class SegmentReader(Follower):
    """Reads the available segments in a random order."""

    async def read_on(self, client: AsyncClient) -> None:
        async with client.stream(STREAM).segment_reader(self.position or HEAD) as reader:
            while not reader.ended:
                segment = self.chance.choice(reader.available())
                batch = await reader.read(segment, max_bytes=self.bytes_max(), timeout_s=0.1)
                if batch is not None:
                    self.show(batch)
                    await self.save(client, reader.position())


class BoundedReader(Follower):
    """Reads from the head to the tail of that time, several times."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        while self.rounds:
            self.rounds -= 1
            await self.pause(1500)
            self.lives += 1  # each read counts as a separate life for the checkers
            self.position = None
            await self.begin(client)
            start = self.position or HEAD
            async with client.stream(STREAM).read(start, TAIL, batch_bytes=self.bytes_max()) as batches:
                async for batch in batches:
                    self.show(batch)
            self.log("read-to-tail")


def written(position: StreamCut) -> dict[str, int]:
    """Return a position in the form of the journal."""
    return {str(segment): offset for segment, offset in sorted(position.positions.items())}

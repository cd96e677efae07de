"""The readers of a simulated world: of all that comes, of segments, of what is there; one truncates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import HEAD, TAIL
from pravega_lab.engine.simulation.apps import STREAM, App
from pravega_lab.errors import BadInputError, TruncatedDataError
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pravega_lab.engine.simulation.world import World


class Follower(App):
    """Follows the stream to its end; a later life goes on where the last saved position was."""

    def __init__(self, world: World, name: str) -> None:
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
        """Write down where this life begins; the head moves when somebody truncates."""
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
    """Truncates behind itself: what it truncates it has read."""

    async def save(self, client: AsyncClient, position: StreamCut) -> None:
        self.position = position
        if self.chance.random() < 0.2:
            self.log("truncate", positions=written(position))
            try:
                await client.stream(STREAM).truncate(position)
            except BadInputError:  # asked twice, for the answer to the first was lost
                self.log("truncate-refused")


class SegmentReader(Follower):
    """Reads whatever segments are offered, in an order of its own."""

    async def read_on(self, client: AsyncClient) -> None:
        async with client.stream(STREAM).segment_reader(self.position or HEAD) as reader:
            while not reader.ended:
                segment = self.chance.choice(reader.available())
                batch = await reader.read(segment, max_bytes=self.bytes_max(), timeout_s=0.1)
                if batch is not None:
                    self.show(batch)
                    await self.save(client, reader.position())


class BoundedReader(Follower):
    """Reads from the head to the tail of the moment, several times."""

    def __init__(self, world: World, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        while self.rounds:
            self.rounds -= 1
            await self.pause(1500)
            self.lives += 1  # each read is a life of its own for the checkers
            self.position = None
            await self.begin(client)
            start = self.position or HEAD
            async with client.stream(STREAM).read(start, TAIL, batch_bytes=self.bytes_max()) as batches:
                async for batch in batches:
                    self.show(batch)
            self.log("read-to-tail")


def written(position: StreamCut) -> dict[str, int]:
    """A position as the journal has it."""
    return {str(segment): offset for segment, offset in sorted(position.positions.items())}

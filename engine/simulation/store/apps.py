"""The applications of a simulated world: writers, transactions, scalers, users of a table, vandals.

Each is a process that may be killed at any step and started again. Its object keeps the state that survives
from one life to the next. Applications use the asyncio client as any program does. They write their requests
and the replies into the journal, and nothing else.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import NOT_EXISTS, TransactionState
from pravega_lab.client.writing.event_buffer import Added
from pravega_lab.errors import (
    ConditionFailedError,
    Definite,
    PravegaError,
    ScaleRefusedError,
    StreamSealedError,
    TransactionFailedError,
)
from pravega_lab.protocol.names import segment_name
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.commands import (
    AppendBlockEnd,
    Command,
    Hello,
    KeepAlive,
    ReadSegment,
    SealSegment,
    SetupAppend,
)

from ..kernel.journal import Journal
from ..kernel.loop import SimulationLoop
from .history import KEYLESS
from .store_process import HOST, PORT

if TYPE_CHECKING:
    from pravega_lab.client.stream import AsyncStream
    from pravega_lab.client.writing.transaction import AsyncTransaction
    from pravega_lab.client.writing.writer import AsyncEventWriter

STREAM, TABLE, TABLE_KEY = "sim/stream", "sim/register", b"counter"
KEYS = ("a", "b", "c", "d", "e")


class Surroundings(Protocol):
    """The part of the world that its applications need."""

    loop: SimulationLoop
    journal: Journal
    may_be_truncated: bool

    def client(self, who: str) -> AsyncClient:
        """Return a client with a link and a random generator of its own."""


class App:
    """One application. Subclasses implement `live`, which may be killed at any step."""

    def __init__(self, world: Surroundings, name: str) -> None:
        self.world = world
        self.name = name
        self.lives = 0
        self.is_done = False
        self.chance = world.loop.random(name)
        self.rounds = 0  # rounds of work that are left, of an application that works in rounds

    @property
    def who(self) -> str:
        """The name of this life in the journal."""
        return f"{self.name}.{self.lives}"

    def log(self, what: str, **about: Any) -> None:
        """Append a line of this life to the journal."""
        self.world.journal.add(self.who, what, **about)

    async def run(self) -> None:
        """Run one life: connect, live, close. Errors of the store end it, and the world starts
        the next life.
        """
        self.lives += 1
        client = self.world.client(self.who)
        try:
            async with client:
                await self.live(client)
            self.is_done = True
        except StreamSealedError:
            self.is_done = True
        except PravegaError as error:
            self.log("failed", error=type(error).__name__)
            await self.pause(500)

    async def live(self, client: AsyncClient) -> None:
        """Do the work of one life."""
        raise NotImplementedError

    async def pause(self, ms_max: int) -> None:
        """Sleep for a drawn time of at most ``ms_max`` ms."""
        await asyncio.sleep(self.chance.randint(0, 1000 * ms_max) / 1_000_000)

    def event(self, source: str, key: str, n: int) -> str:
        """Return the payload of an event, which is its identity. The padding varies its size."""
        return f"{source}|{key}|{n}|{'x' * self.chance.choice((0, 5, 40))}"


class Writer(App):
    """Writes events, some of them without key, and flushes sometimes."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        source, counts, waiting = self.who, dict.fromkeys((*KEYS, KEYLESS), 0), []
        async with client.stream(STREAM).writer() as writer:
            while self.rounds:
                self.rounds -= 1
                key = self.chance.choice((*KEYS, *KEYS, KEYLESS))
                events = [
                    self.event(source, key, counts[key] + n) for n in range(self.chance.choice((1, 1, 3)))
                ]
                counts[key] += len(events)
                self.log("write", key=key, events=events)
                await writer.write(events, None if key == KEYLESS else key)
                waiting += events
                await self.pause(self.chance.choice((0, 5, 100)))
                if self.chance.random() < 0.3:
                    waiting, flushing = [], waiting
                    await writer.flush()
                    self.log("acked", events=flushing)
                    await self.flushed(writer)
            await writer.flush()
            self.log("acked", events=waiting)

    async def flushed(self, writer: AsyncEventWriter) -> None:
        """Act between two writes, when no event is in transit."""


class SingleWriter(Writer):
    """Adds single events as a thread beside the loop does: the loop learns of them some time later."""

    async def live(self, client: AsyncClient) -> None:
        source, counts, waiting = self.who, dict.fromkeys((*KEYS, KEYLESS), 0), []
        async with client.stream(STREAM).writer() as writer:
            while self.rounds:
                self.rounds -= 1
                for _ in range(self.chance.choice((1, 1, 5, 50))):
                    key = self.chance.choice((*KEYS, *KEYS, KEYLESS))
                    event = self.event(source, key, counts[key])
                    counts[key] += 1
                    self.log("write", key=key, events=[event])
                    await self.add(writer, event, None if key == KEYLESS else key)
                    waiting.append(event)
                await self.pause(self.chance.choice((0, 5, 100)))
                if self.chance.random() < 0.3:
                    waiting, flushing = [], waiting
                    await writer.flush()
                    self.log("acked", events=flushing)
            await writer.flush()
            self.log("acked", events=waiting)

    async def add(self, writer: AsyncEventWriter, event: str, key: str | None) -> None:
        """Write one event as the synchronous writer does, or sometimes as a list."""
        appends = writer.appends
        if self.chance.random() < 0.05:
            await writer.write([event], key)
            return
        added = appends.buffer.add(event, key)
        if added is Added.REFUSED:
            await writer.write(event, key)
        elif added is Added.WANTED:
            late_us = self.chance.choice((0, 5_000, 100_000))
            self.world.loop.call_later(late_us / 1_000_000, appends.collect)


class Transactions(App):
    """Begins, writes, commits, aborts or abandons transactions. A later life ends those of an earlier one."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds
        self.count = 0
        # transactions that have not ended: id, and whether all events are durable
        self.begun: dict[str, tuple[UUID, bool]] = {}

    async def live(self, client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        for name, (txn_id, is_whole) in list(self.begun.items()):
            await self.end(name, stream.transaction(txn_id), commit=is_whole)
        while self.rounds:
            self.rounds -= 1
            begun = [await self.begin(stream) for _ in range(self.chance.choice((1, 1, 2)))]
            await self.pause(self.chance.choice((5, 400)))
            for name, txn in begun:
                if self.chance.random() < 0.9:
                    await self.end(name, txn, commit=self.chance.random() < 0.8)
                else:
                    await txn.close()
            await self.pause(100)

    async def begin(self, stream: AsyncStream) -> tuple[str, AsyncTransaction]:
        txn = await stream.begin_transaction(self.chance.choice((10_000, 600_000)))
        self.count += 1
        name = f"{self.name}-{self.count}"
        self.log("txn-begin", txn=name, id=str(txn.txn_id))
        self.begun[name] = (txn.txn_id, False)
        counts = dict.fromkeys((*KEYS, KEYLESS), 0)
        for _ in range(self.chance.randint(1, 4)):
            key = self.chance.choice((*KEYS, *KEYS, KEYLESS))
            events = [self.event(name, key, counts[key] + n) for n in range(self.chance.choice((1, 2)))]
            counts[key] += len(events)
            self.log("txn-write", txn=name, key=key, events=events)
            try:
                await txn.write(events, None if key == KEYLESS else key)
            except TransactionFailedError:
                break  # `end` finds out its state
            await self.pause(self.chance.choice((0, 20)))
        return name, txn

    async def end(self, name: str, txn: AsyncTransaction, *, commit: bool) -> None:
        try:
            if commit:
                await self.commit(name, txn)
            else:
                await txn.abort()
                self.log("txn-aborted", txn=name)
        except TransactionFailedError:
            if await txn.state() is TransactionState.ABORTED:
                self.log("txn-aborted", txn=name)
            await txn.close()
        self.begun.pop(name)

    async def commit(self, name: str, txn: AsyncTransaction) -> None:
        await txn.flush()  # no effect if an earlier life wrote: that life has flushed
        self.begun[name] = (txn.txn_id, True)
        self.log("txn-commit", txn=name)
        await txn.commit()
        self.log("txn-committing", txn=name)
        if self.chance.random() < 0.5:
            await txn.wait_until(TransactionState.COMMITTED)
            self.log("txn-committed", txn=name)


class Vandal(App):
    """Sends what no client should send, and disconnects. Other applications must not notice."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        while self.rounds:
            self.rounds -= 1
            await self.pause(300)
            try:
                _, writer = await asyncio.open_connection(HOST, PORT)
            except OSError:
                continue
            for _ in range(self.chance.randint(1, 4)):
                writer.write(self.draw_bytes())
            await self.pause(20)
            writer.close()

    def draw_bytes(self) -> bytes:
        """Return random bytes, half a frame, or a whole frame that makes no sense here."""
        frame = encode(self.draw_command())
        half = frame[: self.chance.randrange(len(frame))]
        return self.chance.choice((frame, frame, half, self.chance.randbytes(20)))

    def draw_command(self) -> Command:
        chance = self.chance
        segment = segment_name("sim", "stream", chance.choice((0, 1, 1 << 32)))
        writer_id = UUID(int=chance.getrandbits(128))
        commands: tuple[Command, ...] = (
            Hello(chance.randint(0, 99), chance.randint(0, 99)),
            ReadSegment(segment, chance.randint(-9, 10_000), chance.randint(-9, 10_000), "", 1),
            SetupAppend(1, writer_id, segment + chance.choice(("", "x")), ""),
            AppendBlockEnd(writer_id, 0, b"", chance.choice((0, 1)), 1, 1),
            SealSegment(1, "sim/nothing/0.#epoch.0", ""),
            KeepAlive(),
        )
        return chance.choice(commands)


class Scaler(App):
    """Splits and merges segments, and moves their bounds."""

    def __init__(self, world: Surroundings, name: str, rounds: int, stream: str = STREAM) -> None:
        super().__init__(world, name)
        self.rounds = rounds
        self.stream = stream

    async def live(self, client: AsyncClient) -> None:
        stream = client.stream(self.stream)
        while self.rounds:
            self.rounds -= 1
            await self.pause(800)
            segments = await stream.segments()
            if not segments:
                return
            first = self.chance.randrange(len(segments))
            last = min(len(segments), first + self.chance.choice((1, 2, 2, 3)))
            replaced = segments[first:last]
            parts = self.chance.choice((1, 2, 3)) if len(replaced) < 3 else 1
            low, high = replaced[0].low, replaced[-1].high
            inner = sorted(
                low + (high - low) * self.chance.choice((0.25, 0.5, 0.3)) for _ in range(parts - 1)
            )
            bounds = list(dict.fromkeys((low, *inner, high)))
            ranges = list(pairwise(bounds))
            self.log("scale", seal=[s.segment_id for s in replaced], ranges=ranges)
            try:
                new = await stream.scale([s.segment_id for s in replaced], ranges)
            except ScaleRefusedError:
                self.log("scale-refused")
            else:
                self.log("scaled", segments=[s.segment_id for s in new])


class TableUser(App):
    """Counts in a register by compare-and-set, concurrently with others."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        table, n = client.table(TABLE), 0
        while self.rounds:
            self.rounds -= 1
            n += 1
            self.log("table-get", op=f"get-{self.who}-{n}")
            found = await table.get(TABLE_KEY)
            version = found.version if found else NOT_EXISTS
            value = found.value.decode() if found else None
            self.log("table-got", op=f"get-{self.who}-{n}", value=value, version=version)
            await self.pause(30)
            op = f"put-{self.who}-{n}"
            self.log("table-put", op=op, value=op, expected=version)
            try:
                self.log("table-put-ok", op=op, version=await table.put(TABLE_KEY, op.encode(), version))
            except ConditionFailedError as error:
                if error.definite is Definite.NO:
                    self.log("table-put-refused", op=op)
            await self.pause(200)

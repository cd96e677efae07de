"""One connection without a network: what a slow peer, a slow disk and a full house make it do."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator
from uuid import UUID

import pytest

from pravega_lab.engine.server import reads
from pravega_lab.engine.server.connection import SegmentStoreProtocol
from pravega_lab.engine.server.limits.limits import Limits
from pravega_lab.engine.server.segment_store import SegmentStore
from pravega_lab.engine.store.errors import StoreFull
from pravega_lab.engine.store.log.disk import MemoryDisk
from pravega_lab.engine.store.log.format import OPERATION_OVERHEAD_BYTES
from pravega_lab.engine.store.log.operations import Append, CreateSegment, Delete, Seal, Truncate
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.storage import WORK_BYTES
from pravega_lab.errors import CorruptStoreError
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder

SEGMENT, WRITER = "scope/stream/0.#epoch.0", UUID(int=1)
MIB = 1 << 20
UNHURRIED = Limits(turn_ms=60_000)  # turns end by number, as a test may be slow


class Transport(asyncio.Transport):
    """Keeps what is written; with ``reads=False`` its peer takes nothing, and a buffer of 64 KiB says so."""

    def __init__(self, protocol: SegmentStoreProtocol, reads: bool = True) -> None:
        super().__init__()
        self.protocol = protocol
        self.reads = reads
        self.written = b""
        self.decoder = FrameDecoder()
        self.is_reading = True
        self.is_closed = False
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:  # type: ignore[type-arg]
        self.written += data
        if not self.reads and len(self.written) > 65536:
            self.protocol.pause_writing()

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default


class House:
    """A store in memory whose groups are synced when the test says so."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits | None = None) -> None:
        self.loop = loop
        self.disk = MemoryDisk()
        self.storage = open_storage(self.disk)
        self.front = SegmentStore(self.storage, loop, lambda: 0, lambda: UUID(int=2), limits or UNHURRIED)

    def connect(self, reads: bool = True) -> Transport:
        return Transport(SegmentStoreProtocol(self.front), reads)

    def sync(self) -> None:
        """All that was submitted goes to the disk; then everybody's replies are written."""
        while (file := self.storage.file_wanted()) is not None:
            self.loop.run_until_complete(self.disk.create(file.name, file.size, file.header))
            self.storage.file_created(file)
        while (group := self.storage.take_group()) is not None:
            if group.data:
                self.loop.run_until_complete(self.disk.write_group(group.file, group.offset, group.data))
            self.storage.group_synced(group)
        self.turn()

    def turn(self) -> None:
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.run_until_complete(asyncio.sleep(0))

    def filled(self, size_bytes: int) -> None:
        self.storage.submit([CreateSegment(SEGMENT), Append(SEGMENT, b"x" * size_bytes)], now_ms=1)
        self.sync()


@pytest.fixture
def house() -> Iterator[House]:
    loop = asyncio.new_event_loop()
    yield House(loop)
    loop.close()


def replies(transport: Transport) -> list[c.Command]:
    """What was written since the last time."""
    data, transport.written = transport.written, b""
    return transport.decoder.feed(data)


def send(transport: Transport, *commands: c.Command) -> None:
    transport.protocol.data_received(b"".join(map(encode, commands)))


def read_at(offset: int, request_id: int = 1) -> c.ReadSegment:
    return c.ReadSegment(SEGMENT, offset, 8 * MIB, "", request_id)


def append(number: int, size_bytes: int = 10) -> c.AppendBlockEnd:
    return c.AppendBlockEnd(WRITER, 0, b"y" * size_bytes, 1, number, number)


def test_a_peer_that_does_not_read_is_not_read_from(house: House) -> None:
    house.filled(2 * MIB)
    transport = house.connect(reads=False)
    send(transport, *(read_at(0, number) for number in range(100)))
    house.turn()
    assert len(transport.written) < 5 * MIB
    assert not transport.is_reading
    served = 0
    while not transport.is_reading:
        served += len(replies(transport))
        transport.protocol.resume_writing()
        house.turn()
        assert len(transport.written) < 5 * MIB
    assert served + len(replies(transport)) == 100


def test_nothing_is_written_while_a_transport_lets_the_connection_resume(house: House) -> None:
    """In asyncio, a write that fails then ends the connection twice."""
    house.filled(2 * MIB)
    transport = house.connect(reads=False)
    send(transport, *(read_at(0, number) for number in range(3)))
    house.turn()
    before = len(transport.written)
    transport.protocol.resume_writing()
    assert len(transport.written) == before
    house.turn()
    assert len(transport.written) > before


def test_held_reads_of_a_peer_that_does_not_read_wait_as_requests(house: House) -> None:
    house.filled(2 * MIB)
    transport = house.connect(reads=False)
    send(transport, *(read_at(2 * MIB, number) for number in range(50)), read_at(0, 99))
    house.turn()
    house.storage.submit([Append(SEGMENT, b"z" * MIB)], now_ms=2)
    house.sync()
    assert len(transport.written) < 5 * MIB
    answered = len(replies(transport))
    while answered < 51:
        transport.protocol.resume_writing()
        house.turn()
        assert len(transport.written) < 5 * MIB
        answered += len(replies(transport))
    assert house.front.connections


def test_appends_faster_than_the_disk_wait_in_the_peer(house: House) -> None:
    house = House(
        house.loop,
        dataclasses.replace(UNHURRIED, unsynced_bytes=3 * (300 + OPERATION_OVERHEAD_BYTES + WORK_BYTES)),
    )
    house.filled(0)
    transport = house.connect()
    send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""))
    send(transport, *(append(number, 300) for number in range(1, 4)))
    assert transport.is_reading
    send(transport, append(4, 300))
    assert not transport.is_reading
    send(transport, *(append(number, 300) for number in range(5, 8)))  # was on its way already
    assert house.front.storage.info(SEGMENT).length == 0
    house.sync()
    house.sync()
    assert transport.is_reading
    acks = [reply for reply in replies(transport) if isinstance(reply, c.DataAppended)]
    assert acks[-1].event_number == 7
    assert house.storage.info(SEGMENT).length == 7 * 300


def test_many_blocks_in_one_piece_are_one_group_and_one_reply(house: House) -> None:
    house.filled(0)
    transport = house.connect()
    send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""))
    house.sync()
    replies(transport)
    send(transport, *(append(number, 1) for number in range(1, 501)))
    assert replies(transport) == []
    house.sync()
    assert replies(transport) == [c.DataAppended(WRITER, 500, c.NO_EVENT_NUMBER, 500, 500)]


def test_nothing_is_told_before_it_is_synced(house: House) -> None:
    """Neither an acknowledgement, nor a refusal that rests on what is not on disk yet."""
    house.filled(0)
    transport = house.connect()
    send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""), append(1))
    house.storage.submit([Seal(SEGMENT)], now_ms=2)
    send(transport, append(2), c.SealSegment(7, SEGMENT, ""))
    house.turn()
    assert [type(reply) for reply in replies(transport)] == [c.AppendSetup]
    house.sync()
    sealed = [c.SegmentIsSealed(2, SEGMENT, "", 2), c.SegmentIsSealed(7, SEGMENT, "", -1)]
    assert replies(transport) == [c.DataAppended(WRITER, 1, c.NO_EVENT_NUMBER, 1, 10), *sealed]


def test_a_held_read_is_freed_with_its_connection(house: House) -> None:
    house.filled(0)
    transport = house.connect()
    send(transport, *(read_at(0, number) for number in range(10)))
    assert transport.protocol.reads.held_count == 10
    transport.protocol.connection_lost(None)
    assert house.front.held_reads == 0
    assert not house.front.connections
    house.storage.submit([Append(SEGMENT, b"z")], now_ms=2)
    house.sync()
    assert transport.written == b""


def test_a_held_read_learns_of_a_truncation_past_it(house: House) -> None:
    house.filled(100)
    transport = house.connect()
    send(transport, read_at(100))
    operations = [Append(SEGMENT, b"z" * 50), Truncate(SEGMENT, 120)]
    house.storage.submit(operations, now_ms=2)
    house.sync()
    assert replies(transport) == [c.SegmentIsTruncated(1, SEGMENT, 120, "", 100)]


def test_a_held_read_gets_the_data_that_came_with_the_seal(house: House) -> None:
    house.filled(0)
    transport = house.connect()
    send(transport, read_at(0))
    house.storage.submit([Append(SEGMENT, b"last"), Seal(SEGMENT)], now_ms=2)
    house.sync()
    assert replies(transport) == [c.SegmentRead(SEGMENT, 0, False, True, b"last", 1)]


def test_a_read_held_beyond_the_end_when_the_segment_is_sealed(house: House) -> None:
    house.filled(10)
    transport = house.connect()
    send(transport, read_at(500))
    house.storage.submit([Seal(SEGMENT)], now_ms=2)
    house.sync()
    assert replies(transport) == [c.SegmentIsSealed(1, SEGMENT, "", 500)]


def test_too_many_held_reads_are_answered_empty(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "HELD_READS_MAX", 3)
    house.filled(0)
    transport = house.connect()
    send(transport, *(read_at(0, number) for number in range(5)))
    house.turn()
    empty = [c.SegmentRead(SEGMENT, 0, True, False, b"", number) for number in (3, 4)]
    assert replies(transport) == empty
    assert transport.protocol.reads.held_count == 3


def test_the_held_reads_are_told_that_the_server_stops(house: House) -> None:
    house.filled(0)
    transport = house.connect()
    send(transport, read_at(0, 7))
    house.front.answer_held_reads()
    house.turn()
    assert replies(transport) == [c.SegmentRead(SEGMENT, 0, True, False, b"", 7)]


def test_a_read_of_damaged_bytes_is_refused_in_words(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection was cut without a word, and the client tried again for half a minute."""
    house.filled(100)

    def read(*_: object) -> bytes:
        raise CorruptStoreError("The log file 'log-000000000001' is damaged at offset 512")

    transport = house.connect()
    monkeypatch.setattr(house.storage._files, "read", read)
    send(transport, read_at(0, 7))
    house.turn()
    monkeypatch.undo()
    send(transport, read_at(0, 8))
    house.turn()
    refused, answered = replies(transport)
    assert isinstance(refused, c.ErrorMessage)
    assert (refused.request_id, "damaged at offset 512" in refused.message) == (7, True)
    assert isinstance(answered, c.SegmentRead)


def test_a_full_disk_is_named_by_a_code_and_not_only_in_words(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.filled(0)
    transport = house.connect()
    send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""))
    house.sync()

    def submit(*_: object, **__: object) -> None:
        raise StoreFull("Kein Platz auf dem Datenträger.")

    monkeypatch.setattr(house.storage, "submit", submit)
    send(transport, append(1), c.CreateSegment(2, "scope/stream/1.#epoch.0", 0, 0, "", 0))
    monkeypatch.undo()
    house.sync()
    _, refused = replies(transport)
    assert refused == c.ErrorMessage(1, "", "Kein Platz auf dem Datenträger.", c.ErrorCode.STORE_FULL)
    assert transport.is_closed


def test_a_deleted_segment_made_again_does_not_confuse_a_held_read(house: House) -> None:
    house.filled(10)
    transport = house.connect()
    send(transport, read_at(10))
    house.storage.submit([Delete(SEGMENT)], now_ms=2)
    house.sync()
    assert replies(transport) == [c.SegmentRead(SEGMENT, 10, True, False, b"", 1)]


def test_closing_answers_first_what_was_taken_before(house: House) -> None:
    house.filled(0)
    transport = house.connect()
    send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""), append(1), append(0))
    house.turn()
    assert not transport.is_closed
    house.sync()
    kinds = [type(reply) for reply in replies(transport)]
    assert kinds == [c.AppendSetup, c.DataAppended]
    assert transport.is_closed


def test_two_connections_of_one_writer_cannot_both_append(house: House) -> None:
    house.filled(0)
    first, second = house.connect(), house.connect()
    for transport in (first, second):
        send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""))
    house.sync()
    send(first, append(1))
    send(second, append(1))
    house.sync()
    assert replies(second)[-1] == c.InvalidEventNumber(WRITER, 1, "", 1)
    assert second.is_closed
    assert house.storage.info(SEGMENT).length == 10

"""Frames, values and both ends of a channel, without sockets."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pravega_lab.engine.cluster.errors import FrameError, RemoteError
from pravega_lab.engine.cluster.wire import values
from pravega_lab.engine.cluster.wire.channels import IncomingEnd, OutgoingEnd
from pravega_lab.engine.cluster.wire.frames import (
    FRAME_BYTES_MAX,
    HELLO_BYTES_MAX,
    Frame,
    FrameReader,
    Hello,
    Kind,
    RecordsReader,
    RecordsWriter,
    encode,
)
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.checkpoint.plan import TaskAck
from pravega_lab.engine.flow.elements import (
    Barrier,
    CheckpointKind,
    CheckpointOptions,
    EndOfData,
    SubtaskId,
    Watermark,
)
from pravega_lab.engine.flow.errors import UserFunctionError
from pravega_lab.engine.flow.state.handles import Blob, ListMode, ListState, SubtaskState
from pravega_lab.errors import BadInputError

TOKEN = bytes(range(32))
ROWS = [{"a": n, "b": f"text {n}"} for n in range(5)]
BATCHES = [
    Batch.of_rows(ROWS),
    Batch.of_rows(ROWS, timestamps=[1, 2, -3, 4, 5]),
    Batch.of_rows(ROWS[:1], kinds=[3]),
    Batch.of_rows([{"other": 1.5}], timestamps=[7], kinds=[1]),
    Batch.of_rows(ROWS).slice(1, 3),
    Batch.of_arrow(pa.record_batch({"d": pa.array(["x", "y", "x"]).dictionary_encode()})),
    Batch.of_arrow(pa.record_batch({"d": pa.array(["p", "q", "r"]).dictionary_encode()})),
    Batch.of_arrow(pa.record_batch({"n": pa.array([[1], None, [2, 3]])})),
]


def greeted() -> FrameReader:
    reader = FrameReader()
    reader.greeted()
    return reader


def told(batch: Batch) -> list[Any]:
    return list(batch.records())


def frames() -> list[bytes]:
    writer = RecordsWriter(3, 9)
    made = [writer.encode(batch.sealed()) for batch in BATCHES]
    barrier = Barrier(5, 123, CheckpointOptions(CheckpointKind.SAVEPOINT, "/there"))
    made.insert(2, encode(Kind.ELEMENT, values.to_bytes(barrier), deployment=3, channel=9))
    return [*made, encode(Kind.CREDIT, deployment=3, channel=9, rows=77)]


def test_frames_are_the_same_however_the_bytes_are_cut() -> None:
    stream = b"".join(frames())
    whole = list(greeted().feed(stream))
    assert [frame.kind.name for frame in whole].count("RECORDS") == len(BATCHES)
    assert (whole[-1].kind, whole[-1].rows, whole[-1].channel) == (Kind.CREDIT, 77, 9)
    for cut in range(len(stream) + 1):
        reader = greeted()
        assert [*reader.feed(stream[:cut]), *reader.feed(stream[cut:])] == whole
    reader = greeted()
    assert [frame for n in range(len(stream)) for frame in reader.feed(stream[n : n + 1])] == whole


def test_batches_come_back_with_times_kinds_and_new_columns() -> None:
    records = RecordsReader()
    came = [f for f in greeted().feed(b"".join(frames())) if f.kind is Kind.RECORDS]
    for frame, batch in zip(came, BATCHES, strict=True):
        found = records.decode(frame)
        assert told(found) == told(batch)
        assert found.arrow.schema.equals(batch.arrow.schema)
    # The schema travels once, not with each batch.
    assert [bool(f.flags & 1) for f in came] == [True, False, False, True, True, True, True, True]


@given(st.binary(max_size=200), st.integers(0, 300))
def test_garbage_is_refused_in_one_error(noise: bytes, at: int) -> None:
    stream = bytearray(b"".join(frames()))
    stream[at : at + len(noise)] = noise
    reader, records = greeted(), RecordsReader()
    try:
        for frame in reader.feed(bytes(stream)):
            if frame.kind is Kind.RECORDS:
                records.decode(frame)
            elif frame.kind is Kind.ELEMENT:
                values.from_bytes(frame.body)
    except FrameError:
        pass


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "does not speak this protocol"),
        ((FRAME_BYTES_MAX + 1).to_bytes(4, "little"), "does not speak this protocol"),
        (b"\x00\x00\x00\x00", "does not speak this protocol"),
        (encode(Kind.DONE).replace(b"\x06", b"\x63", 1), "a frame of kind 99"),
    ],
)
def test_what_is_no_frame_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(FrameError, match=words):
        list(greeted().feed(data))


CHALLENGE, NONCE = b"c" * 32, b"n" * 32


def hello_frame(hello: Hello) -> Frame:
    [frame] = FrameReader().feed(hello.encode(TOKEN, CHALLENGE, NONCE))
    return frame


def test_a_hello_proves_that_its_sender_knows_the_token() -> None:
    hello = Hello(4, 1, 4711, 8080, "10.0.0.7")
    frame = hello_frame(hello)
    assert Hello.decode(frame, TOKEN, CHALLENGE) == (hello, NONCE)
    assert TOKEN not in bytes(frame.body)
    for token, challenge in ((bytes(32), CHALLENGE), (TOKEN, bytes(32))):
        with pytest.raises(FrameError, match="another token"):
            Hello.decode(frame, token, challenge)
    changed = replace(frame, body=memoryview(bytes(frame.body).replace(b"10.0.0.7", b"10.0.0.8")))
    with pytest.raises(FrameError, match="another token"):
        Hello.decode(changed, TOKEN, CHALLENGE)
    [call] = greeted().feed(encode(Kind.CALL, values.to_bytes(("ready",))))
    with pytest.raises(FrameError, match="CALL came before HELLO"):
        Hello.decode(call, TOKEN, CHALLENGE)
    with pytest.raises(FrameError, match="expected here"):
        list(FrameReader().feed((HELLO_BYTES_MAX + 1).to_bytes(4, "little")))


def test_a_frame_too_long_is_refused_by_its_sender() -> None:
    with pytest.raises(BadInputError, match="channel_capacity"):
        encode(Kind.RECORDS, b"x" * FRAME_BYTES_MAX, rows=3)
    with pytest.raises(BadInputError, match=r"^a record of \d+ bytes cannot go to another process"):
        encode(Kind.RECORDS, b"x" * FRAME_BYTES_MAX, rows=1)
    with pytest.raises(BadInputError, match=r"^a message \(CALL\) of \d+ bytes cannot go to another"):
        encode(Kind.CALL, b"x" * FRAME_BYTES_MAX)


# -- values -------------------------------------------------------------------------------------------------


def test_values_of_the_engine_come_back_equal() -> None:
    ack = TaskAck(
        {
            "op": SubtaskState(
                {3: Blob("/f", 0, 5, 99)}, {"l": ListState(ListMode.UNION, (Blob("/f", 5, 1, 2),))}
            )
        },
        operators_finished=True,
    )
    value = (SubtaskId("map → sink", 1), ack, {("op", 0): [None, 1.5, b"x"]}, CheckpointKind.SUSPEND, {1, 2})
    assert values.from_bytes(values.to_bytes(value)) == value


def test_a_value_that_names_code_is_not_made() -> None:
    import os
    import pickle

    with pytest.raises(FrameError, match="names code"):
        values.from_bytes(pickle.dumps(os.getcwd))
    with pytest.raises(FrameError, match="no dataclass that is loaded"):
        values._class("subprocess:Popen")
    with pytest.raises(BadInputError, match="cannot go to another process"):
        values.to_bytes(object())


def test_an_error_comes_back_as_itself_with_the_traceback_there() -> None:
    def fails() -> None:
        raise UserFunctionError("map, subtask 1/2: boom at record {'a': 1}")

    try:
        fails()
    except UserFunctionError as error:
        travels = values.error_to_told(error)
    assert travels is not None
    back = values.error_from_told(values.from_bytes(values.to_bytes(travels)))
    assert isinstance(back, UserFunctionError)
    assert str(back) == "map, subtask 1/2: boom at record {'a': 1}"
    assert "in fails" in str(back.__cause__)
    unknown = values.error_from_told(("their.module:TheirError", "so it was", "Traceback …"))
    assert isinstance(unknown, RemoteError)
    assert str(unknown) == "TheirError: so it was"
    assert values.error_from_told(values.error_to_told(None)) is None


def test_an_error_with_a_very_long_message_is_shortened() -> None:
    """A worker could not send it, and its subtask stood still."""
    told = values.error_to_told(ValueError("begin" + "x" * 1_000_000 + "end"))
    assert len(values.to_bytes(told)) < 300_000
    message = str(values.error_from_told(told))
    assert message.startswith("beginxxx")
    assert message.endswith("xxxend")
    assert "[… 900008 characters are left out …]" in message


class SilentError(Exception):
    def __str__(self) -> str:
        raise AttributeError("no message")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            subprocess.CalledProcessError(3, "ls"),
            "CalledProcessError: Command 'ls' returned non-zero exit status 3.",
        ),
        (ExceptionGroup("many", [ValueError()]), "ExceptionGroup: many (1 sub-exception)"),
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
            "UnicodeDecodeError: 'utf-8' codec can't decode byte",
        ),
        (KeyError("word"), "KeyError: 'word'"),
        (SilentError(), "SilentError: SilentError, whose message cannot be read"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_that_needs_more_than_its_message_comes_back_in_words(error: Exception, words: str) -> None:
    """The driver used to raise while it took the report, and the job waited for the subtask for ever."""
    back = values.error_from_told(values.error_to_told(error))
    assert isinstance(back, RemoteError)
    assert str(back).startswith(words)


# -- channels -----------------------------------------------------------------------------------------------


class Pair:
    """Both ends of a channel, joined by the bytes between them."""

    def __init__(self, capacity: int) -> None:
        self._there, self._back = greeted(), greeted()
        where: dict[str, Any] = {"deployment": 1, "number": 2}
        args = (SubtaskId("a", 0), SubtaskId("b", 0), 0, 0, capacity, None)
        self.out = OutgoingEnd(*args, **where, send=self._to_consumer)
        self.into = IncomingEnd(*args, **where, send=self._to_producer)
        self.rooms = 0
        self.out.on_room = self._room

    def _room(self) -> None:
        self.rooms += 1

    def _to_consumer(self, data: bytes) -> None:
        for frame in self._there.feed(data):
            self.into.receive(frame)

    def _to_producer(self, data: bytes) -> None:
        for frame in self._back.feed(data):
            self.out.receive(frame)


def rows(count: int) -> Batch:
    return Batch.of_rows([{"n": n} for n in range(count)]).sealed()


def test_the_bound_of_a_channel_holds_across_the_wire() -> None:
    pair = Pair(10)
    pair.out.put(rows(4))
    pair.out.put(Watermark(3))
    pair.out.put(rows(6))
    assert pair.out.room == 0
    pair.out.put(EndOfData(True))  # what is no record needs no room
    first = pair.into.take()
    assert isinstance(first, Batch)
    assert first.num_rows == 4
    assert (pair.out.room, pair.rooms) == (0, 0)  # less than half of the bound: told with the next
    assert pair.into.take() == Watermark(3)
    pair.into.take()
    assert (pair.out.room, pair.rooms) == (10, 1)
    assert pair.into.take() == EndOfData(True)
    assert not pair.out.is_acknowledged
    pair.into.acknowledge_data()
    assert pair.out.is_acknowledged


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=60))
def test_a_producer_is_never_forgotten(steps: list[tuple[int, bool]]) -> None:
    """Whatever the order of puts and takes: with the channel empty there is room for all again."""
    pair = Pair(8)
    for size, takes in steps:
        if takes and pair.into.head is not None:
            pair.into.take()
        elif pair.out.room > 0:
            pair.out.put(rows(min(size, pair.out.room)))
        held = sum(e.num_rows for e in pair.into._queue if isinstance(e, Batch))
        assert 0 <= pair.out.room <= 8 - held
    while pair.into.head is not None:
        pair.into.take()
    assert pair.out.room == 8


def test_frames_against_their_direction_are_refused() -> None:
    pair = Pair(8)
    [credit] = greeted().feed(encode(Kind.CREDIT, rows=1))
    with pytest.raises(FrameError, match="against its direction"):
        pair.into.receive(credit)
    [records] = greeted().feed(RecordsWriter(1, 2).encode(rows(2)))
    with pytest.raises(FrameError, match="against its direction"):
        pair.out.receive(records)
    [odd] = greeted().feed(encode(Kind.ELEMENT, values.to_bytes((1, 2))))
    with pytest.raises(FrameError, match="no element"):
        pair.into.receive(odd)

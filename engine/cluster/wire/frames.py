"""What travels on the sockets between driver and workers, as bytes. No I/O here.

A frame is its length (u32, without itself), a head of 16 bytes and a body; numbers are little-endian::

    length u32 | kind u8 | flags u8 | 0 u16 | deployment u32 | channel u32 | rows u32 | body

========= ==== ============================================================================================
HELLO     1    answers a CHALLENGE, from the end that opened the connection; body: magic, version, proof, a
               random, who (`Hello`)
CALL      2    body: a plain value (`values`), a tuple that begins with the name of the call
RECORDS   3    body: Arrow IPC, then int64 event times (flag TIMES), then int8 row kinds (flag KINDS).
               With flag SCHEMA the Arrow part is a stream, schema first; without, one record batch message
               of the schema that the channel had last
ELEMENT   4    body: a plain value, what is between records: watermark, barrier, end of data…
CREDIT    5    ``rows`` more records fit into the channel
DONE      6    the consumer has processed all records and the end of the data
CHALLENGE 7    first on a connection, from the end that was connected to; body: a random
WELCOME   8    answers a HELLO; body: a proof
========= ==== ============================================================================================

``deployment`` and ``channel`` identify a channel: both ends number the channels of a deployment in the same
order. Nothing else of a connection is read before its HELLO is accepted (`greeting`), and nothing is
unpickled that could name code.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa

from pravega_lab.errors import BadInputError

from ...flow.batch import Batch
from ..errors import FrameError

MAGIC = b"PLFLOW\r\n"
VERSION = 2
TOKEN_BYTES = NONCE_BYTES = PROOF_BYTES = 32
FRAME_BYTES_MAX = 256 * 1024 * 1024
HELLO_BYTES_MAX = 512
SCHEMA, TIMES, KINDS = 1, 2, 4

_LENGTH = struct.Struct("<I")
_HEAD = struct.Struct("<BBHIII")
_HELLO = struct.Struct(f"<8sH{PROOF_BYTES}s{NONCE_BYTES}sIIIH")
_SIGNED = 8 + 2 + PROOF_BYTES  # where the part of a HELLO begins that its proof covers


class Kind(IntEnum):
    """Name the kind of a frame."""

    HELLO = 1
    CALL = 2
    RECORDS = 3
    ELEMENT = 4
    CREDIT = 5
    DONE = 6
    CHALLENGE = 7
    WELCOME = 8


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame is a decoded head and its body, a view of the received bytes. ``rows`` counts records."""

    kind: Kind
    flags: int
    deployment: int
    channel: int
    rows: int
    body: memoryview


def encode(
    kind: Kind,
    body: bytes = b"",
    *more: bytes,
    flags: int = 0,
    deployment: int = 0,
    channel: int = 0,
    rows: int = 0,
) -> bytes:
    """Return one frame with its length.

    Raises:
        BadInputError: the frame is longer than `FRAME_BYTES_MAX`.
    """
    size = _HEAD.size + len(body) + sum(map(len, more))
    if size > FRAME_BYTES_MAX:
        raise BadInputError(_too_long(kind, rows, size))
    head = _LENGTH.pack(size) + _HEAD.pack(kind, flags, 0, deployment, channel, rows)
    return b"".join((head, body, *more))


def _too_long(kind: Kind, rows: int, size: int) -> str:
    if rows > 1:
        return (
            f"{rows} records make a frame of {size} bytes, {FRAME_BYTES_MAX} is the most: let a channel hold "
            "fewer records (JobConfig.channel_capacity)"
        )
    what = "a record" if rows == 1 else f"a message ({kind.name})"
    return (
        f"{what} of {size} bytes cannot go to another process, {FRAME_BYTES_MAX} is the most: keep large "
        "values in files that all workers can access, and send their names"
    )


class FrameReader:
    """Cut the bytes of a connection into frames. Until `greeted`, it accepts short frames only."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._most = HELLO_BYTES_MAX

    def greeted(self) -> None:
        """Accept frames of every size: the other end has identified itself."""
        self._most = FRAME_BYTES_MAX

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete, and keep the rest for the next call.

        Raises:
            FrameError: the bytes are not a frame.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            [size] = _LENGTH.unpack_from(self._buffer)
            if not _HEAD.size <= size <= self._most:
                raise FrameError(
                    f"a frame of {size} bytes: {_HEAD.size} to {self._most} are expected here; the other end "
                    "does not speak this protocol"
                )
            end = _LENGTH.size + size
            if len(self._buffer) < end:
                return
            payload = bytes(memoryview(self._buffer)[_LENGTH.size : end])
            del self._buffer[:end]
            yield _decode(payload)


def _decode(payload: bytes) -> Frame:
    number, flags, zero, deployment, channel, rows = _HEAD.unpack_from(payload)
    if number not in Kind._value2member_map_ or zero:
        raise FrameError(f"a frame of kind {number}: there are {', '.join(k.name for k in Kind)}")
    return Frame(Kind(number), flags, deployment, channel, rows, memoryview(payload)[_HEAD.size :])


def proof(token: bytes, *parts: bytes) -> bytes:
    """Return what only a process that knows the token can say about ``parts``."""
    return hmac.digest(token, b"\0".join(parts), "sha256")


@dataclass(frozen=True, slots=True)
class Hello:
    """A HELLO identifies the process that opened a connection.

    ``port`` and ``host`` are the address at which it listens for other workers.
    """

    epoch: int
    worker: int
    pid: int
    port: int
    host: str

    def encode(self, token: bytes, challenge: bytes, nonce: bytes) -> bytes:
        """Return the HELLO as a frame that answers a challenge. ``nonce`` is a random of this end."""
        fields = (self.epoch, self.worker, self.pid, self.port)
        body = _HELLO.pack(MAGIC, VERSION, bytes(PROOF_BYTES), nonce, *fields) + self.host.encode()
        shown = proof(token, b"hello", challenge, body[_SIGNED:])
        return encode(Kind.HELLO, body[: _SIGNED - PROOF_BYTES], shown, body[_SIGNED:])

    @staticmethod
    def decode(frame: Frame, token: bytes, challenge: bytes) -> tuple[Hello, bytes]:
        """Return the HELLO that a frame has, and the random of its sender.

        Raises:
            FrameError: the frame is not a HELLO of this version, or its sender does not know the token.
        """
        if frame.kind is not Kind.HELLO or len(frame.body) < _HELLO.size:
            raise FrameError(f"{frame.kind.name} came before HELLO")
        magic, version, shown, nonce, epoch, worker, pid, port = _HELLO.unpack_from(frame.body)
        if magic != MAGIC or version != VERSION:
            raise FrameError(f"HELLO of another protocol or version ({magic!r}, {version})")
        if not hmac.compare_digest(shown, proof(token, b"hello", challenge, bytes(frame.body[_SIGNED:]))):
            raise FrameError("HELLO with another token: a stranger, or a worker of another job")
        host = bytes(frame.body[_HELLO.size :]).decode(errors="replace")
        return Hello(epoch, worker, pid, port, host), nonce


class RecordsWriter:
    """Encode the batches of one channel.

    The first frame has the schema, and so has each frame after a change of the schema.
    """

    def __init__(self, deployment: int, channel: int) -> None:
        self._deployment, self._channel = deployment, channel
        self._schema: pa.Schema | None = None

    def encode(self, batch: Batch) -> bytes:
        """Return a batch as a frame.

        Raises:
            BadInputError: the batch is too long for a frame.
        """
        arrow, flags, more = batch.arrow, 0, []
        if self._schema is not None and self._schema.equals(arrow.schema):
            body = arrow.serialize().to_pybytes()
        else:
            flags, body = SCHEMA, _stream(arrow)
            # Dictionaries are separate messages, so each batch becomes a whole stream.
            has_dictionaries = any(pa.types.is_dictionary(field.type) for field in arrow.schema)
            self._schema = None if has_dictionaries else arrow.schema
        if batch.timestamps is not None:
            flags |= TIMES
            more.append(batch.timestamps.astype("<i8", copy=False).tobytes())
        if batch.kinds is not None:
            flags |= KINDS
            more.append(batch.kinds.tobytes())
        return encode(
            Kind.RECORDS,
            body,
            *more,
            flags=flags,
            deployment=self._deployment,
            channel=self._channel,
            rows=batch.num_rows,
        )


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class RecordsReader:
    """Decode the frames of one channel into batches."""

    def __init__(self) -> None:
        self._schema: pa.Schema | None = None

    def decode(self, frame: Frame) -> Batch:
        """Return the batch that a frame has.

        Raises:
            FrameError: the body does not match its head.
        """
        rows, end = frame.rows, len(frame.body)
        kinds = times = None
        if frame.flags & KINDS:
            end -= rows
            kinds = _numbers(frame.body, end, rows, np.dtype("i1"))
        if frame.flags & TIMES:
            end -= 8 * rows
            times = _numbers(frame.body, end, rows, np.dtype("<i8"))
        try:
            arrow = self._arrow(frame.body[:end], bool(frame.flags & SCHEMA))
        except (pa.ArrowException, OSError, StopIteration) as error:
            raise FrameError(f"{end} bytes that are no Arrow record batch: {error}") from error
        if arrow.num_rows != rows:
            raise FrameError(f"a batch of {arrow.num_rows} records in a frame that says {rows}")
        return Batch.of_arrow(arrow, times, kinds)

    def _arrow(self, body: memoryview, has_schema: bool) -> pa.RecordBatch:
        buffer = pa.py_buffer(body)
        if has_schema:
            with pa.ipc.open_stream(buffer) as stream:
                self._schema = stream.schema
                return stream.read_next_batch()
        if self._schema is None:
            raise FrameError("records without a schema, and none came before on the channel")
        return pa.ipc.read_record_batch(buffer, self._schema)


def _numbers(body: memoryview, start: int, count: int, dtype: np.dtype[Any]) -> Any:
    if start < 0:
        raise FrameError(f"a frame of {len(body)} bytes says that it has {count} records")
    return np.frombuffer(body, dtype, count, start)

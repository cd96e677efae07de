"""A connection to a segment store on which every frame is written by hand."""

from __future__ import annotations

import socket
from collections import deque
from uuid import UUID

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder
from tests.conformance.controller import ControllerStub, stream_info

REPLY_TIMEOUT_S = 20
CLOSED = "closed by the server"
WRITER, OTHER_WRITER = UUID(int=0xAA), UUID(int=0xBB)
MIN = c.NO_EVENT_NUMBER


def event(payload: bytes) -> bytes:
    """An event as it stands in a segment: type 0, length, payload."""
    return bytes(4) + len(payload).to_bytes(4, "big") + payload


def endpoint(controller: ControllerStub) -> tuple[str, int]:
    """Where the segment store listens, as the controller tells its clients."""
    node = controller.call("getURI", pb.SegmentId(streamInfo=stream_info("any", "thing"), segmentId=0))
    return node.endpoint, node.port


class Wire:
    """One TCP connection. Replies come in order; ``receive`` gives `CLOSED` once the server has closed it."""

    def __init__(self, address: tuple[str, int], hello: c.Hello | None = c.Hello(16, 5)) -> None:
        self.socket = socket.create_connection(address, REPLY_TIMEOUT_S)
        self._decoder, self._received = FrameDecoder(), deque[c.Command]()
        self._request_id = 100
        if hello is not None:
            self.hello = self.ask(hello)

    def next_id(self) -> int:
        self._request_id += 1
        return self._request_id

    def send(self, *frames: c.Command) -> None:
        """All frames in one piece."""
        self.socket.sendall(b"".join(map(encode, frames)))

    def receive(self) -> c.Command | str:
        while not self._received:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                return CLOSED
            if not data:
                return CLOSED
            self._received.extend(self._decoder.feed(data))
        return self._received.popleft()

    def ask(self, frame: c.Command) -> c.Command | str:
        self.send(frame)
        return self.receive()

    def is_silent(self) -> bool:
        """No reply is due: a KeepAlive sent now is answered first, and alone."""
        return self.ask(c.KeepAlive()) == c.KeepAlive() and not self._received

    def close(self) -> None:
        self.socket.close()

    # The requests that nearly every case needs.

    def create(self, segment: str) -> None:
        assert self.ask(c.CreateSegment(1, segment, 0, 0, "", 0)) == c.SegmentCreated(1, segment)

    def setup(self, segment: str, writer: UUID = WRITER) -> int:
        reply = self.ask(c.SetupAppend(2, writer, segment, ""))
        assert isinstance(reply, c.AppendSetup), reply
        assert (reply.segment, reply.writer_id, reply.request_id) == (segment, writer, 2)
        return reply.last_event_number

    def append(self, number: int, data: bytes, events: int = 1, writer: UUID = WRITER) -> c.Command | str:
        return self.ask(append(number, data, events, writer))

    def info(self, segment: str) -> c.StreamSegmentInfo:
        reply = self.ask(c.GetStreamSegmentInfo(3, segment, ""))
        assert isinstance(reply, c.StreamSegmentInfo), reply
        return reply

    def length(self, segment: str) -> int:
        return self.info(segment).write_offset

    def read(self, segment: str, offset: int = 0, size: int = 1 << 20) -> c.Command | str:
        return self.ask(c.ReadSegment(segment, offset, size, "", 4))

    def contents(self, segment: str, start: int = 0) -> bytes:
        """All bytes from ``start`` on; the released server answers a read in as many parts as it likes."""
        found, length = b"", self.length(segment)
        while start + len(found) < length:
            reply = self.read(segment, start + len(found))
            assert isinstance(reply, c.SegmentRead), reply
            assert reply.data, "an empty reply before the end of the segment"
            assert (reply.offset, reply.request_id) == (start + len(found), 4)
            found += reply.data
        return found

    def filled(self, segment: str, *events: bytes) -> None:
        """Create a segment of these events, written as events 1, 2, … of `WRITER`."""
        self.create(segment)
        assert self.setup(segment) == MIN
        for number, payload in enumerate(events, 1):
            assert isinstance(self.append(number, event(payload)), c.DataAppended)


def append(number: int, data: bytes, events: int = 1, writer: UUID = WRITER) -> c.AppendBlockEnd:
    return c.AppendBlockEnd(writer, 0, data, events, number, 5)

"""Appends of single events on a connection of their own: what the store takes without the client's writer.

One thread sends what is due and receives acknowledgements. `select` waits with microseconds, where the
event loops of asyncio and uvloop round up to milliseconds.
"""

from __future__ import annotations

import select
import socket
import time
from itertools import chain
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

from benchmarks.pipelines.open_loop import Latencies, Schedule, event_due_at, latencies
from pravega_lab.client import connect
from pravega_lab.client.sync.core import run
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder

WIRE_VERSIONS = (16, 5)
UNACKNOWLEDGED_MAX = 4_000  # events; more would only wait in sockets
SENT_AT_ONCE_MAX = 100
RECEIVED_BYTES = 1 << 16
WAIT_S = 60.0


class RawAppends:
    """A connection with one writer per segment of a stream. Use it as a context manager.

    Raises:
        RuntimeError: The store answers with anything but acknowledgements.
    """

    def __init__(self, uri: str, scoped_name: str) -> None:
        self._uri = uri
        self._scoped_name = scoped_name
        self._decoder = FrameDecoder()

    def __enter__(self) -> Self:
        with connect(self._uri) as client:
            context = client.stream(self._scoped_name)._core._context
            ids = [segment.segment_id for segment in client.stream(self._scoped_name).segments()]
            endpoint = run(context.stores.endpoint(self._scoped_name, ids[0]))
            names = [context.segment_name(segment_id) for segment_id in ids]
        self._socket = socket.create_connection(endpoint, WAIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._writers = {uuid4(): number for number in range(len(names))}
        self._send(c.Hello(*WIRE_VERSIONS))
        for writer_id, name in zip(self._writers, names, strict=True):
            self._send(c.SetupAppend(0, writer_id, name, ""))
        n_ready = 0
        while n_ready < len(names):
            n_ready += sum(isinstance(reply, c.AppendSetup) for reply in self._receive())
        self._sent = [0] * len(names)
        self._acknowledged = [0] * len(names)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, schedule: Schedule, begin_ns: int) -> Latencies:
        """Append each event when it is due, and return the latencies of the acknowledgements."""
        due: list[list[int]] = [[] for _ in self._sent]  # by writer, of this call
        done: list[list[int]] = [[] for _ in self._sent]
        ids = list(self._writers)
        n_sent = n_done = 0
        while n_done < schedule.count:
            last = min(schedule.n_due(begin_ns, time.monotonic_ns()), n_done + UNACKNOWLEDGED_MAX)
            frames = []
            for index in range(n_sent, min(last, n_sent + SENT_AT_ONCE_MAX)):
                number = index % len(ids)
                due[number].append(schedule.due_ns(begin_ns, index))
                frames.append(self._frame(ids[number], number, due[number][-1]))
            n_sent += len(frames)
            if frames:
                self._socket.sendall(b"".join(frames))
            may_send = n_sent < schedule.count and n_sent - n_done < UNACKNOWLEDGED_MAX
            pause_s = _seconds_until(schedule.due_ns(begin_ns, n_sent)) if may_send else WAIT_S
            if select.select([self._socket], [], [], pause_s)[0]:
                n_done += self._note_acknowledgements(done)
        return latencies([*chain.from_iterable(due)], [*chain.from_iterable(done)])

    def _frame(self, writer_id: UUID, number: int, due_ns: int) -> bytes:
        event = event_due_at(due_ns)
        data = bytes(4) + len(event).to_bytes(4, "big") + event
        self._sent[number] += 1
        return encode(c.AppendBlockEnd(writer_id, 0, data, 1, self._sent[number], 0))

    def _note_acknowledgements(self, done: list[list[int]]) -> int:
        n_found = 0
        for reply in self._receive():
            if not isinstance(reply, c.DataAppended):
                raise RuntimeError(f"the store answered an append with {reply}")
            number = self._writers[reply.writer_id]
            n_new = reply.event_number - self._acknowledged[number]
            self._acknowledged[number] = reply.event_number
            done[number] += [time.monotonic_ns()] * n_new
            n_found += n_new
        return n_found

    def _send(self, command: c.Command) -> None:
        self._socket.sendall(encode(command))

    def _receive(self) -> list[c.Command]:
        data = self._socket.recv(RECEIVED_BYTES)
        if not data:
            raise RuntimeError("the store closed the connection")
        return self._decoder.feed(data)


def _seconds_until(due_ns: int) -> float:
    return max(0.0, (due_ns - time.monotonic_ns()) / 1e9)

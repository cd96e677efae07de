"""One attack in its own process: ``python -m benchmarks.hostile.attacker NAME URI SIZE``.

It prints ``ready`` when it is prepared, attacks after a line of input, removes what it left in the store, and
prints in words what it was answered. SIZE is a share of the full size, so that a test can be short. Every
attack is bounded in count and time, and refuses to leave the loopback.
"""

from __future__ import annotations

import argparse
import os
import resource
import selectors
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import grpc

from benchmarks.hostile.victim import SEGMENT
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS, SERVICE
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder

MIB = 1 << 20
ATTACK_S = 10.0
CALL_S = 120.0
HELLO = encode(c.Hello(16, 5))
TARGET = "attack/target/0.#epoch.0"
TABLE = "attack/table"
INFO = pb.StreamInfo(scope="attack", stream="target")


class Target:
    """The store under attack: calls of its controller, and connections to its segment store."""

    def __init__(self, uri: str, size: float) -> None:
        self.size = size
        self.told: Counter[str] = Counter()
        self._channel = grpc.insecure_channel(uri.removeprefix("tcp://"))
        self.ends_s = float("inf")
        node = self.call("getURI", pb.SegmentId(streamInfo=INFO, segmentId=0))
        if node.endpoint != "127.0.0.1":
            raise SystemExit(f"the store is at {node.endpoint!r}: attacks do not leave the loopback")
        self._address = (node.endpoint, node.port)
        self.call("createScope", pb.ScopeInfo(scope="attack"))

    def some(self, count: int) -> int:
        """Return ``count`` in proportion to the size of the attack."""
        return max(2, int(count * self.size))

    def call(self, name: str, request: Any) -> Any:
        """Make a call, and keep what a refusal says."""
        method = METHODS[name]
        call = self._channel.unary_unary(
            f"/{SERVICE}/{name}", method.request.SerializeToString, method.response.FromString
        )
        try:
            return call(request, timeout=CALL_S)
        except grpc.RpcError as error:
            self.told[f"{error.code().name}: {error.details()}"] += 1
            return None

    def calls(self, name: str, requests: Iterable[Any]) -> None:
        """Make many calls, 50 at a time."""
        with ThreadPoolExecutor(50) as pool:
            for _ in pool.map(lambda request: self.is_time_left() and self.call(name, request), requests):
                pass

    def connect(self, greeting: bytes = HELLO) -> socket.socket:
        """Open a connection and send ``greeting``."""
        own = socket.create_connection(self._address, CALL_S)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if greeting:
            own.sendall(greeting)
        return own

    def is_time_left(self) -> bool:
        """Return whether the attack may continue."""
        return time.monotonic() < self.ends_s

    def pour(self, sockets: list[socket.socket], pieces: Iterator[bytes], replies: int = 0) -> int:
        """Send the pieces over all sockets as fast as they are taken, and read until so many replies came.

        Return how many replies came.
        """
        unsent = dict.fromkeys(sockets, b"")
        decoders = {own: FrameDecoder() for own in sockets}
        received, is_sent = 0, False
        with selectors.DefaultSelector() as selector:
            for own in sockets:
                own.setblocking(False)
                selector.register(own, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while selector.get_map() and self.is_time_left() and not (is_sent and received >= replies):
                for chosen, events in selector.select(0.1):
                    own = _socket_of(chosen)
                    if events & selectors.EVENT_READ:
                        is_open, count = self._read(own, decoders[own])
                        received += count
                        if not is_open:
                            selector.unregister(own)
                            unsent[own] = b""
                            continue
                    if events & selectors.EVENT_WRITE:
                        unsent[own] = unsent[own] or next(pieces, b"")
                        if not unsent[own]:
                            selector.modify(own, selectors.EVENT_READ)
                        with suppress(BlockingIOError, ConnectionError):
                            unsent[own] = unsent[own][own.send(unsent[own]) :]
                is_sent = is_sent or not any(key.events & selectors.EVENT_WRITE for key in _keys(selector))
        return received

    def hear(self, sockets: Iterable[socket.socket]) -> int:
        """Read what the store has sent on idle connections. Return how many it has not closed."""
        for own in sockets:
            own.setblocking(False)
        return sum(self._read(own, FrameDecoder())[0] for own in sockets)

    def _read(self, own: socket.socket, decoder: FrameDecoder) -> tuple[bool, int]:
        """Return whether the connection is open, and how many replies came."""
        count = 0
        try:
            while data := own.recv(MIB):
                for reply in decoder.feed(data):
                    count += 1
                    if isinstance(reply, c.ErrorMessage):
                        self.told[reply.message] += 1
        except BlockingIOError:
            return True, count
        except ConnectionError:
            pass
        self.told["closed"] += 1
        return False, count


def _socket_of(chosen: selectors.SelectorKey) -> socket.socket:
    own: Any = chosen.fileobj
    return own  # type: ignore[no-any-return]


def _keys(selector: selectors.BaseSelector) -> Iterable[selectors.SelectorKey]:
    return selector.get_map().values()


Attack = Callable[[Target], str]
Prepare = Callable[[Target], object]


def silent(target: Target) -> str:
    """Connections that say nothing."""
    own = [target.connect(b"") for _ in range(target.some(2000))]
    time.sleep(ATTACK_S + 3 if target.size == 1 else 1)
    return f"{target.hear(own)} of {len(own)} stay open"


def many(target: Target) -> str:
    """Connections that say Hello and stay."""
    own = [target.connect() for _ in range(target.some(6000))]
    time.sleep(1)
    return f"{target.hear(own)} of {len(own)} stay open"


def half_frames(target: Target) -> str:
    """Connections that send 15 of the 16 MiB of a frame."""
    frame = encode(c.AppendBlock(UUID(int=1), bytes(16 * MIB - 100)))[: 15 * MIB]
    own = [target.connect() for _ in range(target.some(100))]
    target.pour(own, iter([frame] * len(own)), 1 << 60)
    return f"{len(own)} half frames"


def pipelined(target: Target) -> str:
    """300,000 requests in one piece."""
    count = target.some(300_000)
    data = encode(c.GetStreamSegmentInfo(1, SEGMENT, "")) * count
    return f"{target.pour([target.connect()], iter([data]), count)} of {count} answered"


def pipelined_by_many(target: Target) -> str:
    """300,000 requests over 200 connections."""
    count = target.some(1500)
    own = [target.connect() for _ in range(200)]
    pieces = [encode(c.GetStreamSegmentInfo(1, SEGMENT, "")) * count] * len(own)
    return f"{target.pour(own, iter(pieces), count * len(own))} of {count * len(own)} answered"


def large_reads(target: Target) -> str:
    """Reads of 1 MiB without a pause, over 20 connections."""
    count = target.some(20_000)
    reads = [encode(c.ReadSegment(TARGET, 0, MIB, "", 1))] * count
    return f"{target.pour([target.connect() for _ in range(20)], iter(reads), count)} reads answered"


def held_reads(target: Target) -> str:
    """40,000 reads that wait at the tail of the stream of the well-behaved client."""
    length = 100 * MIB
    own = [target.connect() for _ in range(10)]
    reads = [encode(c.ReadSegment(SEGMENT, length, 100, "", n)) for n in range(target.some(4000))]
    answered = target.pour(own, iter([b"".join(reads)] * len(own)), 1 << 60)
    return f"{len(reads) * len(own)} reads, {answered} answered"


def a_huge_stream(target: Target) -> str:
    """One call that asks for a stream of 100,000 segments."""
    request = pb.StreamConfig(streamInfo=INFO, scalingPolicy=pb.ScalingPolicy(minNumSegments=100_000))
    target.call("createStream", request)
    return ""


def large_streams(target: Target) -> str:
    """Streams of 1,000 segments, one after the other."""
    policy = pb.ScalingPolicy(minNumSegments=1000)
    names = [f"large-{n}" for n in range(target.some(100))]
    streams = [pb.StreamInfo(scope="attack", stream=name) for name in names]
    target.calls("createStream", (pb.StreamConfig(streamInfo=s, scalingPolicy=policy) for s in streams))
    target.calls("getCurrentSegments", streams)
    return f"{len(names)} asked for"


def recursive_deletion(target: Target) -> str:
    """One call that deletes 20,000 streams."""
    target.call("deleteScopeRecursive", pb.ScopeInfo(scope="attack"))
    return f"{target.some(20_000)} deleted"


def transactions(target: Target) -> str:
    """500 transactions on a stream of 100 segments, then its seal."""
    begin = pb.CreateTxnRequest(streamInfo=INFO, lease=60_000)
    target.calls("createTransaction", [begin] * target.some(500))
    target.call("sealStream", INFO)
    return f"{target.some(500)} begun"


def calls(target: Target) -> str:
    """Calls that list 1,000 segments, 50 at a time."""
    target.calls("getCurrentSegments", [INFO] * target.some(2000))
    return f"{target.some(2000)} calls"


def tables(target: Target) -> str:
    """256 MiB of table updates, of 1 MiB and then of many small entries."""
    key = c.TableKey(b"key", c.NO_VERSION)
    large = [c.TableEntry(key, bytes(MIB - 9000))]
    small = [c.TableEntry(c.TableKey(b"%d" % n, c.NO_VERSION), b"v") for n in range(2000)]
    batches = [encode(c.UpdateTableEntries(1, TABLE, "", tuple(e), -1)) for e in (large, small)]
    pieces = [batches[0]] * target.some(200) + [batches[1]] * target.some(400)
    done = target.pour([target.connect() for _ in range(10)], iter(pieces), len(pieces))
    return f"{done} of {len(pieces)} updates answered"


def a_long_list(target: Target) -> str:
    """Single frames of 16 MiB with half a million table entries."""
    entry = c.TableEntry(c.TableKey(b"k", c.NO_VERSION), b"")
    frame = encode(c.UpdateTableEntries(1, TABLE, "", (entry,) * 500_000, -1))
    target.pour([target.connect() for _ in range(5)], iter([frame] * target.some(10)), target.some(10))
    return ""


def attributes(target: Target) -> str:
    """200,000 attributes of one segment."""
    count = target.some(200_000)

    def update(n: int) -> bytes:
        name = UUID(int=n + 1)
        return encode(c.UpdateSegmentAttribute(1, TARGET, name, 1, c.NO_EVENT_NUMBER, ""))

    pieces = (b"".join(map(update, range(n, n + 100))) for n in range(0, count, 100))
    done = target.pour([target.connect() for _ in range(5)], pieces, count)
    return f"{done} of {count} answered"


def writers(target: Target) -> str:
    """100,000 writers set up over 5 connections."""
    count = target.some(100_000)
    pieces = (
        b"".join(encode(c.SetupAppend(1, UUID(int=n + i), TARGET, "")) for i in range(100))
        for n in range(0, count, 100)
    )
    done = target.pour([target.connect() for _ in range(5)], pieces, count)
    return f"{done} of {count} answered"


def garbage(target: Target) -> str:
    """5,000 connections one after the other that send what is no command."""
    for _ in range(target.some(5000)):
        target.connect(b"GET / HTTP/1.1\r\n\r\n").close()
    return f"{target.some(5000)} connections"


def busy(target: Target) -> str:
    """Compute, and leave the store alone: what the loss of a core does to the client."""
    while target.is_time_left():
        sum(range(10_000))
    return "no attack"


def _stream(segments: int) -> Prepare:
    policy = pb.ScalingPolicy(minNumSegments=segments)
    return lambda target: target.call("createStream", pb.StreamConfig(streamInfo=INFO, scalingPolicy=policy))


def _readable(target: Target) -> None:
    _stream(1)(target)
    block = encode(c.AppendBlock(UUID(int=1), b"x" * MIB))
    end = encode(c.AppendBlockEnd(UUID(int=1), MIB, b"", 1, 1, 1))
    set_up = encode(c.SetupAppend(1, UUID(int=1), TARGET, ""))
    target.ends_s = time.monotonic() + ATTACK_S
    target.pour([target.connect()], iter([set_up + block + end]), 3)


def _many_streams(target: Target) -> None:
    policy = pb.ScalingPolicy(minNumSegments=1)
    target.ends_s = float("inf")
    streams = (pb.StreamInfo(scope="attack", stream=f"s{n}") for n in range(target.some(20_000)))
    target.calls("createStream", (pb.StreamConfig(streamInfo=s, scalingPolicy=policy) for s in streams))


def _table(target: Target) -> None:
    own = target.connect(HELLO + encode(c.CreateTableSegment(1, TABLE, "", None)))
    time.sleep(0.5)
    own.close()


def _nothing(target: Target) -> None:
    """Need no preparation."""


ATTACKS: dict[str, tuple[Prepare, Attack]] = {
    attack.__name__.replace("_", "-"): (prepare, attack)
    for prepare, attack in (
        *((_nothing, silent), (_nothing, many), (_nothing, garbage), (_nothing, half_frames)),
        *((_nothing, pipelined), (_nothing, pipelined_by_many), (_readable, large_reads)),
        *((_nothing, held_reads), (_stream(1), writers), (_stream(1), attributes)),
        *((_table, tables), (_table, a_long_list), (_nothing, a_huge_stream), (_nothing, large_streams)),
        *((_stream(1000), calls), (_stream(100), transactions), (_many_streams, recursive_deletion)),
    )
}


BASELINES: dict[str, tuple[Prepare, Attack]] = {"busy": (_nothing, busy)}
"""What is no attack, and takes as much of the machine."""


def in_words(told: Counter[str]) -> str:
    """Return what was said most often, and how often."""
    return "; ".join(f"{count} x {words!r:.150}" for words, count in told.most_common(2))


def main() -> None:
    """Run one attack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*BASELINES, *ATTACKS])
    parser.add_argument("uri")
    parser.add_argument("size", type=float)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    target = Target(options.uri, options.size)
    prepare, attack = {**BASELINES, **ATTACKS}[options.name]
    prepare(target)
    target.told.clear()
    print("ready", flush=True)
    sys.stdin.readline()
    target.ends_s = time.monotonic() + ATTACK_S
    found = attack(target)
    said = in_words(target.told)
    target.call("deleteScopeRecursive", pb.ScopeInfo(scope="attack"))
    with suppress(OSError):
        own = target.connect(HELLO + encode(c.DeleteTableSegment(1, TABLE, False, "")))
        time.sleep(0.2)
        own.close()
    print("; ".join(part for part in (found, said) if part) or "answered", flush=True)
    os._exit(0)  # thousands of connections end at once, as those of a killed process do


if __name__ == "__main__":
    main()

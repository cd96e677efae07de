"""Drives a controller over a memory store without a loop: what is submitted is synced when a test says so."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar
from uuid import UUID

from google.protobuf.message import Message

from pravega_lab.engine.store.controller import Controller
from pravega_lab.engine.store.log.disk import MemoryDisk
from pravega_lab.engine.store.log.operations import Append
from pravega_lab.engine.store.metadata.replies import Answer, RpcError
from pravega_lab.engine.store.security.access_control import AccessControl
from pravega_lab.engine.store.security.passwords import User
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS

T = TypeVar("T")
HOST, PORT = "127.0.0.1", 6001


def done(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the memory disk waited")


class Driven:
    """A controller, its storage, its disk and a clock that the test moves."""

    def __init__(
        self,
        disk: MemoryDisk | None = None,
        *,
        now_ms: int = 1_000_000,
        scaling_clock: int = 1,
        access: AccessControl | None = None,
        **limits: int,
    ) -> None:
        self.disk = disk or MemoryDisk()
        self.now_ms = now_ms
        self.scaling_clock = scaling_clock
        self.storage = open_storage(self.disk, file_bytes=1 << 20)
        self.controller = Controller(
            *(self.storage, lambda: UUID(int=7), HOST, PORT),
            scaling_clock=scaling_clock,
            access=access,
            **limits,
        )
        self.user: User | None = None  # who calls

    def restarted(self) -> Driven:
        """Another process on the same disk: only what is synced is there."""
        return Driven(self.disk, now_ms=self.now_ms, scaling_clock=self.scaling_clock)

    def sync(self) -> None:
        """Bring all that is submitted to the disk."""
        while not self.storage.is_idle:
            while (file := self.storage.file_wanted()) is not None:
                done(self.disk.create(file.name, file.size, file.header))
                self.storage.file_created(file)
            if (group := self.storage.take_group()) is None:
                continue
            if group.data:
                done(self.disk.write_group(group.file, group.offset, group.data))
            self.storage.group_synced(group)

    def call(self, method: str, request: Message) -> Any:
        """The decoded answer, synced; raises ``RpcError``."""
        encoded = request.SerializeToString()
        answer = self.controller.call(method, encoded, now_ms=self.now_ms, user=self.user)
        if not isinstance(answer, Answer):
            self.sync()
            outcome = answer.outcome
            assert outcome is not None, "synced, and still not answered"
            if isinstance(outcome, RpcError):
                raise outcome
            answer = outcome
        return METHODS[method].response.FromString(answer.payload)

    def tick(self, after_ms: int = 0) -> None:
        """Let time pass and do what is due, at each deadline on the way."""
        until_ms = self.now_ms + after_ms
        for _ in range(100_000):
            due_ms = self.controller.next_deadline_ms()
            if due_ms is None or due_ms > until_ms:
                break
            self.now_ms = max(self.now_ms, due_ms)
            self.controller.tick(self.now_ms)
            self.sync()
        else:
            raise AssertionError(f"always something due: {due_ms}")
        self.now_ms = until_ms
        self.controller.tick(self.now_ms)
        self.sync()

    def append(self, segment: str, data: bytes, events: int = 1) -> None:
        self.storage.submit([Append(segment, data, events)], now_ms=self.now_ms)
        self.sync()

    def text(self, segment: str) -> bytes:
        """All that a segment holds."""
        info = self.storage.info(segment)
        return self.storage.read(segment, info.start_offset, info.length).data

    # ---- the calls that most tests make --------------------------------------------------------

    def make(self, stream: str, policy: pb.ScalingPolicy | int = 1, scope: str = "s") -> None:
        """A stream with ``policy`` or that many fixed segments, and its scope."""
        if isinstance(policy, int):
            policy = pb.ScalingPolicy(minNumSegments=policy)
        self.call("createScope", pb.ScopeInfo(scope=scope))
        made = self.call(
            "createStream", pb.StreamConfig(streamInfo=info(stream, scope), scalingPolicy=policy)
        )
        assert made.status == pb.CreateStreamStatus.SUCCESS

    def segments(self, stream: str, scope: str = "s") -> list[tuple[int, float, float]]:
        answer = self.call("getCurrentSegments", info(stream, scope))
        return [(r.segmentId.segmentId, r.minKey, r.maxKey) for r in answer.segmentRanges]

    def scale(self, stream: str, seal: list[int], bounds: list[tuple[float, float]]) -> Any:
        ranges = [pb.ScaleRequest.KeyRangeEntry(start=low, end=high) for low, high in bounds]
        return self.call(
            "scale", pb.ScaleRequest(streamInfo=info(stream), sealedSegments=seal, newKeyRanges=ranges)
        )

    def begin(self, stream: str, lease_ms: int = 60_000) -> tuple[pb.TxnId, list[int]]:
        """A new transaction: its id and the ids of the segments it writes for."""
        made = self.call("createTransaction", pb.CreateTxnRequest(streamInfo=info(stream), lease=lease_ms))
        return made.txnId, [r.segmentId.segmentId for r in made.activeSegments]

    def commit(self, stream: str, txn: pb.TxnId) -> int:
        status = self.call("commitTransaction", pb.TxnRequest(streamInfo=info(stream), txnId=txn)).status
        assert isinstance(status, int)
        return status

    def abort(self, stream: str, txn: pb.TxnId) -> int:
        status = self.call("abortTransaction", pb.TxnRequest(streamInfo=info(stream), txnId=txn)).status
        assert isinstance(status, int)
        return status

    def ping(self, stream: str, txn: pb.TxnId, lease_ms: int) -> str:
        asked = pb.PingTxnRequest(streamInfo=info(stream), txnId=txn, lease=lease_ms)
        return pb.PingTxnStatus.Status.Name(self.call("pingTransaction", asked).status)

    def state(self, stream: str, txn: pb.TxnId) -> str:
        answer = self.call("checkTransactionState", pb.TxnRequest(streamInfo=info(stream), txnId=txn))
        return pb.TxnState.State.Name(answer.state)


def info(stream: str, scope: str = "s") -> pb.StreamInfo:
    return pb.StreamInfo(scope=scope, stream=stream)


def txn_uuid(txn: pb.TxnId) -> UUID:
    return UUID(int=txn.highBits << 64 | txn.lowBits)

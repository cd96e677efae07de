"""The controller: encoded requests in, encoded responses out, and what happens by time alone.

It is a synchronous service. ``call`` decides at once, and its reply is released when the decision is on
disk. ``tick`` does what is due, and ``next_deadline_ms`` returns when the next thing is due. gRPC and the
simulation carry the same bytes. The calls are listed in pravega.md D7. A call that is not supported ends
with UNIMPLEMENTED, which Java does not retry. Errors are mapped to statuses by kind, as upstream does
(pravega.md D7; real-pravega.md 5b).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from google.protobuf.message import DecodeError, Message

from pravega_lab.errors import AlreadyExistsError, NotEmptyError, NotFoundError, PravegaError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS

from .autoscaling.autoscale import AutoScaler
from .errors import StorageError, StoreFailed, StoreFull, TooManySegments
from .metadata.counts import STREAM_SEGMENTS_MAX
from .metadata.jobs import Jobs, Steps
from .metadata.metadata import Metadata
from .metadata.replies import Answer, Outcome, RpcError, Waiting
from .metadata.states import IllegalMoveError
from .retention.retention import PERIOD_MS as RETENTION_PERIOD_MS
from .retention.retention import Retention
from .security.access_control import AccessControl
from .security.passwords import User
from .storage.storage import Storage
from .streams.reader_groups import ReaderGroupCalls
from .streams.removals import OPERATIONS_MAX, Removals
from .streams.scopes import ScopeCalls
from .streams.segment_calls import SegmentCalls
from .streams.streams import StreamCalls
from .streams.writer_times import PERIOD_MS, WriterTimes
from .tables.calls import KeyValueTableCalls
from .transactions.transactions import Transactions

Handler = Callable[[Any, int], Message | Steps]


class Controller:
    """Scopes, streams, segments, transactions, reader groups and key-value tables of one store.

    Args:
        storage: The storage. All state of the controller is in its records.
        ids: Return unique ids, for reader groups whose client sent none.
        host, port: Where clients reach the segment store; the response of getURI.
        scaling_clock: Divides the time constants of auto-scaling (pravega.md A6) and the period of retention.
        watermark_period_ms: Time between the watermarks of a stream (pravega.md A12).
        access: Who may do what. None: everybody may do everything.
        stream_segments_max: Segments that a stream may be created with or scaled to.
        operations_max: Segments and records that a deletion changes before other calls are decided.
    """

    def __init__(
        self,
        storage: Storage,
        ids: Callable[[], UUID],
        host: str,
        port: int,
        scaling_clock: int = 1,
        watermark_period_ms: int = PERIOD_MS,
        access: AccessControl | None = None,
        *,
        stream_segments_max: int = STREAM_SEGMENTS_MAX,
        operations_max: int = OPERATIONS_MAX,
    ) -> None:
        self._metadata = Metadata(storage)
        self._access = access
        self._transactions = Transactions(self._metadata)
        removals = Removals(self._metadata, self._transactions, operations_max)
        streams = StreamCalls(self._metadata, self._transactions, removals, stream_segments_max)
        segments = SegmentCalls(self._metadata, host, port, stream_segments_max)
        self._jobs = Jobs(self._metadata)
        self._times = WriterTimes(self._metadata, watermark_period_ms)
        self._scaler = AutoScaler(self._metadata, segments, scaling_clock)
        self._retention = Retention(self._metadata, streams, max(1, RETENTION_PERIOD_MS // scaling_clock))
        groups = ReaderGroupCalls(self._metadata, streams, removals, ids)
        tables = KeyValueTableCalls(self._metadata, stream_segments_max)
        self._handlers = {
            **_stream_handlers(ScopeCalls(self._metadata, removals, groups, tables), streams),
            **_segment_handlers(segments),
            **_transaction_handlers(self._transactions),
            **_group_handlers(groups, self._times),
            **_table_handlers(tables),
        }
        self._now_ms = self._metadata.recovered_ms
        self._started = False

    @property
    def metadata(self) -> Metadata:
        """Return the metadata that all calls share."""
        return self._metadata

    def call(self, method: str, request: bytes, *, now_ms: int, user: User | None = None) -> Answer | Waiting:
        """Decide a call. Return its response, or a handle for a response that waits for the disk.

        Args:
            method: Name of the call, ``"createScope"`` for example.
            request: The encoded request message.
            now_ms: Time of day in ms. Where this time goes back, the controller's time does not change.
            user: Who calls, if the store demands credentials and they were right.

        Raises:
            RpcError: The call ends with a gRPC status, and need not wait for the disk.
        """
        self._advance(now_ms)
        handler = self._handlers.get(method)
        if handler is None or method not in METHODS:
            raise RpcError("UNIMPLEMENTED", f"{method!r} is not a call of this controller")
        try:
            message = METHODS[method].request.FromString(request)
        except DecodeError as error:
            raise RpcError("INVALID_ARGUMENT", f"{method}: the request cannot be decoded: {error}") from None
        outcome: Outcome
        try:
            decided = self._decide(method, handler, message, user)
            if not isinstance(decided, Message):
                return self._jobs.begin(decided, self._released)
            outcome = Answer(decided.SerializeToString())
        except PravegaError as error:
            return self._released(error)
        return self._metadata.release(outcome)

    def _decide(self, method: str, handler: Handler, message: Any, user: User | None) -> Message | Steps:
        access = self._access
        if access is None:
            return handler(message, self._now_ms)
        access.check(method, message, user)
        decided = handler(message, self._now_ms)
        if not isinstance(decided, Message):
            return decided  # a deletion, whose response has nothing to hide or to complete
        response: Any = decided
        while access.hide(method, message, response, user):
            message.continuationToken.CopyFrom(response.continuationToken)
            response = handler(message, self._now_ms)
        found: Message = access.complete(method, message, response, user, self._now_ms)
        return found

    def _released(self, outcome: Message | PravegaError) -> Answer | Waiting:
        if isinstance(outcome, Message):
            return self._metadata.release(Answer(outcome.SerializeToString()))
        return self._metadata.release(_rpc_error(outcome), of_storage=isinstance(outcome, StorageError))

    def tick(self, now_ms: int) -> None:
        """Do what is due by ``now_ms``: merge, abort, forget, scale, write watermarks, truncate.

        Raises:
            StorageError: The storage refused it, for lack of room for example. What is due stays due.
        """
        self._advance(now_ms)
        self._jobs.step(self._now_ms)
        self._transactions.tick(self._now_ms)
        self._scaler.tick(self._now_ms)
        self._times.tick(self._now_ms)
        self._retention.tick(self._now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when ``tick`` has something to do next, which may be in the past.

        None means not before another call.
        """
        if not self._started or self._jobs.are_waiting:
            return 0
        parts = (self._transactions, self._scaler, self._times, self._retention)
        times = (part.next_deadline_ms() for part in parts)
        return min((t for t in times if t is not None), default=None)

    def _advance(self, now_ms: int) -> None:
        self._now_ms = max(self._now_ms, now_ms)
        if not self._started:
            self._started = True
            self._transactions.start(self._now_ms)
            self._scaler.start(self._now_ms)
            self._times.start(self._now_ms)
            self._retention.start(self._now_ms)


def _stream_handlers(scopes: ScopeCalls, streams: StreamCalls) -> dict[str, Handler]:
    return {
        "getControllerServerList": _server_list,
        "createScope": scopes.create,
        "deleteScope": scopes.delete,
        "deleteScopeRecursive": scopes.delete_recursive,
        "listScopes": scopes.list,
        "checkScopeExists": scopes.exists,
        "listStreamsInScope": scopes.list_streams,
        "listStreamsInScopeForTag": scopes.list_streams_for_tag,
        "checkStreamExists": streams.exists,
        "createStream": streams.create,
        "updateStream": streams.update,
        "getStreamConfiguration": streams.configuration,
        "truncateStream": streams.truncate,
        "sealStream": streams.seal,
        "deleteStream": streams.delete,
        "getDelegationToken": lambda request, now_ms: pb.DelegationToken(),
    }


def _segment_handlers(segments: SegmentCalls) -> dict[str, Handler]:
    return {
        "getCurrentSegments": segments.current,
        "getEpochSegments": segments.of_epoch,
        "getSegments": segments.head,
        "getSegmentsImmediatelyFollowing": segments.successors,
        "getSegmentsImmediatlyFollowing": segments.successors,
        "getSegmentsBetween": segments.between,
        "scale": segments.scale,
        "checkScale": segments.check_scale,
        "getURI": segments.uri,
        "isSegmentValid": segments.is_segment_valid,
        "isStreamCutValid": segments.is_cut_valid,
    }


def _transaction_handlers(transactions: Transactions) -> dict[str, Handler]:
    return {
        "createTransaction": transactions.create,
        "commitTransaction": transactions.commit,
        "abortTransaction": transactions.abort,
        "pingTransaction": transactions.ping,
        "checkTransactionState": transactions.state,
        "listCompletedTransactions": transactions.list_completed,
    }


def _group_handlers(groups: ReaderGroupCalls, times: WriterTimes) -> dict[str, Handler]:
    return {
        "createReaderGroup": groups.create,
        "updateReaderGroup": groups.update,
        "getReaderGroupConfig": groups.configuration,
        "deleteReaderGroup": groups.delete,
        "listSubscribers": groups.subscribers,
        "updateSubscriberStreamCut": groups.update_cut,
        "noteTimestampFromWriter": times.note,
        "removeWriter": times.remove,
    }


def _table_handlers(tables: KeyValueTableCalls) -> dict[str, Handler]:
    return {
        "createKeyValueTable": tables.create,
        "getCurrentSegmentsKeyValueTable": tables.segments,
        "listKeyValueTablesInScope": tables.list,
        "getKeyValueTableConfiguration": tables.configuration,
        "deleteKeyValueTable": tables.delete,
    }


def _server_list(request: pb.ServerRequest, now_ms: int) -> pb.ServerResponse:
    raise RpcError("UNKNOWN", "there is no cluster of controllers; connect to this one by tcp://host:port")


def _rpc_error(error: PravegaError) -> RpcError:
    """Return the gRPC status of an error, by its kind."""
    if isinstance(error, RpcError):
        return error
    codes: list[tuple[tuple[type[PravegaError], ...], str]] = [
        ((StoreFull, TooManySegments), "RESOURCE_EXHAUSTED"),
        ((StoreFailed,), "UNAVAILABLE"),
        ((StorageError, IllegalMoveError), "INTERNAL"),
        ((NotFoundError,), "NOT_FOUND"),
        ((AlreadyExistsError,), "ALREADY_EXISTS"),
        ((NotEmptyError,), "FAILED_PRECONDITION"),
    ]
    code = next((code for kinds, code in codes if isinstance(error, kinds)), "UNKNOWN")
    return RpcError(code, str(error))

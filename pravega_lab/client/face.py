"""The synchronous face of the client, for notebooks, Spark's workers and programs without a loop.

It decides nothing: every call is handed to the object of the same name in the asyncio core
(``AsyncClient``, ``AsyncStream``, …; same methods, same arguments), on the loop thread of this process.
Objects may be used from any thread, and after ``fork`` a `Client`, `Stream` or `Table` of the parent
opens connections of its own in the child. Importing this module starts nothing.

The docstrings here are the contract of both.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pravega_lab.client.access import AccessOptions, safe_to_print
from pravega_lab.client.client import AsyncClient
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.client.values import (
    HEAD,
    LEASE_MS_MAX,
    MIB,
    NO_VERSION,
    TAIL,
    RetentionPolicy,
    ScalingPolicy,
    SegmentInfo,
    StreamConfiguration,
    Successor,
    TableValue,
    TransactionState,
)

if TYPE_CHECKING:
    from uuid import UUID

    import pyarrow as pa

    from pravega_lab.client.batches import AsyncBatches
    from pravega_lab.client.reader_group.face import ReaderGroup
    from pravega_lab.client.segment_reader import AsyncOrderedSegmentReader
    from pravega_lab.client.stream import AsyncStream
    from pravega_lab.client.table import AsyncTable
    from pravega_lab.client.transaction import AsyncTransaction
    from pravega_lab.client.values import Bound, Events, Keys
    from pravega_lab.client.writer import AsyncEventWriter
    from pravega_lab.protocol.names import SegmentRange
    from pravega_lab.protocol.reader_group import ReaderGroupConfig
    from pravega_lab.protocol.stream_cut import StreamCut

T = TypeVar("T")


def _run(call: Coroutine[Any, Any, T]) -> T:
    return loop_thread().run(call)


def connect(
    uri: str = "tcp://127.0.0.1:9090", *, retry_for_s: float = 30.0, **access: Unpack[AccessOptions]
) -> Client:
    """A client of the store at ``uri``. Asks nothing yet: the first call connects.

    Args:
        uri: ``tcp://host:port`` of a controller, ``tls://host:port`` of one with TLS.
        retry_for_s: How long a call goes on trying when a connection that worked is lost. A controller
            that never answered is given up after 5 s.
        access: ``ca_file``, ``credentials``, ``credentials_file``, ``validate_host_name`` and ``rewrite``;
            see `AccessOptions`.

    Raises:
        BadInputError: ``uri`` is no such address, or one of the options cannot work.
    """
    return Client(uri, retry_for_s=retry_for_s, **access)


class Client:
    """Scopes, streams and tables of one store. A context manager: leaving it closes all connections.

    Every call raises `StoreUnavailableError` (names the address) when the store does not answer, `TlsError`
    when no safe connection to it can be made, and `AccessDeniedError` when it does not take the credentials.
    """

    def __init__(self, uri: str, *, retry_for_s: float = 30.0, **access: Unpack[AccessOptions]) -> None:
        self.uri = uri
        self._new_core = partial(AsyncClient, uri, retry_for_s=retry_for_s, **safe_to_print(access))
        self._cores = {os.getpid(): self._new_core()}

    @property
    def _core(self) -> AsyncClient:
        core = self._cores.get(os.getpid())
        if core is None:
            core = self._cores[os.getpid()] = self._new_core()
        return core

    def list_scopes(self) -> list[str]:
        """Names of all scopes, ``_system`` included, sorted."""
        return _run(self._core.list_scopes())

    def create_scope(self, scope: str) -> bool:
        """Create a scope. False: it was there already. Raises `BadInputError` for a name outside A1."""
        return _run(self._core.create_scope(scope))

    def delete_scope(self, scope: str) -> bool:
        """Delete an empty scope. False: there was none. Raises `NotEmptyError`."""
        return _run(self._core.delete_scope(scope))

    def list_streams(self, scope: str, tag: str | None = None) -> list[str]:
        """Names of the streams of ``scope``, sorted; only those with ``tag`` if one is given.

        Internal streams (``_MARK…``, ``_RG…``) are left out. Raises `ScopeNotFoundError`.
        """
        return _run(self._core.list_streams(scope, tag))

    def list_reader_groups(self, scope: str) -> list[str]:
        """Names of the reader groups of ``scope``, sorted. Raises `ScopeNotFoundError`."""
        return _run(self._core.list_reader_groups(scope))

    def create_stream(
        self,
        scoped_name: str,
        *,
        scaling: ScalingPolicy = ScalingPolicy.fixed(1),
        retention: RetentionPolicy = RetentionPolicy.none(),
        tags: Sequence[str] = (),
        create_scope: bool = True,
    ) -> Stream:
        """Create ``scope/stream``, and its scope unless ``create_scope`` is False.

        Raises:
            AlreadyExistsError: The stream is there already, with whatever configuration.
            ScopeNotFoundError: No such scope, and ``create_scope`` is False.
            BadInputError: A name or a policy that can never work.
        """
        core = self._core.create_stream(
            scoped_name, scaling=scaling, retention=retention, tags=tags, create_scope=create_scope
        )
        return Stream(self, _run(core).scoped_name)

    def stream(self, scoped_name: str) -> Stream:
        """A handle of ``scope/stream``; asks nothing, so the stream need not exist."""
        return Stream(self, self._core.stream(scoped_name).scoped_name)

    def table(self, scoped_name: str) -> Table:
        """A handle of the table segment ``scope/name``; asks nothing. See `Table.create`."""
        return Table(self, self._core.table(scoped_name).scoped_name)

    def reader_group(self, scoped_name: str) -> ReaderGroup:
        """A handle of the reader group ``scope/group``; asks nothing, so the group need not exist."""
        from pravega_lab.client.reader_group.opening import reader_group

        return reader_group(self, scoped_name)

    def create_reader_group(self, scoped_name: str, config: ReaderGroupConfig) -> ReaderGroup:
        """Create ``scope/group``, or join it if it is there with the same configuration (B1).

        Args:
            config: As ``reader_group.reading(["scope/stream"], …)`` makes it.

        Raises:
            ConfigMismatchError: It is there with another configuration.
            ScopeNotFoundError, StreamNotFoundError: What it lives in, or reads, is missing.
        """
        group = self.reader_group(scoped_name)
        group.create(config)
        return group

    def close(self) -> None:
        """Flush and close what this process opened through this client. Closing twice is fine."""
        _run(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.uri!r})"


class Stream:
    """One stream. Cheap: nothing is open until something is asked.

    Every call raises `StreamNotFoundError` if there is no such stream.
    """

    def __init__(self, client: Client, scoped_name: str) -> None:
        self.client = client
        self.scoped_name = scoped_name
        self.scope, self.name = scoped_name.split("/")

    @property
    def _core(self) -> AsyncStream:
        return self.client._core.stream(self.scoped_name)

    def options(self) -> dict[str, str]:
        """What Spark needs to find it: ``spark.read.format("pravega").options(**stream.options())``."""
        return self._core.options()

    def exists(self) -> bool:
        """Is there such a stream? Sealed ones exist."""
        return _run(self._core.exists())

    def configuration(self) -> StreamConfiguration:
        """The policies and tags it has now."""
        return _run(self._core.configuration())

    def update(
        self,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        """Change what is given, keep the rest. Raises `StreamSealedError`."""
        _run(self._core.update(scaling=scaling, retention=retention, tags=tags))

    def seal(self) -> None:
        """End the stream: it can be read, not written. Sealing twice is fine (A8)."""
        _run(self._core.seal())

    def delete(self) -> None:
        """Delete a sealed stream. Raises `StreamNotSealedError`."""
        _run(self._core.delete())

    def segments(self) -> list[SegmentRange]:
        """The active segments, lowest key range first; empty once the stream is sealed."""
        return _run(self._core.segments())

    def epoch_segments(self, epoch: int) -> list[SegmentRange]:
        """The segments of one epoch, lowest key range first; also of epochs long gone."""
        return _run(self._core.epoch_segments(epoch))

    def successors(self, segment_id: int) -> list[Successor]:
        """What follows a sealed segment; empty for an active one and for the last ones of a sealed stream."""
        return _run(self._core.successors(segment_id))

    def segments_between(self, start: Bound, end: Bound) -> list[int]:
        """Ids of all segments with data between two cuts, ascending (so predecessors come first)."""
        return _run(self._core.segments_between(start, end))

    def scale(self, seal: Sequence[int], ranges: Sequence[tuple[float, float]]) -> list[SegmentRange]:
        """Seal active segments and put new ones in their place; returns the new ones when they are active.

        Args:
            seal: Ids of active segments.
            ranges: (low, high] of each new segment; together exactly the ranges of the sealed ones.

        Raises:
            ScaleRefusedError: A rule of A5 is broken; the message names it. Nothing has changed.
        """
        return _run(self._core.scale(seal, ranges))

    def split(self, segment_id: int, parts: int = 2) -> list[SegmentRange]:
        """`scale` one segment into ``parts`` of equal width."""
        return _run(self._core.split(segment_id, parts))

    def merge(self, segment_ids: Sequence[int]) -> SegmentRange:
        """`scale` neighbouring segments into one."""
        return _run(self._core.merge(segment_ids))

    def segment_info(self, segment_id: int) -> SegmentInfo:
        """Offsets and state of one segment. Raises `SegmentNotFoundError`."""
        return _run(self._core.segment_info(segment_id))

    def event_end(self, segment_id: int, begin: int, at_least: int) -> int:
        """The end of the first event that ends at ``at_least`` or behind it; all in bytes of one segment.

        Args:
            begin: An offset between two events: of a stream cut, or of an event.
            at_least: Not behind the end of the segment.

        Raises:
            TruncatedDataError: Events from ``begin`` on are gone.
            BadInputError: The two are not within the segment.

        Source: reference A11. Reads from ``begin`` on, for no server knows where events end.
        """
        return _run(self._core.event_end(segment_id, begin, at_least))

    def head(self) -> StreamCut:
        """The first position that can still be read."""
        return _run(self._core.head())

    def tail(self) -> StreamCut:
        """The position behind the last event of each segment, now; also valid during a scale.

        Segments are asked in parallel, so it is one moment per segment, not one for the stream.
        """
        return _run(self._core.tail())

    def truncate(self, cut: Bound) -> None:
        """Give up everything before ``cut``. Raises `BadInputError` for a cut before the head."""
        _run(self._core.truncate(cut))

    def write(self, events: Events, keys: Keys = None) -> int:
        """Write events; all are durable when it returns. Gives back how many.

        Args:
            events: One event (bytes or str), or a list, Arrow array or pandas Series of them.
            keys: Routing keys: one for all, or one per event. Events of one key keep their order.
                None, and a null among the keys, spreads events over the segments at random.

        Raises:
            EventTooLargeError: An event above 8 MiB; none was written.
            StreamSealedError, StoreFullError: The stream ended, or its store has no room. ``definite`` is NO
                if none of these events was stored, else UNKNOWN, and the message says how many were.
            StoreUnavailableError: Definite is UNKNOWN: some of the events may be in the stream.

        Source: reference A3, A11.
        """
        return _run(self._core.write(events, keys))

    def writer(self) -> EventWriter:
        """A pipelined writer; use it in a ``with`` block, whose end flushes."""
        return EventWriter(self._core.writer())

    def begin_transaction(self, lease_ms: int = LEASE_MS_MAX) -> Transaction:
        """Begin a transaction. Its lease is renewed in the background until it is left or ended.

        Use ``with stream.begin_transaction() as txn``: commits at the end, aborts after an error.

        Args:
            lease_ms: 10,000 to 600,000: how long it outlives a client that vanished (A10).

        Raises:
            StreamSealedError: The stream takes no more events.
        """
        return Transaction(_run(self._core.begin_transaction(lease_ms)))

    def transaction(self, txn_id: UUID) -> Transaction:
        """A handle of a transaction by its id, for ``state``, ``commit``, ``abort``; asks nothing."""
        return Transaction(self._core.transaction(txn_id))

    def read(
        self,
        start: Bound = HEAD,
        end: Bound = TAIL,
        *,
        batch_bytes: int = 8 * MIB,
        segments: Sequence[int] | None = None,
        ordered: bool = True,
    ) -> Batches:
        """Read the events between two stream cuts; a successor never before its predecessors.

        Use ``with stream.read() as batches: for batch in batches: ...``. Leaving the block gives the
        connections back at once, also after ``break``.

        Args:
            start: First position. ``HEAD`` is the truncation point when the block is entered.
            end: Position after the last event. ``TAIL`` is fixed when the block is entered, so the
                read ends although writers go on.
            batch_bytes: Most payload per batch, in bytes (what one read brings is less: 2 MiB). A larger
                event comes whole, alone.
            segments: Read these only (ids), as far as they lie between the cuts.
            ordered: False reads every segment at once, without waiting for predecessors.

        Batches: one segment's events in offset order, never empty. Columns: event (binary),
        segment_id (int64), offset (int64, bytes from the segment's start to the event's header).

        Raises (on entering or while iterating):
            TruncatedDataError: Events after ``start`` are gone; reading from ``error.resume_at`` works.
            BadInputError: A cut of another stream, or ``end`` before ``start``.
            StoreUnavailableError: Retries ended after ``retry_for_s`` seconds; safe to call again.

        Source: reference A9, D4. An end offset of -1 means the sealed length.
        """
        return Batches(
            self._core.read(start, end, batch_bytes=batch_bytes, segments=segments, ordered=ordered)
        )

    def follow(self, start: Bound = HEAD, *, batch_bytes: int = 8 * MIB) -> Batches:
        """Like `read` without an end: waits at the tail, and ends only when the stream is sealed.

        Events come as soon as they are durable. To stop waiting, leave the block, or use
        `Batches.next_batch` with a timeout.
        """
        return Batches(self._core.follow(start, batch_bytes=batch_bytes))

    def segment_reader(
        self, start: Bound = HEAD, end: Bound | None = None, *, segments: Sequence[int] | None = None
    ) -> OrderedSegmentReader:
        """Read segment by segment, in an order of your own that respects predecessors.

        Args:
            start: First position.
            end: None: go on until the stream is sealed.
            segments: As in `read`.
        """
        return OrderedSegmentReader(self._core.segment_reader(start, end, segments=segments))

    def __repr__(self) -> str:
        return f"Stream({self.scoped_name!r} at {self.client.uri})"


class EventWriter:
    """Writes without waiting for each acknowledgement. A context manager: leaving it flushes and closes;
    after an error in the block it closes at once, and what was not flushed may or may not be written.

    Events of one routing key stay in order, also through scaling and reconnects, and none is doubled.
    After an error the writer is of no more use: all later calls raise the same error.
    """

    def __init__(self, core: AsyncEventWriter) -> None:
        self._core = core

    def write(self, events: Events, keys: Keys = None) -> int:
        """Take events for writing; waits only while too much is unacknowledged. See `Stream.write`."""
        return _run(self._core.write(events, keys))

    def flush(self) -> None:
        """Wait until all events taken so far are durable."""
        _run(self._core.flush())

    def note_time(self, time: int) -> None:
        """Flush, then let readers know that what this writer writes from now on is of ``time`` or later.

        Any whole number, by convention milliseconds since 1970; readers see it by `Reader.time_window` once
        all writers of the stream that note times have gone on, or were silent for 10 s (A12).

        Raises:
            BadInputError: Earlier than what this writer noted before.
        """
        _run(self._core.note_time(time))

    def close(self) -> None:
        """Flush, then close the connections."""
        _run(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _run(self._core.__aexit__(kind, error, trace))


class Transaction:
    """Events that become readable together, or never (A10).

    A context manager: commits at the end of the block (and waits for ``COMMITTED``), aborts after an error.
    """

    def __init__(self, core: AsyncTransaction) -> None:
        self._core = core
        self.txn_id: UUID = core.txn_id

    def write(self, events: Events, keys: Keys = None) -> int:
        """Take events for the transaction. See `EventWriter.write`.

        Raises:
            TransactionFailedError: It was aborted or its lease ended.
            BadInputError: This handle came from `Stream.transaction`, which cannot write.
        """
        return _run(self._core.write(events, keys))

    def flush(self) -> None:
        """Wait until all events taken so far are durable in the transaction."""
        _run(self._core.flush())

    def commit(self, wait: bool = False, *, timestamp: int | None = None, writer: str | None = None) -> None:
        """Flush and commit. Without ``wait`` it is decided (``COMMITTING``) but may not be readable yet.

        Committing what is committed is fine.

        Args:
            timestamp: What `EventWriter.note_time` takes, noted together with the commit: what its writer
                commits after this is of that time or later. An earlier one than before is not noted.
            writer: Whose time that is: the same name in each of its transactions. By default those of this
                client are one writer. Readers see the time of the slowest that goes on noting times.

        Raises:
            TransactionFailedError: It was aborted or its lease ended; none of its events can be read.
            BadInputError: ``timestamp`` is no number of 64 bits, or the least of them.
        """
        _run(self._core.commit(wait, timestamp=timestamp, writer=writer))

    def abort(self) -> None:
        """Drop its events. Aborting what is aborted is fine.

        Raises:
            TransactionFailedError: It is committed already (``state`` says so: the events are there).
        """
        _run(self._core.abort())

    def state(self) -> TransactionState:
        """What the controller says about it now."""
        return _run(self._core.state())

    def wait_until(
        self, state: TransactionState = TransactionState.COMMITTED, *, timeout_s: float = 120.0
    ) -> None:
        """Wait for a final state.

        Raises:
            TransactionFailedError: It ended in the other one.
            StoreUnavailableError: Still undecided after ``timeout_s`` seconds.
        """
        _run(self._core.wait_until(state, timeout_s=timeout_s))

    def close(self) -> None:
        """Let go without ending it: no more renewals, connections closed; its id can be resumed."""
        _run(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _run(self._core.__aexit__(kind, error, trace))


class Batches:
    """Arrow record batches of a read; a context manager, then an iterator. See `Stream.read`."""

    def __init__(self, core: AsyncBatches) -> None:
        self._core = core

    def next_batch(self, timeout_s: float | None = None) -> pa.RecordBatch | None:
        """The next batch; None when the read has ended or ``timeout_s`` passed without one (see `ended`)."""
        return _run(self._core.next_batch(timeout_s))

    def next_batches(self, bytes_max: int = 8 * MIB) -> list[pa.RecordBatch]:
        """The next batch and those that are there already, together; empty when the read has ended.

        One call into the loop for all of them: with many small segments most of a read's time otherwise. A
        read with an end waits up to 50 ms for as many as ``bytes_max`` of them.
        """
        return _run(self._core.next_batches(bytes_max))

    @property
    def ended(self) -> bool:
        """True once everything up to the end was handed out."""
        return self._core.ended

    def position(self) -> StreamCut:
        """The cut behind all batches handed out: reading from here gives what is left."""
        return self._core.position()

    def close(self) -> None:
        """Give the connections back."""
        _run(self._core.close())

    def __enter__(self) -> Self:
        _run(self._core.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        batch = self.next_batch()
        if batch is None:
            raise StopIteration
        return batch


class OrderedSegmentReader:
    """Offers segments for reading, a successor only after all its predecessors were read to their end.

    A context manager. Segments that are offered may be read in any order and interleaved.
    """

    def __init__(self, core: AsyncOrderedSegmentReader) -> None:
        self._core = core

    def available(self) -> list[int]:
        """Ids of the segments that may be read now, ascending; empty once all is read (see `ended`)."""
        return self._core.available()

    def read(
        self, segment_id: int, *, max_bytes: int = 8 * MIB, timeout_s: float | None = 0.0
    ) -> pa.RecordBatch | None:
        """The next events of one available segment, columns as in `Stream.read`.

        None: nothing came within ``timeout_s`` seconds (None waits), or the segment has ended and is no
        longer among `available`; its successors then are, if their other predecessors have ended too.

        Raises:
            BadInputError: The segment is not available; the message says what has to be read first.
            TruncatedDataError: Events at the position are gone; see ``resume_at``.
        """
        return _run(self._core.read(segment_id, max_bytes=max_bytes, timeout_s=timeout_s))

    @property
    def ended(self) -> bool:
        """True once every segment up to the end (or to the seal of the stream) was read."""
        return self._core.ended

    def position(self) -> StreamCut:
        """The cut behind everything handed out. Covers the key space, also in the middle of a merge:

        a segment that is fully read stays in it with offset -1 until its successor is available.
        """
        return self._core.position()

    def close(self) -> None:
        """Give the connections back."""
        _run(self._core.close())

    def __enter__(self) -> Self:
        _run(self._core.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Table:
    """A table segment: keys to values, each with a version (A13). Keys ≤ 8 KiB, values < 1 MiB.

    Calls raise `NotFoundError` before `create`. The name on the wire is ``scope/<name>_kvtable/0.#epoch.0``,
    made at the segment store directly, as the official Python client does for its reader groups (C4).
    """

    def __init__(self, client: Client, scoped_name: str) -> None:
        self.client = client
        self.scoped_name = scoped_name

    @property
    def _core(self) -> AsyncTable:
        return self.client._core.table(self.scoped_name)

    def create(self) -> bool:
        """Create it. False: it was there already."""
        return _run(self._core.create())

    def get(self, key: bytes) -> TableValue | None:
        """The value and version of a key; None if it has none."""
        return _run(self._core.get(key))

    def get_many(self, keys: Sequence[bytes]) -> list[TableValue | None]:
        """As `get`, for several keys in one request."""
        return _run(self._core.get_many(keys))

    def put(self, key: bytes, value: bytes, version: int = NO_VERSION) -> int:
        """Set a value; returns its version.

        Args:
            version: ``NO_VERSION``: whatever is there. ``NOT_EXISTS``: only if the key is absent. Else:
                only if this is its version.

        Raises:
            ConditionFailedError: The key has another version. Nothing was changed. After a lost connection
                the put is looked up, so this is not raised for the caller's own put.
            ConditionUnknownError: The same, but the connection was lost in between and somebody else's value
                is there: the put may have happened before that one.
        """
        return _run(self._core.put(key, value, version))

    def remove(self, key: bytes, version: int = NO_VERSION) -> None:
        """Remove a key, on the condition ``version`` as in `put`. Without one an absent key is fine."""
        _run(self._core.remove(key, version))

    def items(self) -> dict[bytes, TableValue]:
        """All keys with their values, in the order of the store."""
        return _run(self._core.items())

    def delete(self) -> bool:
        """Delete the table with all it holds. False: there was none."""
        return _run(self._core.delete())

    def __repr__(self) -> str:
        return f"Table({self.scoped_name!r} at {self.client.uri})"

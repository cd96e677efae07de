"""Reader groups as the controller knows them: configuration, state stream, subscriptions.

The readers of a group coordinate in the stream ``_RG<group>``, which the controller never reads.

Source: reader-groups.md B1, B7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from uuid import UUID

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import READER_GROUP_PREFIX, is_valid_user_name

from ..metadata import cuts
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry
from ..metadata.metadata import Change, Metadata
from .removals import Removals
from .streams import StreamCalls, fixed_config

NO_ID = UUID(int=0)
RETENTION_TYPES = 3


class ReaderGroupCalls:
    """The calls createReaderGroup, updateReaderGroup, getReaderGroupConfig and deleteReaderGroup, and
    those on subscribers.
    """

    def __init__(
        self, metadata: Metadata, streams: StreamCalls, removals: Removals, ids: Callable[[], UUID]
    ) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._streams = streams
        self._removals = removals
        self._ids = ids

    def create(self, request: pb.ReaderGroupConfiguration, now_ms: int) -> pb.CreateReaderGroupResponse:
        """Create the group, or return an existing one as it is (pravega.md E5)."""
        response = pb.CreateReaderGroupResponse
        _check(request)
        if not is_valid_user_name(request.readerGroupName):
            return response(status=response.INVALID_RG_NAME)
        if not self._catalog.accepts(request.scope):
            return response(status=response.SCOPE_NOT_FOUND)
        found = self._find(request.scope, request.readerGroupName)
        if found is not None:
            return response(config=_config(found))
        config = pb.ReaderGroupConfiguration()
        config.CopyFrom(request)
        config.generation = 0
        is_new = request.readerGroupId in ("", str(NO_ID))  # upstream's clients let the controller choose
        config.readerGroupId = str(self._ids()) if is_new else request.readerGroupId
        change = Change()
        self._add_state_stream(change, config, now_ms)
        self._add(change, config, now_ms)
        self._metadata.commit(change, now_ms=now_ms)
        return response(config=config)

    def update(self, request: pb.ReaderGroupConfiguration, now_ms: int) -> pb.UpdateReaderGroupResponse:
        """Replace the configuration if the caller knows the present generation and id.

        The generation grows by 1. A refusal repeats the generation of the caller, as upstream. A subscriber
        that begins before what it has released holds back everything from its new start.
        """
        response = pb.UpdateReaderGroupResponse
        _check(request)
        found = self._find(request.scope, request.readerGroupName)
        if found is None:
            return response(status=response.RG_NOT_FOUND, generation=request.generation)
        known = _config(found)
        if (request.generation, request.readerGroupId) != (known.generation, known.readerGroupId):
            return response(status=response.INVALID_CONFIG, generation=request.generation)
        config = pb.ReaderGroupConfiguration()
        config.CopyFrom(request)
        config.generation += 1
        change = Change()
        kept = [stream.scoped_name for stream in self._subscribed(config)]
        gone = (s for s in self._subscribed(known) if s.scoped_name not in kept)
        change.remove(*(s.subscribers[_scoped(found)] for s in gone if _scoped(found) in s.subscribers))
        self._add(change, config, now_ms)
        self._metadata.commit(change, now_ms=now_ms)
        return response(generation=config.generation)

    def configuration(self, request: pb.ReaderGroupInfo, now_ms: int) -> pb.ReaderGroupConfigResponse:
        """Return the configuration of a group."""
        response = pb.ReaderGroupConfigResponse
        found = self._find(request.scope, request.readerGroup)
        if found is None:
            return response(config=pb.ReaderGroupConfiguration(), status=response.RG_NOT_FOUND)
        return response(config=_config(found))

    def delete(self, request: pb.ReaderGroupInfo, now_ms: int) -> pb.DeleteReaderGroupStatus:
        """Delete a group if the caller knows its id."""
        status = pb.DeleteReaderGroupStatus
        found = self._find(request.scope, request.readerGroup)
        if found is None or _config(found).readerGroupId != request.readerGroupId:
            return status(status=status.RG_NOT_FOUND)
        self.delete_now(found, now_ms)
        return status(status=status.SUCCESS)

    def delete_now(self, group: rec.GroupRecord, now_ms: int) -> None:
        """Delete a group with its state stream and its subscriptions, also those in other scopes."""
        change = Change()
        for stream in self._subscribed(_config(group)):
            if _scoped(group) in stream.subscribers:
                change.remove(stream.subscribers[_scoped(group)])
        state = self._catalog.find(group.scope, READER_GROUP_PREFIX + group.group)
        if state is not None:
            self._removals.add_deletion(change, state, now_ms)
        change.remove(group)
        self._metadata.commit_what_is_left(change, now_ms=now_ms)

    def subscribers(self, request: pb.StreamInfo, now_ms: int) -> pb.SubscribersResponse:
        """Return the groups that hold back retention of a stream, as ``scope/group``."""
        response = pb.SubscribersResponse
        stream = self._catalog.find(request.scope, request.stream)
        if stream is None:
            return response(status=response.STREAM_NOT_FOUND)
        return response(subscribers=sorted(stream.subscribers))

    def update_cut(self, request: pb.SubscriberStreamCut, now_ms: int) -> pb.UpdateSubscriberStatus:
        """Keep the stream cut up to which a group has finished a stream (reader-groups.md B7)."""
        info = request.streamCut.streamInfo
        stream = self._catalog.find(info.scope, info.stream)
        status = pb.UpdateSubscriberStatus
        if stream is None:
            return status(status=status.STREAM_NOT_FOUND)
        record = stream.subscribers.get(request.subscriber)
        if record is None:
            return status(status=status.SUBSCRIBER_NOT_FOUND)
        if not self._is_current(request):
            return status(status=status.GENERATION_MISMATCH)
        cut = dict(sorted(request.streamCut.cut.items()))
        is_cut = bool(cut) and cuts.is_valid(stream.epochs, cut) and not self._streams.open_ends(stream, cut)
        if not is_cut or not _is_later(stream, cut, record):
            return status(status=status.STREAM_CUT_NOT_VALID)
        change = Change()
        change.write(replace(record, cut=cut, now_ms=now_ms))
        self._metadata.commit(change, now_ms=now_ms)
        return status(status=status.SUCCESS)

    def _is_current(self, request: pb.SubscriberStreamCut) -> bool:
        scope, _, group = request.subscriber.partition("/")
        found = self._find(scope, group)
        if found is None:
            return False
        config = _config(found)
        return (config.generation, config.readerGroupId) == (request.generation, request.readerGroupId)

    def _find(self, scope: str, group: str) -> rec.GroupRecord | None:
        entry = self._catalog.scopes.get(scope)
        return entry.groups.get(group) if entry else None

    def _add(self, change: Change, config: pb.ReaderGroupConfiguration, now_ms: int) -> None:
        name = f"{config.scope}/{config.readerGroupName}"
        encoded = config.SerializeToString(deterministic=True)
        change.write(rec.GroupRecord(now_ms, config.scope, config.readerGroupName, encoded))
        for stream in self._subscribed(config):
            record = stream.subscribers.get(name)
            if record is None or not _is_later(stream, start_of(stream, config), record):
                change.write(rec.SubscriberRecord(now_ms, stream.scope, stream.name, name, {}))

    def _add_state_stream(self, change: Change, config: pb.ReaderGroupConfiguration, now_ms: int) -> None:
        name = READER_GROUP_PREFIX + config.readerGroupName
        if self._catalog.find(config.scope, name) is None:
            made = fixed_config(config.scope, name)
            made.rolloverSizeBytes = config.rolloverSizeBytes
            self._streams.add_creation(change, made, now_ms)

    def _subscribed(self, config: pb.ReaderGroupConfiguration) -> Iterator[StreamEntry]:
        """Return the streams on which a group with this configuration holds back retention."""
        infos = [cut.streamInfo for cut in config.startingStreamCuts] if config.retentionType else []
        found = (self._catalog.find(info.scope, info.stream) for info in infos)
        return (stream for stream in found if stream is not None)


def _check(config: pb.ReaderGroupConfiguration) -> None:
    """Raise BadInputError for a configuration that no group can have (reader-groups.md B1)."""
    if not config.startingStreamCuts:
        raise BadInputError("a reader group reads at least one stream")
    if config.maxOutstandingCheckpointRequest <= 0:
        raise BadInputError("maxOutstandingCheckpointRequest is at least 1")
    if not 0 <= config.retentionType < RETENTION_TYPES:
        raise BadInputError(f"there is no retention type {config.retentionType}")
    try:
        UUID(config.readerGroupId or str(NO_ID))
    except ValueError as error:
        raise BadInputError(f"the id {config.readerGroupId!r} is not a UUID") from error
    ends = {(end.streamInfo.scope, end.streamInfo.stream): end.cut for end in config.endingStreamCuts}
    for start in config.startingStreamCuts:
        info = start.streamInfo
        end = ends.get((info.scope, info.stream))
        if start.cut and end and not _may_end_at(start.cut, end):
            name = f"{info.scope}/{info.stream}"
            order = f"the end {dict(end)} lies before the start {dict(start.cut)}"
            raise BadInputError(f"stream {name}: {order}")


def _may_end_at(start: Mapping[int, int], end: Mapping[int, int]) -> bool:
    """Return whether ``end`` may follow ``start``, as far as it shows without the stream's epochs."""
    if min(start) > min(end) or max(start) > max(end):
        return False
    shared = ((start[i], end[i]) for i in start if i in end)
    return all(last == -1 or 0 <= first <= last for first, last in shared)


def _config(record: rec.GroupRecord) -> pb.ReaderGroupConfiguration:
    return pb.ReaderGroupConfiguration.FromString(record.config)


def start_of(stream: StreamEntry, config: pb.ReaderGroupConfiguration) -> Mapping[int, int]:
    """Return where a group with this configuration begins to read a stream: at its starting cut, or at the
    head.
    """
    for start in config.startingStreamCuts:
        if (start.streamInfo.scope, start.streamInfo.stream) == (stream.scope, stream.name):
            cut = dict(start.cut)
            if cut and cuts.is_valid(stream.epochs, cut):
                return cut
    return stream.head


def _scoped(record: rec.GroupRecord) -> str:
    return f"{record.scope}/{record.group}"


def _is_later(stream: StreamEntry, cut: Mapping[int, int], record: rec.SubscriberRecord) -> bool:
    return not record.cut or cuts.is_not_before(stream.epochs, cut, record.cut)

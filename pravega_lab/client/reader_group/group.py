"""Provide `AsyncReaderGroup`: operations on a group as a whole. `sync.ReaderGroup` states the contracts."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.calls import complete
from pravega_lab.client.reader_group.core.checkpoints import SILENT
from pravega_lab.client.reader_group.core.reader import go_offline
from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.client.reader_group.errors import (
    CheckpointFailedError,
    CheckpointTimeoutError,
    ConfigMismatchError,
    ReaderGroupNotFoundError,
    TooManyCheckpointsError,
)
from pravega_lab.client.reader_group.event_reader import AsyncReader, open_reader
from pravega_lab.client.reader_group.explain import Explanation, explain_state
from pravega_lab.client.reader_group.values import Checkpoint, GroupMetrics, Position, stream_of
from pravega_lab.client.reading.cuts import bounds_between, segments_between, settled
from pravega_lab.client.reading.lineage import without_placeholders
from pravega_lab.errors import (
    AlreadyExistsError,
    BadInputError,
    NotFoundError,
    RefusedError,
    SegmentNotFoundError,
)
from pravega_lab.portable.closing import ClosedByAsyncWith
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig, RetentionType, Update
from pravega_lab.protocol.names import parse_segment_name, split_scoped_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ, UNBOUNDED, StreamCut

POLL_S_MIN = 0.02
POLL_S_MAX = 0.5


class AsyncPendingCheckpoint:
    """Implements `sync.PendingCheckpoint` with asyncio, under the same contract."""

    def __init__(self, group: AsyncReaderGroup, name: str) -> None:
        self.name = name
        self._group = group

    async def result(self, timeout_s: float | None = None) -> Checkpoint:
        """Wait until the checkpoint is complete, and return it."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._group._checkpoint(self.name)
        except TimeoutError:
            silent = self._group._access.state.checkpoints.waiting_for(self.name)
            raise CheckpointTimeoutError(
                f"checkpoint {self.name!r} of {self._group.scoped_name}: within {timeout_s} s no report of "
                f"readers {list(silent)}. A reader reports when it reads next. The checkpoint is in "
                "progress: let these readers read, declare dead ones offline, and ask again"
            ) from None

    async def waiting_for(self) -> tuple[str, ...]:
        """Return the readers that have not reported yet."""
        state = await self._group.state()
        return state.checkpoints.waiting_for(self.name)


class AsyncReaderGroup(ClosedByAsyncWith):
    """Implements `sync.ReaderGroup` with asyncio, under the same contract.

    Args:
        make_access: Returns a new access to the group. This handle has one, and so has each reader.
    """

    def __init__(self, make_access: Callable[[], GroupAccess]) -> None:
        self._make_access = make_access
        self._access = make_access()
        self.scoped_name = self._access.group
        self.scope, self.name = split_scoped_name(self.scoped_name)

    # creating and deleting

    async def create(self, config: ReaderGroupConfig) -> bool:
        """Create the group and return True, or False if it existed with the same configuration."""
        asked = complete(config)
        wanted = await self._access.with_group_bounds(asked)
        found = await self._access.calls.create(wanted)
        if found not in (wanted, asked):  # Java, and a release before this one, leave ends as they are
            raise ConfigMismatchError(
                f"group {self.scoped_name} is there with another configuration: {found}; delete or reset it"
            )
        if found.generation > 0:
            return False
        try:
            beginning = await self._access.checked_beginning(found)
        except (NotFoundError, BadInputError):
            await self._drop_half_made(found)
            raise
        return await self._access.sync.initialize(beginning)

    async def _drop_half_made(self, config: ReaderGroupConfig) -> None:
        """Delete a group that cannot begin as configured, if it has no state, so that no reader uses it."""
        access = self._make_access()  # the log of a group that is created again is another stream
        try:
            await access.sync.fetch()
            if not access.sync.has_state:
                await access.calls.delete(config)
        finally:
            await access.close()

    async def delete(self) -> bool:
        """Delete the group and return True, or False if there was none."""
        try:
            return await self._access.calls.delete(await self._access.calls.config())
        except ReaderGroupNotFoundError:
            return False

    async def close(self) -> None:
        """Close this handle's connection. Its readers stay open."""
        await self._access.close()

    # state

    async def state(self) -> GroupState:
        """Return the present shared state. Later calls change the same object."""
        return await self._access.fetch()

    async def config(self) -> ReaderGroupConfig:
        """Return what the group reads and how, as of its last reset."""
        return (await self.state()).config

    async def online_readers(self) -> list[str]:
        """Return the ids of the readers online."""
        return (await self.state()).readers

    async def assignments(self) -> dict[str, dict[str, int]]:
        """Return, for each reader online, its segments with their stored offsets."""
        state = await self.state()
        return {reader: dict(held) for reader, held in state.assigned.items()}

    async def stream_cuts(self) -> dict[str, StreamCut]:
        """Return cuts from the stored offsets, without asking the readers."""
        state = await self.state()
        return await self._access.whole_cuts(state.positions() | state.merged_positions())

    async def last_checkpoint_cuts(self) -> dict[str, StreamCut] | None:
        """Return the cuts of the last complete checkpoint that was not silent, or None."""
        state = await self.state()
        if not state.has_last_checkpoint:
            return None
        return await self._access.whole_cuts(state.checkpoints.last_positions)

    async def unread_bytes(self) -> int:
        """Return the bytes after the last checkpoint, or after the stored offsets."""
        state = await self.state()
        cuts = await self.last_checkpoint_cuts() or await self.stream_cuts()
        streams = [self._unread_of(state, cut) for cut in cuts.values()]
        return sum(await gather(*streams))

    async def _unread_of(self, state: GroupState, cut: StreamCut) -> int:
        context = self._access.stream(cut.scoped_stream)
        begins = without_placeholders(cut.positions, await context.ranges(list(cut.positions)))
        end = state.config.ending_stream_cuts.get(cut.scoped_stream, UNBOUNDED)
        if end.is_unbounded:
            between = await segments_between(context, cut, None)
        else:
            end, between = await bounds_between(context, cut, begins, end)
        ends, unread = end.positions, 0
        for segment in between:
            begin = begins.get(segment, 0)
            if begin == SEGMENT_READ:
                continue
            try:
                info = await context.info(segment)
            except SegmentNotFoundError:
                continue  # it was truncated since then, so no reader can read it
            last = ends.get(segment, SEGMENT_READ)
            last = info.write_offset if last == SEGMENT_READ else last
            unread += max(0, last - max(begin, info.start_offset))
        return unread

    async def metrics(self) -> GroupMetrics:
        """Return `unread_bytes` and the numbers of readers, segments and checkpoints."""
        unread = await self.unread_bytes()
        state = self._access.state
        outstanding = len(state.checkpoints.outstanding())
        return GroupMetrics(
            unread,
            len(state.readers),
            state.n_segments,
            len(state.unassigned),
            len(state.future),
            outstanding,
        )

    async def explain(self) -> Explanation:
        """Return the state of the group in sentences."""
        state = await self.state()
        lengths = await self._lengths(list(state.positions()))
        successors = {}
        for segment in state.ended():
            with suppress(NotFoundError):  # its stream was deleted
                successors[segment] = await self._access.successors(segment)
        return explain_state(self.scoped_name, state, lengths, successors, now_ms=self._access.clock_ms())

    async def _lengths(self, segments: Sequence[str]) -> dict[str, int]:
        """Return the length of each segment in bytes, leaving out segments that no longer exist."""
        found = {}
        for segment in segments:
            with suppress(NotFoundError):
                info = await self._access.stream(stream_of(segment)).info(
                    parse_segment_name(segment).segment_id
                )
                found[segment] = info.write_offset
        return found

    # readers

    async def create_reader(
        self, reader_id: str, *, initial_delay_ms: int = 0, checkpoint_at_segment_end: bool = False
    ) -> AsyncReader:
        """Return a new reader, online."""
        return await open_reader(
            self._make_access(),
            reader_id,
            initial_delay_ms,
            checkpoint_at_segment_end=checkpoint_at_segment_end,
        )

    async def reader_offline(self, reader_id: str, position: Position | None = None) -> bool:
        """Declare a reader dead, so that others take its segments. Return False if it was not online."""
        if not isinstance(position, Position | None):
            raise BadInputError(f"reader_offline: {position!r:.80} is no position; give reader.position()")
        await self._access.fetch()
        at = {} if position is None else dict(position.segments)
        return bool(await self._access.sync.update(go_offline(reader_id, at)))

    # checkpoints

    async def initiate_checkpoint(self, name: str) -> AsyncPendingCheckpoint:
        """Begin a reader-group checkpoint."""
        if not isinstance(name, str):
            raise BadInputError(f"checkpoint {name!r}: its name is a text")
        await self._access.fetch()
        if SILENT in name:
            raise BadInputError(f"checkpoint {name!r}: {SILENT} marks the group's own, silent ones")

        def decide(state: GroupState) -> list[Update]:
            outstanding = state.checkpoints.outstanding()
            if name in state.checkpoints.positions:
                raise AlreadyExistsError(f"group {self.scoped_name} has a checkpoint {name!r} already")
            if len(outstanding) >= state.config.max_outstanding_checkpoint_request:
                raise TooManyCheckpointsError(
                    f"{len(outstanding)} checkpoints of {self.scoped_name} wait for readers ({outstanding}); "
                    "wait for one, or cancel_outstanding_checkpoints()"
                )
            return [rg.CreateCheckpoint(name)]

        await self._access.sync.update(decide)
        return AsyncPendingCheckpoint(self, name)

    async def cancel_outstanding_checkpoints(self) -> None:
        """Drop the checkpoints that wait for readers."""
        await self._access.fetch()
        await self._access.sync.update(
            lambda state: [rg.RemoveOutstandingCheckpoints()] if state.checkpoints.outstanding() else []
        )

    async def generate_stream_cuts(self, timeout_s: float | None = None) -> Mapping[str, StreamCut]:
        """Return the present positions as a consistent cut of each stream, by a silent checkpoint."""
        await self._access.fetch()
        drawn = self._access.stores.chance.randbytes(32)
        name = base64.b64encode(drawn).decode() + SILENT
        await self._access.sync.update(lambda _: [rg.CreateCheckpoint(name)])
        return (await AsyncPendingCheckpoint(self, name).result(timeout_s)).stream_cuts

    async def _checkpoint(self, name: str) -> Checkpoint:
        """Wait until every reader has reported. Then clear the checkpoints that were begun earlier."""
        pause_s = POLL_S_MIN
        while True:
            state = await self._access.fetch()
            if state.checkpoints.is_complete(name):
                break
            if name not in state.checkpoints.positions:
                raise CheckpointFailedError(
                    f"checkpoint {name!r} of {self.scoped_name} was cleared or cancelled before all readers "
                    "had reported; initiate another one"
                )
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, POLL_S_MAX)
        cuts = await self._access.whole_cuts(state.checkpoints.positions[name])
        await self._access.sync.append([rg.ClearCheckpointsBefore(name)])
        return Checkpoint(name, cuts)

    # reset, retention

    async def reset(
        self,
        to: Checkpoint | Mapping[str, StreamCut] | None = None,
        *,
        config: ReaderGroupConfig | None = None,
    ) -> None:
        """Restart the group at other positions, or with another configuration."""
        state = await self._access.fetch()
        if to is not None and config is not None:
            raise BadInputError("reset: pass a place or a configuration, not both")
        if not isinstance(to, Checkpoint | Mapping | None):
            raise BadInputError(f"reset({to!r}): pass a Checkpoint, or a dict with a cut for each stream")
        if config is None:
            cuts = to.stream_cuts if isinstance(to, Checkpoint) else to
            if cuts is None:
                cuts = await self.last_checkpoint_cuts() or {}
            strangers = [stream for stream in cuts if stream not in state.streams()]
            if strangers:
                raise BadInputError(f"group {self.scoped_name} does not read {strangers}")
            config = self._access.config_from(cuts)
        await self._reset(await self._access.with_group_bounds(complete(config)))

    async def _reset(self, config: ReaderGroupConfig) -> None:
        """Announce the reset, update the controller, then begin again (reader-groups.md B6).

        If this program dies in between, a reader finishes the reset.
        """
        now = await self._access.calls.config()
        known = replace(config, generation=now.generation, reader_group_id=now.reader_group_id)
        await self._access.checked_beginning(known)  # raises for impossible cuts before anything is written
        await self._access.sync.update(
            lambda state: [] if state.updating_config else [rg.UpdatingConfig(True)]
        )
        generation = await self._access.calls.update(known)
        await self._access.begin_again(replace(known, generation=generation))

    async def compact(self) -> bool:
        """Replace the state log by the state. Return False if another member did."""
        await self._access.fetch()
        return await self._access.sync.compact()

    async def update_retention_stream_cut(self, cuts: Mapping[str, StreamCut]) -> None:
        """Allow the streams to truncate before ``cuts``, for groups with manual retention."""
        state = await self._access.fetch()
        if state.config.retention_type is not RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT:
            raise BadInputError(
                f"group {self.scoped_name} releases {state.config.retention_type.name}; only a group with "
                "MANUAL_RELEASE_AT_USER_STREAMCUT accepts cuts"
            )
        for stream, cut in cuts.items():
            at = await settled(self._access.stream(stream), cut)
            if not await self._access.calls.publish(state.config, at):
                raise RefusedError(
                    f"the controller refused {cut} as what {self.scoped_name} is done with in {stream}: it "
                    "must cover the key space and not lie before the last one"
                )

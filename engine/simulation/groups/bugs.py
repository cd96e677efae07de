"""Planted bugs of reader groups, which `groups.checkers` must find. Production code never reaches this
module.

Each replaces one piece of the client or the store while its `planted` block runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pravega_lab.client.reader_group import access, event_reader, group
from pravega_lab.client.reader_group.core import assignment, state
from pravega_lab.client.reader_group.core.checkpoints import Checkpoints
from pravega_lab.client.reader_group.core.reader import ReaderCore, Successors, go_offline
from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.time_windows import Place, StreamTime
from pravega_lab.client.reader_group.values import TimeWindow
from pravega_lab.client.reading.event_source import SegmentSource
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream
from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.names import parse_segment_name

from ...store.streams import watermarks, writer_times
from ..kernel.planted import Bug, Registering, Replacement, registering
from .java_rule import JavaRuleReader

GROUP_BUGS: dict[str, Bug] = {}


def _bug(name: str, checker: str = "", scenario: str = "groups") -> Registering:
    return registering(GROUP_BUGS, name, scenario, checker)


# -- the state log -------------------------------------------------------------------------------------------


@_bug("no-condition")
def _no_condition() -> list[Replacement]:
    """A conditional append succeeds even after other appends."""
    right = AsyncRevisionedStream.append_if_at

    async def wrong(self: AsyncRevisionedStream, revision: Any, data: bytes) -> Any:
        return await right(self, await self.latest(), data)

    return [(AsyncRevisionedStream, "append_if_at", wrong)]


@_bug("own-update-lost")
def _own_update_lost() -> list[Replacement]:
    """An update that lost the race is dropped, and counts as written."""

    async def wrong(self: Any, decide: Callable[[Any], Sequence[Any]]) -> Sequence[Any]:
        async with self._turn:
            updates = decide(self.state)
            if updates and not await self._write(self._rules.write(updates), updates):
                self._apply(self.revision, updates)
            return updates

    return [(AsyncStateSynchronizer, "update", wrong)]


@_bug("mark-behind-the-state")
def _mark_behind() -> list[Replacement]:
    """Compaction marks the end of the whole state, where a new reader finds no state."""
    right = AsyncRevisionedStream.set_mark

    async def wrong(self: AsyncRevisionedStream, revision: Any, expected: Any) -> bool:
        return await right(self, await self.latest(), expected)

    return [(AsyncRevisionedStream, "set_mark", wrong)]


# -- checkpoints ---------------------------------------------------------------------------------------------


@_bug("compaction-forgets-offsets", "compaction")
def _forget_offsets() -> list[Replacement]:
    """A compacted state has every held segment at offset 0."""
    right = GroupState.to_compact

    def wrong(self: GroupState) -> rg.CompactReaderGroupState:
        held = {reader: dict.fromkeys(segments, 0) for reader, segments in self.assigned.items()}
        return replace(right(self), assigned_segments=held)

    return [(GroupState, "to_compact", wrong)]


@_bug("merge-not-covered", "whole cut")
def _merge_not_covered() -> list[Replacement]:
    """Checkpoints and cuts lack the read half of a merge, as they do upstream."""

    async def as_it_is(context: Any, positions: Mapping[int, int], end: Any = None) -> dict[int, int]:
        return dict(positions)

    return [
        (GroupState, "merged_positions", lambda self, checkpoint_id=None: {}),
        (access, "whole", as_it_is),
    ]


@_bug("reported-late", "consistent cut")
def _reported_late() -> list[Replacement]:
    """Events are delivered between a checkpoint and its report."""
    right, asked = ReaderCore.is_quiet, count()

    def wrong(self: ReaderCore, now_ms: int) -> bool:
        return right(self, now_ms) or (self.at_checkpoint is not None and next(asked) % 4 != 0)

    return [(ReaderCore, "is_quiet", wrong)]


@_bug("checkpoint-too-early")
def _too_early() -> list[Replacement]:
    """A checkpoint is complete as soon as one reader has reported."""

    def wrong(self: Checkpoints, checkpoint_id: str) -> bool:
        return checkpoint_id in self.positions and any(self.positions[checkpoint_id])

    return [(Checkpoints, "is_complete", wrong)]


# -- segments ------------------------------------------------------------------------------------------------


@_bug("first-predecessor-only", "order")
def _first_predecessor() -> list[Replacement]:
    """A merged segment waits for only one of its predecessors."""
    right = access.GroupAccess.successors

    async def wrong(self: Any, segment: str) -> Successors:
        found = await right(self, segment)
        own = parse_segment_name(segment).segment_id
        return Successors(dict.fromkeys(found.predecessors, (own,)), found.ranges)

    return [(access.GroupAccess, "successors", wrong)]


@_bug("predecessors-of-all-streams", scenario="streams")
def _predecessors_of_all_streams() -> list[Replacement]:
    """A completed segment counts as a predecessor in every stream that has its id, as it does upstream."""
    return [(state, "stream_of", lambda segment: "")]


@_bug("released-at-the-beginning", "delivery")
def _released_at_beginning() -> list[Replacement]:
    """A segment is released as if none of it had been read."""
    right = rg.ReleaseSegment
    return [(rg, "ReleaseSegment", lambda reader, segment, offset: right(reader, segment, 0))]


@_bug("goes-on-after-release", "delivery")
def _goes_on() -> list[Replacement]:
    """A reader continues to read a segment that it released."""

    async def wrong(self: AsyncReader) -> None:
        for segment in self._core.readable():
            if segment not in self._sources:
                self._sources[segment] = self._open(segment)
                self._set_ready(segment)

    return [(AsyncReader, "_open_and_close", wrong)]


@_bug("skips-after-takeover", "delivery")
def _skips() -> list[Replacement]:
    """The first event of a segment that was acquired in its middle is not delivered."""
    right = SegmentSource.take_event

    def wrong(self: SegmentSource) -> Any:
        found = right(self)
        is_first = found is not None and not self.__dict__.get("_begun", False)
        self.__dict__["_begun"] = found is not None or self.__dict__.get("_begun", False)
        return right(self) if is_first and found is not None and found.offset > 0 else found

    return [(SegmentSource, "take_event", wrong)]


@_bug("begins-at-zero", "delivery")
def _begins_at_zero() -> list[Replacement]:
    """A segment that was acquired in its middle is read from its beginning."""
    right = AsyncReader._open

    def wrong(self: AsyncReader, segment: str) -> Any:
        self._core.held[segment] = 0
        return right(self, segment)

    return [(AsyncReader, "_open", wrong)]


@_bug("ended-too-early", "delivery")
def _ended_too_early() -> list[Replacement]:
    """A segment counts as read when its last bytes arrived, before all events are delivered."""

    def wrong(self: ReaderCore, segment: str, offset: int) -> None:
        self.held[segment] = offset
        if offset > 0 and self._chance.random() < 0.05 and self._state.is_online(self.reader):
            self.end(segment)

    return [(ReaderCore, "advance", wrong)]


@_bug("never-releases", "balance")
def _never_releases() -> list[Replacement]:
    """The reader with the most segments keeps them."""
    return [(ReaderCore, "_release", lambda self: iter(()))]


@_bug("takes-everything", "balance")
def _takes_everything() -> list[Replacement]:
    """A reader considers all segments its fair share."""
    return [(assignment, "fair_share", lambda group_state, reader: group_state.n_segments)]


@_bug("acquires-again-at-once", "balance")
def _acquires_again() -> list[Replacement]:
    """A reader acquires a segment that it released before the other readers refresh their state."""
    return [(assignment, "leave_to_others_ms", lambda group_state, reader: 0)]


@_bug("java-rule", "balance")
def _java_rule() -> list[Replacement]:
    """All readers follow the rule of Java's client, by which a reader can starve another for ever."""
    return [(event_reader, "ReaderCore", JavaRuleReader)]


# -- coming, going, resets -----------------------------------------------------------------------------------


@_bug("gone-as-done", "delivery")
def _gone_as_done() -> list[Replacement]:
    """A reader that closes releases its segments as read to their end."""
    right = go_offline

    def wrong(reader: str, positions: Mapping[str, int]) -> Any:
        return right(reader, dict.fromkeys(positions, -1))

    return [(event_reader, "go_offline", wrong)]


@_bug("dead-as-done", "delivery")
def _dead_as_done() -> list[Replacement]:
    """The segments of a reader that was declared offline count as read."""
    right = go_offline

    def wrong(reader: str, positions: Mapping[str, int]) -> Any:
        return lambda seen: right(reader, dict.fromkeys(seen.assigned.get(reader, ()), -1))(seen)

    return [(group, "go_offline", wrong)]


@_bug("reset-to-the-head", "reset")
def _reset_to_head() -> list[Replacement]:
    """A reset begins every segment at its first event."""
    right = access.GroupAccess.beginning

    async def wrong(self: Any, config: Any) -> Any:
        found = await right(self, config)
        if config.generation <= 0 or not isinstance(found, rg.ReaderGroupStateInit):
            return found
        unassigned = dict.fromkeys(found.start_segments, 0)
        return replace(found, start_segments=unassigned, ranged_start_segments={})

    return [(access.GroupAccess, "beginning", wrong)]


# -- time windows --------------------------------------------------------------------------------------------


@_bug("window-of-own-segments", "time window")
def _own_segments() -> list[Replacement]:
    """A reader's time window covers only its own segments, even if others lag in theirs."""
    return [(ReaderCore, "places", lambda self: dict(self.held))]


@_bug("window-ahead", "time window")
def _window_ahead() -> list[Replacement]:
    """A time window begins at the next watermark before it was passed."""
    right = StreamTime.window

    def wrong(self: StreamTime, place: Place) -> TimeWindow:
        found = right(self, place)
        return found._replace(lower=self._ahead[0].lower) if self._ahead else found

    return [(StreamTime, "window", wrong)]


@_bug("watermarks-once", "time window")
def _once() -> list[Replacement]:
    """Watermarks are requested until there are some, and never again."""

    def wrong(self: StreamTime, place: Place) -> bool:
        return not self._ahead and self._lower is None

    return [(StreamTime, "needs_more", wrong)]


@_bug("fastest-writer", "time window")
def _fastest_writer() -> list[Replacement]:
    """A watermark promises the latest time that a writer noted instead of the earliest."""
    right = watermarks.next_watermark

    def wrong(epochs: Any, writers: Any, last: Any) -> Any:
        found = right(epochs, writers, last)
        return found and replace(found, lower=found.upper)

    return [(writer_times, "next_watermark", wrong)]

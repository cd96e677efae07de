"""Give a reader or a handle of a group access to the store: state log, streams, the controller's calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pravega_lab.client.context import StreamContext
from pravega_lab.client.controller.calls import Controller
from pravega_lab.client.reader_group.calls import GroupCalls
from pravega_lab.client.reader_group.core import reader as steps
from pravega_lab.client.reader_group.core.format import GroupFormat
from pravega_lab.client.reader_group.core.reader import Successors
from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.client.reader_group.errors import ReaderGroupNotFoundError
from pravega_lab.client.reader_group.values import by_stream, stream_of
from pravega_lab.client.reader_group.whole_cuts import Start, add_start, whole
from pravega_lab.client.reading.cuts import check_group, group_bounds, head, settled
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream
from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer
from pravega_lab.errors import NotFoundError, StreamSealedError
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig, Update, UpdatingConfig
from pravega_lab.protocol.names import READER_GROUP_PREFIX, parse_segment_name, split_scoped_name
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

T = TypeVar("T")


class _StateLog(AsyncStateSynchronizer[GroupState, Update]):
    """Passes on what was read before a whole state and is not in it."""

    def _begin(self, whole: Update) -> GroupState:
        before, state = self._state, super()._begin(whole)
        if before is not None:
            state.follow(before)
        return state


class GroupAccess:
    """Gives one program access to one group (``scope/group``). Each reader and each handle has its own.

    Args:
        clock_ms: Returns the milliseconds since 1970. Members of a group compare these times.
    """

    def __init__(
        self, group: str, controller: Controller, stores: SegmentStores, clock_ms: Callable[[], int]
    ) -> None:
        scope, name = split_scoped_name(group)
        self.group = group
        self.stores = stores
        self.controller = controller
        self.clock_ms = clock_ms
        self.calls = GroupCalls(controller, group)
        self._log = AsyncRevisionedStream(self.context(f"{scope}/{READER_GROUP_PREFIX}{name}"))
        self.sync = _StateLog(self._log, GroupFormat())
        self._contexts: dict[str, StreamContext] = {}

    @property
    def state(self) -> GroupState:
        """Return the state as of the last fetch."""
        return self.sync.state

    def context(self, stream: str) -> StreamContext:
        """Return a new context of a stream (``scope/stream``)."""
        return StreamContext(stream, self.controller, self.stores)

    def stream(self, name: str) -> StreamContext:
        """Return the context of a stream that the group reads; kept, because it remembers key ranges."""
        if name not in self._contexts:
            self._contexts[name] = self.context(name)
        return self._contexts[name]

    async def fetch(self) -> GroupState:
        """Read the state log to its end and return the state.

        Raises:
            ReaderGroupNotFoundError: There is no such group.
            NoStateYetError: The group is being created.
        """
        await self._of_log(self.sync.fetch())
        return self.state

    async def _of_log(self, call: Awaitable[T]) -> T:
        """Return the result of a call of the state log. Without the log there is no group."""
        try:
            return await call
        except (NotFoundError, StreamSealedError) as error:
            raise self._missing(error) from error

    def _missing(self, error: Exception) -> ReaderGroupNotFoundError:
        return ReaderGroupNotFoundError(
            f"there is no reader group {self.group} (any more): {error}. create_reader_group makes one"
        )

    async def close(self) -> None:
        """Close the connection to the state log."""
        await self._log.close()

    # steps of a reader

    async def take(self, step: steps.Step) -> Any:
        """Take one step that a reader decided on, and return its result."""
        match step:
            case steps.Fetch():
                await self.fetch()
                return self.sync.bytes_since_whole
            case steps.Write(decide):
                return await self._of_log(self.sync.update(decide))
            case steps.Append(updates):
                return await self._of_log(self.sync.append(updates))
            case steps.FindSuccessors(segment):
                return await self.successors(segment)
            case steps.Publish(positions):
                return await self.publish(positions)
            case steps.Compact():
                return await self._of_log(self.sync.compact())
            case steps.FinishReset():
                return await self.finish_reset()

    async def successors(self, segment: str) -> Successors:
        """Ask the controller for the successors of a segment, with their predecessors and key ranges."""
        context = self.stream(stream_of(segment))
        segment_id = parse_segment_name(segment).segment_id
        found = await self.controller.successors(context.name, segment_id)
        context.learn(successor.segment for successor in found)
        named = [(context.segment_name(s.segment.segment_id), s) for s in found]
        return Successors(
            {name: successor.predecessors for name, successor in named},
            {name: KeyRange(s.segment.low, s.segment.high) for name, s in named},
        )

    async def publish(self, positions: Mapping[str, int]) -> bool:
        """Publish positions to the controller, as a cut of each stream. Return whether it accepted all."""
        config = self.state.config
        cuts = await self.whole_cuts(positions)
        at = [await settled(self.stream(stream), cut) for stream, cut in cuts.items()]
        return all([await self.calls.publish(config, cut) for cut in at])

    # cuts and beginnings

    async def whole_cuts(self, positions: Mapping[str, int]) -> dict[str, StreamCut]:
        """Return positions of the group as one cut per stream, each covering all keys of its stream."""
        ends = self.state.config.ending_stream_cuts
        at, found = by_stream(positions), {}
        for stream in self.state.streams():
            complete = await whole(self.stream(stream), at.get(stream, {}), ends.get(stream, UNBOUNDED))
            found[stream] = StreamCut(stream, complete)
        return {stream: cut for stream, cut in found.items() if not cut.is_unbounded}

    async def checked_beginning(self, config: ReaderGroupConfig) -> Update:
        """Return the `beginning` of a group that is being created or reset.

        Raises:
            BadInputError: The group would skip events, or an ending cut lies before the start.
        """
        for name, start in config.starting_stream_cuts.items():
            end = config.ending_stream_cuts.get(name, UNBOUNDED)
            if not start.is_unbounded:
                await check_group(self.stream(name), start, end)
            elif not end.is_unbounded:
                await check_group(self.stream(name), await head(self.stream(name)), end)
        return await self.beginning(config)

    async def with_group_bounds(self, config: ReaderGroupConfig) -> ReaderGroupConfig:
        """Return a configuration with the cuts of streams that have an end as `group_bounds` returns them."""
        starts, ends = dict(config.starting_stream_cuts), dict(config.ending_stream_cuts)
        for name, end in config.ending_stream_cuts.items():
            if not end.is_unbounded:
                starts[name], ends[name] = await group_bounds(self.stream(name), starts[name], end)
        return replace(config, starting_stream_cuts=starts, ending_stream_cuts=ends)

    async def beginning(self, config: ReaderGroupConfig) -> Update:
        """Return the whole state of a group that begins as ``config`` says."""
        start = Start()
        for name, cut in config.starting_stream_cuts.items():
            context = self.stream(name)
            positions = await self.controller.head(name) if cut.is_unbounded else cut.positions
            await add_start(start, context, positions)
        return start.to_update(config)

    async def finish_reset(self) -> None:
        """Finish a reset that was announced, and whose program is dead or slow.

        If the controller has the new configuration, the group begins as that says. Otherwise the group
        continues as it was. Java's readers begin again in both cases, at the old beginning.
        """
        config = await self.calls.config()
        await self.begin_again(config)
        await self.sync.update(
            lambda state: (
                [UpdatingConfig(False)]
                if state.updating_config and state.config.generation == config.generation
                else []
            )
        )

    async def begin_again(self, config: ReaderGroupConfig) -> None:
        """Replace a state of an older generation by the beginning of the generation of ``config``."""
        whole_state = await self.beginning(config)
        await self.sync.update(
            lambda state: [whole_state] if state.config.generation < config.generation else []
        )

    def config_from(self, cuts: Mapping[str, StreamCut]) -> ReaderGroupConfig:
        """Return the present configuration, beginning at ``cuts``; other streams begin as configured."""
        config = self.state.config
        starts = {s: cuts.get(s, cut) for s, cut in config.starting_stream_cuts.items()}
        return replace(config, starting_stream_cuts=starts)

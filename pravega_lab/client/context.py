"""Hold what the writers, readers and transactions of one stream share: connections and key ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from random import Random
from typing import Protocol
from uuid import UUID

from pravega_lab.client.connection.connection import Reply
from pravega_lab.client.controller.calls import Controller
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.values import SegmentInfo
from pravega_lab.errors import RefusedError, SegmentNotFoundError
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.attributes import NO_VALUE, TIERED_OFFSET
from pravega_lab.protocol.names import SegmentRange, epoch_of, segment_name, split_scoped_name
from pravega_lab.protocol.wire.commands import (
    GetSegmentAttribute,
    GetStreamSegmentInfo,
    SegmentAttribute,
    StreamSegmentInfo,
)

NO_TOKEN = ""  # what `SegmentStores.ask` replaces if there are tokens


class StoreAccess(Protocol):
    """Describes an `AsyncClient` as far as readers, groups and logs need it."""

    _controller: Controller
    _stores: SegmentStores


class StreamContext:
    """Gives the writers, readers and transactions of one stream access to the store."""

    def __init__(self, scoped_name: str, controller: Controller, stores: SegmentStores) -> None:
        self.name = scoped_name
        self.scope, self.stream = split_scoped_name(scoped_name)
        self.controller = controller
        self.stores = stores
        self._ranges: dict[int, SegmentRange] = {}

    @property
    def chance(self) -> Random:
        """Return the client's source of random numbers."""
        return self.stores.chance

    @property
    def retry_for_s(self) -> float:
        """Return for how many seconds a call retries."""
        return self.stores.retry_for_s

    async def token(self, *, write: bool) -> str:
        """Return the token for a request that is not sent by `SegmentStores.ask`."""
        return await self.stores.tokens.get(self.name, write=write)

    def new_id(self) -> UUID:
        """Return a random id for a writer."""
        return UUID(int=self.chance.getrandbits(128), version=4)

    @cached_property
    def transaction_writer(self) -> str:
        """Return the name under which this client's transactions note times at the controller."""
        return str(self.new_id())

    def segment_name(self, segment_id: int) -> str:
        """Return a segment's full name."""
        return segment_name(self.scope, self.stream, segment_id)

    def learn(self, segments: Iterable[SegmentRange]) -> None:
        """Remember the key ranges of segments, which never change."""
        self._ranges.update((segment.segment_id, segment) for segment in segments)

    def known_range(self, segment_id: int) -> SegmentRange:
        """Return the key range of a segment that `ranges` has looked up before."""
        return self._ranges[segment_id]

    async def ranges(self, segment_ids: Sequence[int]) -> list[SegmentRange]:
        """Return the key ranges of segments, in the order of the argument."""
        unknown = dict.fromkeys(epoch_of(segment) for segment in segment_ids if segment not in self._ranges)
        calls = [self.controller.epoch_segments(self.name, epoch) for epoch in unknown]
        for segments in await gather(*calls):
            self.learn(segments)
        missing = [segment for segment in segment_ids if segment not in self._ranges]
        if missing:
            raise SegmentNotFoundError(f"{self.name} never had segments {missing}")
        return [self._ranges[segment] for segment in segment_ids]

    async def info(self, segment_id: int) -> SegmentInfo:
        """Return where a segment begins and ends now."""
        return _info(await self.stores.ask(self.name, segment_id, self._info_request(segment_id)))

    async def infos(self, segment_ids: Sequence[int]) -> list[SegmentInfo]:
        """Return the `info` of several segments, asked in parallel."""
        requests = {segment_id: self._info_request(segment_id) for segment_id in segment_ids}
        return [_info(reply) for reply in await self.stores.ask_all(self.name, requests)]

    async def tiered_offset(self, segment_id: int) -> int | None:
        """Return the offset before which all bytes of a segment are in tier 2, None if the store does not
        say.
        """
        request = GetSegmentAttribute(0, self.segment_name(segment_id), TIERED_OFFSET, NO_TOKEN)
        reply = await self.stores.ask(self.name, segment_id, request)
        if not isinstance(reply, SegmentAttribute):
            raise RefusedError(f"tiers of a segment: the store answered {reply}")
        return None if reply.value == NO_VALUE else reply.value

    def _info_request(self, segment_id: int) -> GetStreamSegmentInfo:
        return GetStreamSegmentInfo(0, self.segment_name(segment_id), NO_TOKEN)


def _info(reply: Reply) -> SegmentInfo:
    if not isinstance(reply, StreamSegmentInfo):
        raise RefusedError(f"information on a segment: the store answered {reply}")
    if not reply.exists or reply.is_deleted:
        raise SegmentNotFoundError(f"there is no segment {reply.segment} (any more)")
    return SegmentInfo(reply.start_offset, reply.write_offset, reply.is_sealed, reply.last_modified)

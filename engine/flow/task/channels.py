"""Channels between subtasks: bounded, ordered, and with an acknowledgement at the end of the data.

A producer waits while a channel holds as many records as it may; records on their way count. Events pass
always, so a barrier never waits for room. Consumers take whole batches, which never exceed the bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from pravega_lab.portable.columns import np, npt

from ..batch import Batch
from ..elements import (
    Barrier,
    CancelMarker,
    Element,
    EndOfData,
    EndOfPartition,
    SubtaskId,
    Watermark,
    WatermarkStatus,
)
from ..graph.graph import Exchange, JobEdge
from ..observer import ChannelContents, Mark
from ..state.keys import KeyGroups, owner_of

Deliver = Callable[..., None]
UNCUT_FROM = 1024  # records: what is larger waits for room, for pieces cut to what is free get ever smaller


class Wire(Protocol):
    """Carries messages between places. Each lane keeps its order; nothing else is promised."""

    def data(self, lane: str, deliver: Deliver, *args: object) -> None:
        """Carry an element of a channel. None is lost while both ends live."""

    def call(self, lane: str, deliver: Deliver, *args: object, may_be_lost: bool = False) -> None:
        """Carry a call between a subtask and the master, or back along a channel.

        ``deliver`` never runs within this call. ``may_be_lost``: the receiver copes if it never runs.
        """


def _nothing(*_: object) -> None:
    return


class Channel:
    """A channel from one subtask to another.

    ``index`` counts the channels of the consumer, over all its inputs; ``input`` is the one it belongs to.
    The consumer sets ``on_data``, the producer ``on_room`` and ``on_acknowledged``.
    """

    def __init__(
        self, producer: SubtaskId, consumer: SubtaskId, input: int, index: int, capacity: int, wire: Wire
    ) -> None:
        self.producer, self.consumer, self.input, self.index = producer, consumer, input, index
        self.capacity = capacity
        self.lane = f"{producer}>{consumer}:{index}"
        self.on_data: Callable[[int], None] = _nothing
        self.on_room: Callable[[], None] = _nothing
        self.on_acknowledged: Callable[[], None] = _nothing
        self.is_acknowledged = False
        self.is_closed = False
        self._wire = wire
        self._held = 0
        self._latest = 0  # records in the latest batch
        self._queue: deque[Element] = deque()

    @property
    def room(self) -> int:
        """Return how many records may be put now."""
        return self.capacity - self._held

    def room_for(self, n_records: int) -> int:
        """Return for how much room a batch of ``n_records`` waits; see `UNCUT_FROM`."""
        wanted = min(self.capacity, n_records)
        return wanted if wanted >= UNCUT_FROM else 1

    @property
    def has_room(self) -> bool:
        """Return whether a batch like the latest one could be put now without waiting.

        A producer that begins only then is free for a checkpoint while it waits.
        """
        return self.room >= self.room_for(self._latest)

    def put(self, element: Element) -> None:
        """Send an element. A batch must fit into `room`; events always fit."""
        if isinstance(element, Batch):
            self._held += element.num_rows
            self._latest = element.num_rows
        self._wire.data(self.lane, self._arrive, element)

    def _arrive(self, element: Element) -> None:
        if not self.is_closed:
            self._queue.append(element)
            self.on_data(self.index)

    @property
    def head(self) -> Element | None:
        """Return the element that `take` would return, None if there is none."""
        return self._queue[0] if self._queue else None

    def take(self) -> Element:
        """Remove the first element and return it; the room of a batch goes back to the producer."""
        element = self._queue.popleft()
        if isinstance(element, Batch):
            self._held -= element.num_rows
            self._wire.call(self.lane + "<", self.on_room)
        return element

    def acknowledge_data(self) -> None:
        """Notify the producer that every record and the end of the data have been processed."""
        self._wire.call(self.lane + "<", self._acknowledged)

    def _acknowledged(self) -> None:
        self.is_acknowledged = True  # also if the consumer has closed since then
        self.on_acknowledged()

    def close(self) -> None:
        """Drop what the channel holds and what arrives later."""
        self.is_closed = True
        self._queue.clear()

    def contents(self, now_ms: int, blocked: bool) -> ChannelContents:
        """Return what the channel holds, for an observer; adjacent batches become one mark."""
        marks: list[Mark] = []
        for element in self._queue:
            mark = mark_of(element)
            if marks and mark.what == "records" == marks[-1].what:
                mark = Mark("records", marks.pop().value + mark.value)
            marks.append(mark)
        return ChannelContents(
            now_ms, self.producer, self.consumer, self.index, tuple(marks), self._held, self.capacity, blocked
        )


def mark_of(element: Element) -> Mark:
    """Return how an observer sees an element."""
    match element:
        case Batch():
            return Mark("records", element.num_rows)
        case Watermark(timestamp_ms):
            return Mark("watermark", timestamp_ms)
        case WatermarkStatus(is_idle):
            return Mark("idle", int(is_idle))
        case Barrier(checkpoint_id):
            return Mark("barrier", checkpoint_id)
        case CancelMarker(checkpoint_id):
            return Mark("cancel", checkpoint_id)
        case EndOfData(drain):
            return Mark("end-of-data", int(drain))
        case EndOfPartition():
            return Mark("end-of-partition", 0)
    raise AssertionError(element)


class EdgeWriter:
    """Distributes what a subtask emits to the channels of one edge, as the exchange says."""

    def __init__(self, edge: JobEdge, index: int, channels: Sequence[Channel]) -> None:
        self.edge, self.channels = edge, list(channels)
        self._next = index % max(1, len(self.channels))
        self._owners = _owners(edge.consumer.max_parallelism, edge.consumer.parallelism)
        self._groups = None if edge.key is None else KeyGroups(edge.key, edge.consumer.max_parallelism)

    def route(self, batch: Batch) -> Iterator[tuple[Channel, Batch]]:
        """Yield pieces of the batch with their channels; each channel keeps the order of the batch."""
        match self.edge.exchange:
            case Exchange.BROADCAST:
                # A function may change the rows of its batch, so each consumer gets its own.
                yield from ((channel, batch.sealed()) for channel in self.channels)
            case Exchange.GLOBAL:
                yield self.channels[0], batch
            case Exchange.HASH:
                yield from self._by_key(batch)
            case _:
                yield from self._round_robin(batch)

    def _by_key(self, batch: Batch) -> Iterator[tuple[Channel, Batch]]:
        if len(self.channels) == 1:
            yield self.channels[0], batch
            return
        assert self._groups is not None
        owners = self._owners[self._groups.of(batch)]
        for index, channel in enumerate(self.channels):
            mine = np.flatnonzero(owners == index)
            if len(mine):
                yield channel, batch.take(mine)

    def _round_robin(self, batch: Batch) -> Iterator[tuple[Channel, Batch]]:
        count = len(self.channels)
        if count == 1:
            yield self.channels[0], batch
            return
        for offset in range(min(count, batch.num_rows)):
            channel = self.channels[(self._next + offset) % count]
            yield channel, batch.take(np.arange(offset, batch.num_rows, count))
        self._next = (self._next + batch.num_rows) % count


def _owners(max_parallelism: int, parallelism: int) -> npt.NDArray[np.int64]:
    """`keys.owner_of` each key group."""
    return np.array([owner_of(group, max_parallelism, parallelism) for group in range(max_parallelism)])

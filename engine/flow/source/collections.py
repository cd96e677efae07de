"""Sources of rows that are in memory, for lessons, tests and benchmarks: the simplest form of FLIP-27."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pravega_lab.portable.columns import pa

from ..batch import Batch, Row, are_constant
from ..state.plain_values import PlainSerializer
from .sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    Source,
    SourceReader,
    SplitEnumerator,
    SplitEnumeratorContext,
    SplitT,
)


@dataclass(frozen=True)
class RowsSplit:
    """A split has the rows from ``position``, the next one to read, up to but not including ``stop``."""

    split_id: str
    position: int
    stop: int


class _SplitSerializer:
    version = 1

    def to_bytes(self, value: RowsSplit) -> bytes:
        return PlainSerializer().to_bytes((value.split_id, value.position, value.stop))

    def from_bytes(self, version: int, data: bytes) -> RowsSplit:
        split_id, position, stop = PlainSerializer().from_bytes(1, data)
        return RowsSplit(split_id, position, stop)


class _StateSerializer:
    version = 1

    def to_bytes(self, value: list[RowsSplit]) -> bytes:
        return PlainSerializer().to_bytes([(s.split_id, s.position, s.stop) for s in value])

    def from_bytes(self, version: int, data: bytes) -> list[RowsSplit]:
        return [RowsSplit(*split) for split in PlainSerializer().from_bytes(1, data)]


class SplitQueue(SplitEnumerator[SplitT, list[SplitT]]):
    """Assign the splits in order, one to each request. The state is those that are not assigned."""

    def __init__(self, context: SplitEnumeratorContext[SplitT], splits: Iterable[SplitT]) -> None:
        self._context, self._splits = context, deque(splits)

    def handle_split_request(self, subtask: int) -> None:
        """Assign the next split to the subtask, or report that there is none."""
        if subtask not in self._context.registered_readers:
            return
        if self._splits:
            self._context.assign_splits({subtask: [self._splits.popleft()]})
        else:
            self._context.signal_no_more_splits(subtask)

    def add_splits_back(self, splits: Sequence[SplitT], subtask: int) -> None:
        """Put the splits back in front of the others."""
        self._splits.extendleft(reversed(splits))

    def add_reader(self, subtask: int) -> None:
        """Wait for the request of the reader."""

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        """Return the splits that are not assigned."""
        return list(self._splits)


class RowsEnumerator(SplitQueue[RowsSplit]):
    """Assign the parts of a collection."""


class AssignedSplits(SourceReader[SplitT]):
    """Hold the splits of a reader that reads one after another, and request the next one from a `SplitQueue`.

    Args:
        ends: Whether the input ends after the last split.
    """

    def __init__(self, context: ReaderContext, *, ends: bool = True) -> None:
        self._context, self._ends = context, ends
        self.splits: deque[SplitT] = deque()
        """The splits to read, each with the position of what is read next."""
        self._no_more = self._has_asked = False
        self._not_before_ms = 0
        self._news = asyncio.Event()

    def poll_without_split(self) -> InputStatus:
        """Request a split, once, or say that there will be none. `poll_next` returns this without a split."""
        if self._no_more:
            return InputStatus.END_OF_INPUT if self._ends else InputStatus.NOTHING_AVAILABLE
        if not self._has_asked:
            self._has_asked = True
            self._context.send_split_request()
        return InputStatus.NOTHING_AVAILABLE

    async def available(self) -> None:
        """Return when there is a split, or news from the enumerator."""
        while not self.splits and (not self._ends if self._no_more else self._has_asked):
            self._news.clear()
            await self._news.wait()

    @property
    def is_exhausted(self) -> bool:
        """Return whether the reader has emitted everything that it will ever get."""
        return self._no_more and not self.splits

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        """Return the splits with their positions."""
        return list(self.splits)

    def add_splits(self, splits: Sequence[SplitT]) -> None:
        """Append splits to those that are read."""
        self.splits.extend(splits)
        self._has_asked = False
        self._news.set()

    def notify_no_more_splits(self) -> None:
        """End after the current splits, if the source is bounded."""
        self._no_more = True
        self._news.set()


class RowsReader(AssignedSplits[RowsSplit]):
    """Read one part of a collection after another.

    ``pause_ms`` returns the time between two batches.
    """

    def __init__(
        self,
        context: ReaderContext,
        rows: Sequence[Row] | pa.Table,
        batch_rows: int,
        pause_ms: Callable[[], int],
        boundedness: Boundedness,
    ) -> None:
        super().__init__(context, ends=boundedness is Boundedness.BOUNDED)
        self._rows, self._batch_rows, self._pause_ms = rows, batch_rows, pause_ms

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Emit the next batch of the current split, or request a split."""
        if not self.splits:
            return self.poll_without_split()
        if self._context.now_ms() < self._not_before_ms:
            return InputStatus.NOTHING_AVAILABLE
        split = self.splits[0]
        stop = min(split.position + self._batch_rows, split.stop)
        if stop > split.position:
            output.emit(_batch_of(self._rows, split.position, stop), split.split_id)
        if stop == split.stop:
            self.splits.popleft()
            output.release_split(split.split_id)
        else:
            self.splits[0] = replace(split, position=stop)
        pause_ms = self._pause_ms()
        if pause_ms:
            self._not_before_ms = self._context.now_ms() + pause_ms
            return InputStatus.NOTHING_AVAILABLE
        return InputStatus.MORE_AVAILABLE

    async def available(self) -> None:
        """Return when the pause is over, or when there is news from the enumerator."""
        wait_ms = self._not_before_ms - self._context.now_ms()
        if self.splits and wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)
        await super().available()


def _batch_of(rows: Sequence[Row] | pa.Table, start: int, stop: int) -> Batch:
    if isinstance(rows, pa.Table):
        return Batch.of_arrow(rows.slice(start, stop - start).combine_chunks().to_batches()[0])
    return Batch.of_rows([_copied(row) for row in rows[start:stop]])


def _copied(row: Row) -> Row:
    """Return a copy that functions of users may change: the row itself is read again after a failure."""
    is_flat = type(row) is dict and are_constant(row.values())
    return row.copy() if is_flat else copy.deepcopy(row)


def no_pause() -> int:
    """Return 0: no time between two batches."""
    return 0


class RowsSource(Source[RowsSplit, list[RowsSplit]]):
    """A source reads rows (dicts or an Arrow table) in contiguous splits.

    ``pause_ms`` returns the time between two batches of a reader. An unbounded source waits after the last
    row.
    """

    def __init__(
        self,
        rows: Sequence[Row] | pa.Table,
        *,
        splits: int = 1,
        batch_rows: int = 100,
        pause_ms: Callable[[], int] = no_pause,
        boundedness: Boundedness = Boundedness.BOUNDED,
    ) -> None:
        self._rows, self._splits, self._batch_rows = rows, splits, batch_rows
        self._pause_ms, self.boundedness = pause_ms, boundedness

    def _all_splits(self) -> list[RowsSplit]:
        count = len(self._rows)
        bounds = [count * n // self._splits for n in range(self._splits + 1)]
        return [
            RowsSplit(f"rows-{n}", bounds[n], bounds[n + 1])
            for n in range(self._splits)
            if bounds[n] < bounds[n + 1]
        ]

    def create_enumerator(self, context: SplitEnumeratorContext[RowsSplit]) -> RowsEnumerator:
        """Return an enumerator of all splits."""
        return RowsEnumerator(context, self._all_splits())

    def restore_enumerator(
        self, context: SplitEnumeratorContext[RowsSplit], checkpoint: list[RowsSplit]
    ) -> RowsEnumerator:
        """Return an enumerator of the splits that were not assigned."""
        return RowsEnumerator(context, checkpoint)

    def create_reader(self, context: ReaderContext) -> RowsReader:
        """Return a reader."""
        return RowsReader(context, self._rows, self._batch_rows, self._pause_ms, self.boundedness)

    def split_serializer(self) -> Any:
        """Return the serializer of splits."""
        return _SplitSerializer()

    def enumerator_serializer(self) -> Any:
        """Return the serializer of lists of splits."""
        return _StateSerializer()

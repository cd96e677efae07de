"""`Feed`: input for simulated jobs. The seed decides about the rows, and the run decides how many are needed.

A `Feed` has parts. Most have a length. The last continues until `Feed.close`, and then ends at the farthest
position of a reader. So some sources end while faults happen, and the job does not end before the scenario
does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from ...flow.batch import Batch, Row
from ...flow.source.collections import RowsEnumerator, RowsReader, RowsSource, RowsSplit
from ...flow.source.sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    SplitEnumeratorContext,
)
from .external import ExternalLog
from .oddities import Oddities

KEYS = 12
WITHHELD_MS = 100  # how long a reader waits while the run withholds rows


class Feed:
    """The rows of one source, read in parts. Every read of a position returns the same rows.

    Args:
        number: Is part of the rows' values.
        lengths: The length of each part, or None for an open part.
        wants_more: Returns whether the run continues. While it returns False, rows that were never read are
            withheld.
    """

    def __init__(
        self, number: int, lengths: Sequence[int | None], chance: Random, wants_more: Callable[[], bool]
    ) -> None:
        self.is_closed = False
        self._number, self._wants_more = number, wants_more
        self._lengths = list(lengths)
        self._rows: list[list[Row]] = [[] for _ in lengths]
        self._read = [0] * len(lengths)
        self._chances = [Random(chance.getrandbits(64)) for _ in lengths]

    def __deepcopy__(self, memo: dict[int, Any]) -> Feed:
        return self  # all copies of a source share one feed

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self._lengths)

    def take(self, part: int, at: int, rows_max: int) -> list[Row]:
        """Return rows from a position of a part on; none at its end and while rows are withheld."""
        length = self._lengths[part]
        if length is None and at >= self._read[part] and not self._wants_more():
            return []
        stop = at + rows_max if length is None else min(at + rows_max, length)
        rows, chance = self._rows[part], self._chances[part]
        while len(rows) < stop:
            n = len(rows)
            value = self._number * 100_000 + part * 10_000 + n
            rows.append({"k": chance.randrange(KEYS), "v": value, "t": n * 10})
        self._read[part] = max(self._read[part], stop)
        return rows[at:stop]

    def is_over(self, part: int, at: int) -> bool:
        """Return whether the part ends at this position."""
        length = self._lengths[part]
        return length is not None and at >= length

    def close(self) -> None:
        """End the open parts at the farthest positions of their readers."""
        self.is_closed = True
        self._lengths = [
            read if length is None else length for length, read in zip(self._lengths, self._read, strict=True)
        ]

    def all_rows(self) -> list[Row]:
        """Return all rows that a job has to read from a closed feed."""
        assert self.is_closed
        return [row for n, length in enumerate(self._lengths) for row in self.take(n, 0, length or 0)]


class FedLog(ExternalLog):
    """Stands for the external system of `external`, with the content of a feed."""

    def __init__(self, feed: Feed) -> None:
        super().__init__([], feed.parts)
        self._feed = feed

    @property
    def is_exhausted(self) -> bool:
        return all(self._feed.is_over(part, at) for part, at in self.positions.items())

    def rows_of(self, partition: int, at: int, rows_max: int) -> list[Row]:
        return self._feed.take(partition, at, rows_max)


class FeedReader(RowsReader):
    """A reader of a feed, whose splits are parts."""

    def __init__(
        self,
        context: ReaderContext,
        feed: Feed,
        batch_rows: int,
        pause_ms: Callable[[], int],
        boundedness: Boundedness,
    ) -> None:
        super().__init__(context, [], batch_rows, pause_ms, boundedness)
        self._feed = feed

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        if not self.splits or self._context.now_ms() < self._not_before_ms:
            return super().poll_next(output)
        split = self.splits[0]
        part = int(split.split_id)
        rows = self._feed.take(part, split.position, self._batch_rows)
        if rows:
            output.emit(Batch.of_rows(rows), split.split_id)
            self.splits[0] = split = replace(split, position=split.position + len(rows))
        if self._feed.is_over(part, split.position):
            self.splits.popleft()
            output.release_split(split.split_id)
        elif not rows:
            return self._pause(WITHHELD_MS)
        return self._pause(self._pause_ms())

    def _pause(self, pause_ms: int) -> InputStatus:
        if not pause_ms:
            return InputStatus.MORE_AVAILABLE
        self._not_before_ms = self._context.now_ms() + pause_ms
        return InputStatus.NOTHING_AVAILABLE


class FeedEnumerator(RowsEnumerator):
    """An enumerator of parts of a feed, whose snapshots may be odd."""

    def __init__(
        self, context: SplitEnumeratorContext[RowsSplit], splits: Sequence[RowsSplit], oddities: Oddities
    ) -> None:
        super().__init__(context, splits)
        self._oddities = oddities

    def snapshot_state(self, checkpoint_id: int) -> list[RowsSplit] | Awaitable[list[RowsSplit]]:  # type: ignore[override]
        return self._oddities.at_snapshot(super().snapshot_state(checkpoint_id))


class FeedSource(RowsSource):
    """A source whose splits are the parts of a feed. An unbounded one does not end after its last row."""

    def __init__(
        self,
        feed: Feed,
        batch_rows: int,
        pause_ms: Callable[[], int],
        boundedness: Boundedness,
        oddities: Oddities,
    ) -> None:
        super().__init__([], batch_rows=batch_rows, pause_ms=pause_ms, boundedness=boundedness)
        self._feed, self._oddities = feed, oddities

    def create_enumerator(self, context: SplitEnumeratorContext[RowsSplit]) -> FeedEnumerator:
        self._oddities.at_creation()
        splits = [RowsSplit(str(part), 0, 0) for part in range(self._feed.parts)]
        return FeedEnumerator(context, splits, self._oddities)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[RowsSplit], checkpoint: list[RowsSplit]
    ) -> FeedEnumerator:
        return FeedEnumerator(context, checkpoint, self._oddities)

    def create_reader(self, context: ReaderContext) -> FeedReader:
        return FeedReader(context, self._feed, self._batch_rows, self._pause_ms, self.boundedness)

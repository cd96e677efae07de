"""Input for simulated jobs that goes on for as long as a run needs it: the seed says which rows, the run how
many.

A `Feed` has parts. Most have a length, the last goes on until `Feed.close`; then it ends where the farthest
reader came. So sources end while the job is in trouble, and the job does not before its story is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.collections import RowsEnumerator, RowsReader, RowsSource, RowsSplit
from pravega_lab.engine.flow.sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    SplitEnumeratorContext,
)
from pravega_lab.engine.simulation.flow_external import ExternalLog

KEYS = 12
WITHHELD_MS = 100  # how long a reader waits when the run wants no more rows for now


class Feed:
    """Rows of one source, read in parts. Every reading gives the same rows at the same place.

    Args:
        number: Goes into the rows' values.
        lengths: Of each part; None: it is open.
        wants_more: Is the run to go on? Rows that were never read are withheld while not.
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
        return self  # there is one, whoever reads it

    @property
    def parts(self) -> int:
        return len(self._lengths)

    def take(self, part: int, at: int, rows_max: int) -> list[Row]:
        """Rows from a place of a part; none where it ends, and where it is withheld."""
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
        """Does the part end here?"""
        length = self._lengths[part]
        return length is not None and at >= length

    def close(self) -> None:
        """The open parts end where their readers have come."""
        self.is_closed = True
        self._lengths = [
            read if length is None else length for length, read in zip(self._lengths, self._read, strict=True)
        ]

    def all_rows(self) -> list[Row]:
        """What a job has to read of it, once closed."""
        assert self.is_closed
        return [row for n, length in enumerate(self._lengths) for row in self.take(n, 0, length or 0)]


class FedLog(ExternalLog):
    """The external system of `flow_external`, with a feed for what is in it."""

    def __init__(self, feed: Feed) -> None:
        super().__init__([], feed.parts)
        self._feed = feed

    @property
    def is_exhausted(self) -> bool:
        return all(self._feed.is_over(part, at) for part, at in self.positions.items())

    def rows_of(self, partition: int, at: int, rows_max: int) -> list[Row]:
        return self._feed.take(partition, at, rows_max)


class FeedReader(RowsReader):
    """A split is a part."""

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
        if not self._splits or self._context.now_ms() < self._not_before_ms:
            return super().poll_next(output)
        split = self._splits[0]
        part = int(split.split_id)
        rows = self._feed.take(part, split.position, self._batch_rows)
        if rows:
            output.emit(Batch.of_rows(rows), split.split_id)
            self._splits[0] = split = replace(split, position=split.position + len(rows))
        if self._feed.is_over(part, split.position):
            self._splits.popleft()
            output.release_split(split.split_id)
        elif not rows:
            return self._pause(WITHHELD_MS)
        return self._pause(self._pause_ms())

    def _pause(self, pause_ms: int) -> InputStatus:
        if not pause_ms:
            return InputStatus.MORE_AVAILABLE
        self._not_before_ms = self._context.now_ms() + pause_ms
        return InputStatus.NOTHING_AVAILABLE


class FeedSource(RowsSource):
    """The parts of a feed are its splits. An unbounded one stays when it has read everything."""

    def __init__(
        self, feed: Feed, batch_rows: int, pause_ms: Callable[[], int], boundedness: Boundedness
    ) -> None:
        super().__init__([], batch_rows=batch_rows, pause_ms=pause_ms, boundedness=boundedness)
        self._feed = feed

    def create_enumerator(self, context: SplitEnumeratorContext[RowsSplit]) -> RowsEnumerator:
        return RowsEnumerator(context, [RowsSplit(str(part), 0, 0) for part in range(self._feed.parts)])

    def create_reader(self, context: ReaderContext) -> FeedReader:
        return FeedReader(context, self._feed, self._batch_rows, self._pause_ms, self.boundedness)

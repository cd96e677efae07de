"""`WatermarkHolds` says how far event time may go in a job that reads segments, so that none is late. No I/O.

A segment that waits for its predecessors or for a checkpoint, or that moves, has no reader that could hold
back the watermark. Event time therefore has one limit for all readers: the lowest watermark that any of them
reports, and the *holds* of segments without a reader. The records of a segment are not older than the
watermark of what was read before it, so that is its hold. Since no reader goes beyond the limit, any
reader may begin any segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pravega_lab.connector.flow.segments.plan import SegmentPlan, comes_before
from pravega_lab.connector.flow.segments.splits import SegmentSplit
from pravega_lab.engine.flow.elements import MIN_TIMESTAMP_MS


class WatermarkHolds:
    """The holds of the segments of a plan, and what readers have reported.

    A hold lasts until the reader of the segment reports that it counts. A segment needs none while one of its
    predecessors is read or waits, because that one holds back the limit. Without a report, a reader holds
    back everything.
    """

    def __init__(self, plan: SegmentPlan) -> None:
        self._plan = plan
        self._holds: dict[str, int] = {}  # by split id
        self._reports: dict[int, tuple[int, bool]] = {}  # by reader: lowest watermark, is active

    # -- segments ------------------------------------------------------------------------------------------

    def added(self) -> None:
        """Hold segments back completely that wait and have no predecessor in the plan."""
        self._hold_back(list(self._plan.waiting.values()))

    def came_back(self, splits: Iterable[SegmentSplit]) -> None:
        """Hold segments back completely whose reader failed: they are read again from an earlier position."""
        for split in splits:
            self._holds.pop(split.split_id, None)
        self._hold_back(splits)

    def _hold_back(self, splits: Iterable[SegmentSplit]) -> None:
        unread = [*self._plan.waiting.values(), *(split for split, _ in self._plan.reading.values())]
        for split in splits:
            if not any(comes_before(other, split) for other in unread):
                self._holds.setdefault(split.split_id, MIN_TIMESTAMP_MS)

    def reported(self, splits: Iterable[SegmentSplit]) -> None:
        """Record that a reader begins with these splits. They hold back what follows them."""
        for split in splits:
            self._holds.pop(split.split_id, None)
            for later in self._plan.waiting.values():
                if comes_before(split, later):
                    self._holds.pop(later.split_id, None)

    def finished(self, reader: int, split: SegmentSplit) -> None:
        """Record that a reader read the split to its end, and that the plan has its successors."""
        hold = self._take(reader, split)
        later = [other for other in self._plan.waiting.values() if comes_before(split, other)]
        for successor in later:
            if not any(comes_before(other, successor) for other in later):
                known = self._holds.get(successor.split_id, hold)
                self._holds[successor.split_id] = min(known, hold)

    def returned(self, reader: int, split: SegmentSplit) -> None:
        """Record that its reader returned the split."""
        self._holds[split.split_id] = self._take(reader, split)

    def _take(self, reader: int, split: SegmentSplit) -> int:
        lowest, _ = self._reports.get(reader, (MIN_TIMESTAMP_MS, True))
        return min(lowest, self._holds.pop(split.split_id, lowest))

    # -- readers -------------------------------------------------------------------------------------------

    def restarted(self, reader: int) -> None:
        """Forget what the reader has reported."""
        self._reports.pop(reader, None)

    def report(self, reader: int, lowest_ms: int, is_active: bool, begun: Sequence[str]) -> None:
        """Record what a reader reports. It counts the splits ``begun`` from now on."""
        self._reports[reader] = lowest_ms, is_active
        for split_id in begun:
            self._holds.pop(split_id, None)

    @property
    def reporting(self) -> list[int]:
        """Return the readers that have reported. There are none in a job without event times."""
        return list(self._reports)

    def limit_ms(self) -> int:
        """Return up to where readers may emit watermarks.

        If all splits are idle, that is the highest watermark of a reader, as in a job without this limit.
        """
        readers = dict.fromkeys(reader for _, reader in self._plan.reading.values())
        reports = [self._reports.get(reader, (MIN_TIMESTAMP_MS, True)) for reader in readers]
        counting = [*self._holds.values(), *(lowest for lowest, is_active in reports if is_active)]
        if counting:
            return min(counting)
        return max((lowest for lowest, _ in self._reports.values()), default=MIN_TIMESTAMP_MS)

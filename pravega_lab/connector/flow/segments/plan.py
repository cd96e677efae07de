"""`SegmentPlan` decides which reader may read which segment, and when. No I/O.

Order per routing key has to hold at the end of the job, not only in the readers. A segment therefore waits

* for every older unread segment of its stream that shares a key with it (the rule of
  `client.reading.lineage`), and
* for a checkpoint, if another reader has read such an older segment. Records of that reader may still be in
  the channels when the next reader emits. A completed checkpoint proves that they arrived. The same reader
  may continue at once, because its channels keep the order.

A reader group enforces the second rule by releasing segments only at its checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pravega_lab.connector.flow.segments.splits import SegmentSplit, SplitKey

NOBODY = -1
UNEVEN = 2  # a split moves when a reader has this many more splits than another


@dataclass(frozen=True)
class _Behind:
    """A key range that was read, by a reader whose records may still be in the channels."""

    split: SegmentSplit
    reader: int  # the reader that may continue with the successors; NOBODY: none may


class SegmentPlan:
    """The segments of a job: those that wait, those that are read, and those that were read since a
    checkpoint.

    ``waiting`` has splits that no reader has, as `snapshot` returned them. With ``waits_for_checkpoints``
    False, any reader may begin a segment at once after another reader has read its predecessors.
    """

    def __init__(self, waiting: Iterable[SegmentSplit] = (), *, waits_for_checkpoints: bool = True) -> None:
        self._waits_for_checkpoints = waits_for_checkpoints
        self.waiting: dict[SplitKey, SegmentSplit] = {split.key: split for split in waiting}
        self.reading: dict[SplitKey, tuple[SegmentSplit, int]] = {}
        self._behind: dict[SplitKey, _Behind] = {}
        self._behind_at: dict[int, list[_Behind]] = {}  # by checkpoint
        self._leaving: SplitKey | None = None  # the split that a reader was asked to return

    # -- what happened -------------------------------------------------------------------------------------

    def add(self, splits: Iterable[SegmentSplit]) -> None:
        """Add segments. Segments that are already known stay as they are."""
        for split in splits:
            if split.key not in self.reading and split.key not in self._behind:
                self.waiting.setdefault(split.key, split)

    def reported(self, reader: int, splits: Iterable[SegmentSplit]) -> None:
        """Record that a reader begins with these splits, in place of anything known about them."""
        for split in splits:
            self.waiting.pop(split.key, None)
            self._behind.pop(split.key, None)
            self.reading[split.key] = (split, reader)

    def came_back(self, splits: Iterable[SegmentSplit]) -> None:
        """Record that the reader of these splits failed, and restarts from a checkpoint without them."""
        for split in splits:
            self.reading.pop(split.key, None)
            self._behind.pop(split.key, None)
            known = self.waiting.get(split.key)
            if known is None or split.offset < known.offset:
                self.waiting[split.key] = split

    def is_read_by(self, key: SplitKey, reader: int) -> bool:
        """Return whether ``reader`` currently reads the split."""
        return key in self.reading and self.reading[key][1] == reader

    def finished(self, reader: int, split: SegmentSplit, successors: Iterable[SegmentSplit]) -> None:
        """Record that ``reader`` read the split to its end, and add its successors."""
        del self.reading[split.key]
        self._behind[split.key] = _Behind(split, reader)
        self.add(successors)
        self._forget_leaving(split.key)

    def returned(self, split: SegmentSplit) -> None:
        """Record that its reader returned the split at its offset."""
        del self.reading[split.key]
        self.waiting[split.key] = split
        self._behind[split.key] = _Behind(split, NOBODY)
        self._forget_leaving(split.key)

    def _forget_leaving(self, key: SplitKey) -> None:
        if self._leaving == key:
            self._leaving = None

    def restarted(self) -> None:
        """Record that a reader restarted: it will not answer the last request for a split."""
        self._leaving = None

    # -- checkpoints ---------------------------------------------------------------------------------------

    def snapshot(self, checkpoint_id: int) -> list[SegmentSplit]:
        """Return the splits that no reader has. All others are in the readers' state."""
        self._behind_at[checkpoint_id] = list(self._behind.values())
        return list(self.waiting.values())

    def completed(self, checkpoint_id: int) -> None:
        """Record that everything that readers emitted before the checkpoint has arrived."""
        for number in [n for n in self._behind_at if n <= checkpoint_id]:
            for behind in self._behind_at.pop(number):
                if self._behind.get(behind.split.key) is behind:
                    del self._behind[behind.split.key]

    def aborted(self, checkpoint_id: int) -> None:
        """Forget the checkpoint."""
        self._behind_at.pop(checkpoint_id, None)

    # -- decisions -----------------------------------------------------------------------------------------

    def assignments(self, readers: Sequence[int]) -> Mapping[int, list[SegmentSplit]]:
        """Return which reader begins which splits now, and record that it reads them."""
        found: dict[int, list[SegmentSplit]] = {}
        for key in sorted(self.waiting):
            reader = self._reader_for(self.waiting[key], readers)
            if reader is not None:
                split = self.waiting.pop(key)
                self.reading[key] = (split, reader)
                found.setdefault(reader, []).append(split)
        return found

    def _reader_for(self, split: SegmentSplit, readers: Sequence[int]) -> int | None:
        unread = [*self.waiting.values(), *(other for other, _ in self.reading.values())]
        if any(comes_before(other, split) for other in unread):
            return None
        before = {b.reader for b in self._behind.values() if self._holds_up(b, split)}
        if before:
            [reader] = before if len(before) == 1 else [NOBODY]
            return reader if reader in readers else None
        return min(readers, key=lambda reader: (self._load(reader), reader), default=None)

    def _holds_up(self, behind: _Behind, split: SegmentSplit) -> bool:
        # The last reader of a returned split may restart from a checkpoint in which it has the split, so no
        # other reader may begin it before a checkpoint without it.
        return (self._waits_for_checkpoints or behind.reader == NOBODY) and _shares_keys(behind.split, split)

    @property
    def is_read(self) -> bool:
        """Return whether no segment waits or is read: the end, where no segment has a successor."""
        return not self.waiting and not self.reading

    def _load(self, reader: int) -> int:
        return sum(1 for _, of in self.reading.values() if of == reader)

    def removal(self, readers: Sequence[int]) -> tuple[int, SegmentSplit] | None:
        """Return a reader with too many splits and the split that it should return, or None. One
        at a time.
        """
        if self._leaving is not None or self.waiting or self._behind or not readers:
            return None
        most, least = max(readers, key=self._load), min(readers, key=self._load)
        if self._load(most) - self._load(least) < UNEVEN:
            return None
        self._leaving = max(key for key, (_, reader) in self.reading.items() if reader == most)
        return most, self.reading[self._leaving][0]


def comes_before(other: SegmentSplit, split: SegmentSplit) -> bool:
    """Return whether ``other`` is older and shares a key with ``split``."""
    return other.segment_id < split.segment_id and _shares_keys(other, split)


def _shares_keys(one: SegmentSplit, other: SegmentSplit) -> bool:
    return one.stream == other.stream and one.range.overlaps(other.range)


def at_offset(split: SegmentSplit, offset: int) -> SegmentSplit:
    """Return the same split at another offset."""
    return replace(split, offset=offset)

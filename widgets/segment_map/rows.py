"""What a segment map sends to a page: which rows, and as which bytes.

A page draws more than a hundred thousand segments. When there are still more, it receives the newest ones and
all that are open. The older ones are counted in a grid of cells (`Crowd`), and the view says so.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from pravega_lab.observe.journal.observations import StreamScaled
from pravega_lab.observe.landmarks import scale_text
from pravega_lab.observe.stream.fold import SegmentRow

from ..live.payload import NAN, NOBODY, UNKNOWN_READER, or_nan, pack
from ..svg.picture import data_size
from .history import MapHistory, Stretch

# model.ts declares the same formats.
SEGMENT = Struct("<IffffI")  # index, start_s, end_s (inf while active), low, high, reader
NAME = Struct("<IIIIfI")  # index, number, epoch, flags, truncated_s, 0
LINK = Struct("<II")  # index, index of a predecessor
RATE = Struct("<Ifffff")  # index, t_s, events/s, bytes/s, unread bytes, stored bytes
TIER = Struct("<Iff")  # index, until_s: what was written before is in tier 2, bytes in tier 2
OWNER = Struct("<IIIff")  # index, segment's index, reader + 1 (0: nobody, or WAITS), start_s, end_s
CROWD = Struct("<ffffI")  # start_s, end_s, low, high, how many segments
INEXACT = 1  # flag: the time of opening was inferred
WAITS = 0xFFFFFFFE  # instead of an owner: the segment waits for its predecessors
SEGMENTS_MAX = 120_000  # rows that a page receives
KEPT = 100_000  # rows of a first snapshot when there are more; the rest is room to grow
SCALES_MAX = 5_000
INFINITY = float("inf")


class SegmentPacker:
    """Remembers what the pages have. Indexes in all tables are *slots*: places in the page's own tables."""

    def __init__(self) -> None:
        self._crowd = Crowd()
        self._forget()

    def _forget(self) -> None:
        self._first = 0  # the oldest row that is sent, except for open ones
        self._old: dict[int, int] = {}  # older rows that are open: index -> slot
        self._rows = self._samples = self._scales = 0
        self._owners: dict[int, int] = {}  # stretch -> its place on the page

    @property
    def left_out(self) -> int:
        """The number of segments that are drawn only as a count."""
        return self._first - len(self._old)

    def is_full(self, history: MapHistory) -> bool:
        """Whether the page has no room for the new rows: it then needs a snapshot."""
        return len(history.rows) - self._first + len(self._old) > SEGMENTS_MAX

    def _slot(self, index: int) -> int | None:
        if index >= self._first:
            return index - self._first + len(self._old)
        return self._old.get(index)

    def pack(self, history: MapHistory, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        """Return tables and lists of a snapshot, or of what changed since the last call."""
        if everything:
            self._begin(history)
        rows = self._page_rows(history) if everything else [history.rows[i] for i in history.changed]
        history.changed.clear()
        slotted = [(slot, row) for row in rows if (slot := self._slot(row.index)) is not None]
        start_ms = history.start_ms or 0
        tables = {
            "crowd": pack(CROWD, self._crowd.cells(start_ms)) if everything else b"",
            "segments": pack(SEGMENT, (_segment_row(slot, row, start_ms, history) for slot, row in slotted)),
            "tiers": pack(TIER, (row for one in slotted for row in _tier_rows(*one, start_ms))),
            "names": pack(NAME, (_name_row(slot, row, start_ms) for slot, row in slotted)),
            "links": pack(LINK, self._new_links(history)),
            "rates": pack(RATE, self._new_rates(history, start_ms)),
        }
        waits, tables["owners"] = self._new_owners(history, start_ms, everything=everything)
        first = max(self._scales, len(history.scales) - SCALES_MAX)
        self._scales = len(history.scales)
        return tables, {"scales": [self._scale(s, history) for s in history.scales[first:]], "waits": waits}

    def _begin(self, history: MapHistory) -> None:
        self._forget()
        n = len(history.rows)
        if n > SEGMENTS_MAX:
            self._first = self._rows = n - KEPT
            self._crowd.take(history.rows, self._first)
            self._old = {index: slot for slot, index in enumerate(self._crowd.open)}

    def _page_rows(self, history: MapHistory) -> list[SegmentRow]:
        return [*(history.rows[i] for i in self._old), *history.rows[self._first :]]

    def _new_links(self, history: MapHistory) -> list[tuple[int, int]]:
        links = []
        for row in history.rows[self._rows :]:
            for p in row.predecessors:
                before = history.find(row.stream, p)
                slot, other = self._slot(row.index), None if before is None else self._slot(before.index)
                if slot is not None and other is not None:
                    links.append((slot, other))
        self._rows = len(history.rows)
        return links

    def _new_rates(self, history: MapHistory, start_ms: int) -> list[tuple[float, ...]]:
        first = max(0, self._samples - history.samples_dropped)
        self._samples = history.samples_dropped + len(history.samples)
        slotted = [(self._slot(s.index), s) for s in history.samples[first:]]
        return [
            (
                slot,
                (s.time_ms - start_ms) / 1000,
                or_nan(s.events_per_s),
                or_nan(s.bytes_per_s),
                or_nan(s.unread_bytes),
                s.stored_bytes,
            )
            for slot, s in slotted
            if slot is not None
        ]

    def _new_owners(
        self, history: MapHistory, start_ms: int, *, everything: bool
    ) -> tuple[list[list[Any]], bytes]:
        """Return stretches of ownership, and the words of those that wait: [place, "waits for #2"]."""
        some = range(len(history.owners)) if everything else list(history.changed_owners)
        history.changed_owners.clear()
        waits, rows = [], []
        for stretch in (history.owners[i] for i in some):
            slot = self._slot(stretch.segment)
            if slot is None:
                continue
            if stretch.index not in self._owners:
                self._owners[stretch.index] = len(self._owners)
                if stretch.state == "waits":
                    waits.append([self._owners[stretch.index], stretch.words])
            rows.append(_owner_row(self._owners[stretch.index], slot, stretch, start_ms, history))
        return waits, pack(OWNER, rows)

    def _scale(self, scale: StreamScaled, history: MapHistory) -> list[Any]:
        def slots(ids: tuple[int, ...]) -> list[int]:
            rows = [r for r in (history.find(scale.stream, i) for i in ids) if r is not None]
            return [slot for slot in (self._slot(r.index) for r in rows) if slot is not None]

        t_s = (scale.time_ms - (history.start_ms or 0)) / 1000
        text = scale_text(scale)
        return [t_s, text, scale.cause_kind, scale.rule, slots(scale.sealed), slots(scale.created)]


class Crowd:
    """Counts older segments in cells of a grid over time and keys; a cell grows wider as time advances."""

    ROWS, COLUMNS_MAX = 32, 200

    def __init__(self) -> None:
        self.open: list[int] = []  # indexes of rows that are older and not yet sealed
        self._taken = 0
        self._width_ms = 1_000
        self._cells: dict[tuple[int, int], int] = {}

    def take(self, rows: list[SegmentRow], first: int) -> None:
        """Count the sealed rows before ``first`` that were not counted yet."""
        candidates = [*self.open, *range(self._taken, first)]
        self._taken = max(self._taken, first)
        self.open = [i for i in candidates if rows[i].end_ms is None]
        for row in (rows[i] for i in candidates):
            if row.end_ms is not None:
                self._count((row.start_ms + row.end_ms) // 2, (row.low + row.high) / 2)
        while self._columns() > self.COLUMNS_MAX:
            self._widen()

    def _count(self, time_ms: int, key: float) -> None:
        cell = (time_ms // self._width_ms, min(self.ROWS - 1, int(key * self.ROWS)))
        self._cells[cell] = self._cells.get(cell, 0) + 1

    def _columns(self) -> int:
        columns = [column for column, _ in self._cells]
        return max(columns) - min(columns) + 1 if columns else 0

    def _widen(self) -> None:
        self._width_ms *= 2
        cells: dict[tuple[int, int], int] = {}
        for (column, row), n in self._cells.items():
            cells[(column // 2, row)] = cells.get((column // 2, row), 0) + n
        self._cells = cells

    def cells(self, start_ms: int) -> list[tuple[float, ...]]:
        """Return (start_s, end_s, low, high, number of segments) for each cell."""
        width, n_rows = self._width_ms, self.ROWS
        return [
            (
                (x * width - start_ms) / 1000,
                ((x + 1) * width - start_ms) / 1000,
                y / n_rows,
                (y + 1) / n_rows,
                n,
            )
            for (x, y), n in sorted(self._cells.items())
        ]


def _segment_row(slot: int, row: SegmentRow, start_ms: int, history: MapHistory) -> tuple[float, ...]:
    end_s = INFINITY if row.end_ms is None else (row.end_ms - start_ms) / 1000
    nobody = NOBODY if history.knows_owners else UNKNOWN_READER
    reader = nobody if row.reader is None else history.place_of(row.reader) + 1
    return slot, (row.start_ms - start_ms) / 1000, end_s, row.low, row.high, reader


def _name_row(slot: int, row: SegmentRow, start_ms: int) -> tuple[float, ...]:
    truncated = NAN if row.truncated_ms is None else (row.truncated_ms - start_ms) / 1000
    return slot, row.number, row.epoch, 0 if row.exact else INEXACT, truncated, 0


def _tier_rows(slot: int, row: SegmentRow, start_ms: int) -> list[tuple[float, ...]]:
    """Return one row for a segment with known tiers, else none."""
    if row.tier2_bytes is None:
        return []
    until_s = NAN if row.tiered_ms is None else (row.tiered_ms - start_ms) / 1000
    return [(slot, until_s, row.tier2_bytes)]


def _owner_row(
    place: int, slot: int, stretch: Stretch, start_ms: int, history: MapHistory
) -> tuple[float, ...]:
    who = WAITS if stretch.state == "waits" else NOBODY
    if stretch.reader is not None:
        who = history.place_of(stretch.reader) + 1
    end_s = INFINITY if stretch.end_ms is None else (stretch.end_ms - start_ms) / 1000
    return place, slot, who, (stretch.start_ms - start_ms) / 1000, end_s


def tier_text(row: SegmentRow) -> str:
    """Return where the bytes of a segment are: ``1.2 MB in the log, 3 MB in tier 2``, "" if it is unknown."""
    if row.log_bytes is None or row.tier2_bytes is None:
        return ""
    return f"{data_size(row.log_bytes)} in the log, {data_size(row.tier2_bytes)} in tier 2"

"""The screens of `pravega-lab watch`, of an inventory and of the folds of a journal. Nothing is asked here.

Every text goes through `shown`, our own texts too, so that no text of the cluster can be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pravega_lab.observe.explain import explain_group
from pravega_lab.observe.group.fold import GroupHistory
from pravega_lab.observe.group.observations import GroupObservation, GroupUpdated
from pravega_lab.observe.group.rows import (
    AT_CHECKPOINT,
    CheckpointRow,
    ReaderRow,
    SegmentPlace,
    waits_words,
)
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.stream.fold import SegmentHistory
from pravega_lab.terminal.inventory import Inventory
from pravega_lab.terminal.text import shown

ROWS_MAX = 40  # of a table; the busiest are shown and the others counted
CHECKPOINTS_MAX = 6
UPDATES_MAX = 5
CLOCK = "UpdateDistanceToTail"  # each reader writes it every few seconds, and its lag is in its row
UNKNOWN = "–"
FAILURE = "bold red"
_STATES = {"held": "", "nobody": "yellow", "waits": "dim"}


def inventory_screen(found: Inventory, now_ms: int) -> RenderableType:
    """Return a table of the streams and a table of the groups."""
    streams = _table("Streams", ("stream", "segments", "scaling"))
    for stream in found.streams[:ROWS_MAX]:
        n = UNKNOWN if stream.n_segments is None else str(stream.n_segments or "sealed")
        scaling = shown(stream.trouble, FAILURE) if stream.trouble else stream.scaling
        _add(streams, (stream.name, n, scaling))
    groups = _table("Reader groups", ("group", "readers online", "unread", "last update"))
    for group in found.groups[:ROWS_MAX]:
        if group.trouble:
            _add(groups, (group.name, "", "", shown(group.trouble, FAILURE)))
            continue
        ago = UNKNOWN if group.updated_ms is None else f"{duration(now_ms - group.updated_ms)} ago"
        readers = _names(group.readers) if group.readers else shown("no reader is online", FAILURE)
        _add(groups, (group.name, readers, size(group.unread_bytes), ago))
    _count_rest(streams, len(found.streams))
    _count_rest(groups, len(found.groups))
    scopes = shown(f"scopes: {', '.join(found.scopes) or 'none'}", "dim")
    return Group(streams, Text(), groups, scopes)


class GroupFolds:
    """The folds behind the screen of a group, kept up with a journal."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.groups, self.segments = GroupHistory(), SegmentHistory()
        self.updates: list[GroupUpdated] = []
        self.untimed_ms = 0  # what was seen up to then was in the log before, since an unknown time
        self._read_to = 0

    def catch_up(self) -> None:
        """Apply what the journal has by now."""
        for observation in self.journal.since(self._read_to):
            self._read_to = observation.seq + 1
            self.groups.apply(observation)
            self.segments.apply(observation)
            if isinstance(observation, GroupObservation) and observation.uncertain_ms is None:
                self.untimed_ms = observation.time_ms
            if isinstance(observation, GroupUpdated) and observation.update != CLOCK:
                self.updates.append(observation)
        del self.updates[:-UPDATES_MAX]

    @property
    def now_ms(self) -> int:
        """Return the newest moment that the journal knows."""
        return max(self.groups.now_ms or 0, self.journal.until_ms or 0)

    def ago(self, since_ms: int) -> str:
        """Return how long something has lasted, with "≥" if it was already so when it was first seen."""
        return ("≥ " if since_ms <= self.untimed_ms else "") + duration(self.now_ms - since_ms)


def group_screen(group: str, folds: GroupFolds) -> RenderableType:
    """Return one group in sentences, and tables of its segments, readers, checkpoints and last updates."""
    journal, history = folds.journal, folds.groups
    parts: list[RenderableType] = [_header(journal)]
    if group not in history.groups:
        return Group(*parts, shown(f"nothing is known of {group} yet", "dim"))
    parts += map(shown, explain_group(history, group, folds.now_ms))
    parts += [_segments(folds, group), _readers(folds, group), _checkpoints(folds, group)]
    return Group(*parts, _updates(folds.updates))


def _header(journal: Journal) -> Text:
    state = "live" if journal.live else "recording"
    text = shown(f"{journal.source} · {state} · {journal.next_seq:,} observations", "bold")
    if journal.gap:
        text.append("\n").append(shown(str(journal.gap), FAILURE))
    return text


def _segments(folds: GroupFolds, group: str) -> Table:
    table = _table("Segments", ("segment", "keys", "read by", "since", "unread", "oldest unread"))
    places = sorted(folds.groups.current(group), key=lambda place: -(place.unread_bytes or 0))
    ready = [(s, i) for (s, _), ids in folds.groups.at_checkpoint(group).items() for i in ids]
    for place in sorted(places[:ROWS_MAX], key=lambda p: (p.stream, p.segment_id)):
        row = folds.segments.find(place.stream, place.segment_id)
        keys = UNKNOWN if row is None else f"{row.low:.3f} – {row.high:.3f}"
        since = place.behind_since_ms
        oldest = "" if since is None else folds.ago(since)
        where, unread = f"{place.stream} {place.label}", size(place.unread_bytes)
        owner = AT_CHECKPOINT if (place.stream, place.segment_id) in ready else _owner(place)
        cells = (where, keys, owner, folds.ago(place.since_ms), unread, oldest)
        _add(table, cells, _STATES.get(place.state, ""))
    _count_rest(table, len(places))
    return table


def _owner(place: SegmentPlace) -> str:
    if place.state == "waits":
        return waits_words(place.waits_for)
    return place.reader or "nobody"


def _readers(folds: GroupFolds, group: str) -> Table:
    table = _table("Readers", ("reader", "state", "segments", "fair share", "unread", "lag"))
    lanes = [lane for lane in folds.groups.readers if lane.group == group]
    lanes.sort(key=lambda lane: (not lane.is_online, -(lane.unread_bytes or 0), lane.index))
    for lane in lanes[:ROWS_MAX]:
        style = "" if lane.is_online else FAILURE if lane.state == "killed" else "dim"
        share = f"{lane.fair_share:.1f}" if lane.is_online else ""
        lag = UNKNOWN if lane.lag_ms is None else duration(lane.lag_ms)
        held, unread = str(len(lane.held)), size(lane.unread_bytes)
        _add(table, (lane.reader, _state(lane, folds), held, share, unread, lag), style)
    _count_rest(table, len(lanes))
    return table


def _state(lane: ReaderRow, folds: GroupFolds) -> str:
    if lane.left_ms is not None:
        return f"{lane.state} {folds.ago(lane.left_ms)} ago"
    if lane.owes and lane.owes_since_ms is not None:
        return f"owes {lane.owes[0]} for {folds.ago(lane.owes_since_ms)}"
    return lane.state


def _checkpoints(folds: GroupFolds, group: str) -> Table:
    table = _table("Reader-group checkpoints", ("checkpoint", "state", "took", "held up by"))
    rows = [row for row in folds.groups.checkpoints if row.group == group and not row.is_silent]
    for row in reversed(rows[-CHECKPOINTS_MAX:]):
        _add(table, (row.name, _checkpoint_words(row), _took(row, folds), _names(row.held_up_by)))
    return table


def _took(row: CheckpointRow, folds: GroupFolds) -> str:
    if row.duration_ms is None:
        return folds.ago(row.asked_ms)
    return UNKNOWN if row.asked_ms <= folds.untimed_ms else duration(row.duration_ms)


def _checkpoint_words(row: CheckpointRow) -> Text:
    words = shown(row.words, "" if row.state in ("running", "completed") else "dim")
    if row.gaps:
        words.append(f", {len(row.gaps)} gaps in the keys", FAILURE)
    return words


def _updates(updates: list[GroupUpdated]) -> Table:
    table = _table("Last updates of the state log", ("at", "what"))
    for update in reversed(updates[-UPDATES_MAX:]):
        _add(table, (str(update.revision), update.explained))
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _add(table: Table, cells: Sequence[str | Text], style: str = "") -> None:
    """Add a row. It is the only way into a table, so no string can arrive as markup or with an escape."""
    table.add_row(*(cell if isinstance(cell, Text) else shown(cell) for cell in cells), style=style)


def _count_rest(table: Table, n_rows: int) -> None:
    if n_rows > ROWS_MAX:
        table.caption = f"{ROWS_MAX} of {n_rows:,}"
    if n_rows == 0:
        _add(table, (shown("none", "dim"),))


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def size(n_bytes: int | None) -> str:
    """Return bytes in words: ``1.2 MB``. What is not known is a dash, never zero."""
    if n_bytes is None:
        return UNKNOWN
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def duration(ms: int) -> str:
    """Return milliseconds in words: ``340 ms``, ``1.8 s``, ``5 min``, ``3.2 h``."""
    if ms < 1000:
        return f"{max(ms, 0)} ms"
    if ms < 120_000:
        return f"{ms / 1000:.1f} s"
    if ms < 7_200_000:
        return f"{ms / 60_000:.0f} min"
    return f"{ms / 3_600_000:.1f} h"

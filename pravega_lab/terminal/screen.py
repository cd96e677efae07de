"""What `pravega-lab watch` draws, of an inventory or of the folds of a journal. Asks nothing."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pravega_lab.observe.explain import explain_group
from pravega_lab.observe.folds import SegmentHistory
from pravega_lab.observe.group_fold import GroupHistory
from pravega_lab.observe.group_observations import GroupObservation, GroupUpdated
from pravega_lab.observe.group_rows import CheckpointRow, ReaderRow, SegmentPlace, waits_words
from pravega_lab.observe.journal import Journal
from pravega_lab.terminal.inventory import Inventory

ROWS_MAX = 40  # of a table; the busiest are shown and the others counted
CHECKPOINTS_MAX = 6
UPDATES_MAX = 5
UNKNOWN = "–"
FAILURE = "bold red"
_STATES = {"held": "", "nobody": "yellow", "waits": "dim"}


def inventory_screen(found: Inventory, now_ms: int) -> RenderableType:
    """Streams and groups, a table each."""
    streams = _table("Streams", ("stream", "segments", "scaling"))
    for stream in found.streams[:ROWS_MAX]:
        n = (
            UNKNOWN
            if stream.n_segments is None
            else str(stream.n_segments)
            if stream.n_segments
            else "sealed"
        )
        streams.add_row(stream.name, n, Text(stream.trouble, FAILURE) if stream.trouble else stream.scaling)
    groups = _table("Reader groups", ("group", "readers online", "unread", "last update"))
    for group in found.groups[:ROWS_MAX]:
        if group.trouble:
            groups.add_row(group.name, "", "", Text(group.trouble, FAILURE))
            continue
        ago = UNKNOWN if group.updated_ms is None else f"{duration(now_ms - group.updated_ms)} ago"
        groups.add_row(group.name, _names(group.readers), size(group.unread_bytes), ago)
    _count_rest(streams, len(found.streams))
    _count_rest(groups, len(found.groups))
    none = Text(f"scopes: {', '.join(found.scopes) or 'none'}", "dim")
    return Group(streams, Text(), groups, none)


class GroupFolds:
    """What the screen of a group shows, kept up with a journal."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.groups, self.segments = GroupHistory(), SegmentHistory()
        self.updates: list[GroupUpdated] = []
        self.untimed_ms = 0  # what was seen up to then was in the log before, nobody knows since when
        self._read_to = 0

    def catch_up(self) -> None:
        """Take in what the journal has by now."""
        for observation in self.journal.since(self._read_to):
            self._read_to = observation.seq + 1
            self.groups.apply(observation)
            self.segments.apply(observation)
            if isinstance(observation, GroupObservation) and observation.uncertain_ms is None:
                self.untimed_ms = observation.time_ms
            if isinstance(observation, GroupUpdated):
                self.updates.append(observation)
        del self.updates[:-UPDATES_MAX]

    @property
    def now_ms(self) -> int:
        return max(self.groups.now_ms or 0, self.journal.until_ms or 0)

    def ago(self, since_ms: int) -> str:
        """For how long now; "at least" so long for what was so when it was first seen."""
        return ("≥ " if since_ms <= self.untimed_ms else "") + duration(self.now_ms - since_ms)


def group_screen(group: str, folds: GroupFolds) -> RenderableType:
    """How one group stands in sentences; its segments, readers, checkpoints and the last updates."""
    journal, history = folds.journal, folds.groups
    parts: list[RenderableType] = [_header(journal)]
    if group not in history.groups:
        return Group(*parts, Text(f"nothing is known of {group} yet", "dim"))
    parts.append(Text("\n".join(explain_group(history, group, folds.now_ms))))
    parts += [_segments(folds, group), _readers(folds, group), _checkpoints(folds, group)]
    return Group(*parts, _updates(folds.updates))


def _header(journal: Journal) -> Text:
    state = "live" if journal.live else "recording"
    text = Text(f"{journal.source} · {state} · {journal.next_seq:,} observations", "bold")
    if journal.gap:
        text.append(f"\n{journal.gap}", FAILURE)
    return text


def _segments(folds: GroupFolds, group: str) -> Table:
    table = _table("Segments", ("segment", "keys", "read by", "since", "unread", "oldest unread"))
    places = sorted(folds.groups.current(group), key=lambda place: -(place.unread_bytes or 0))
    for place in sorted(places[:ROWS_MAX], key=lambda p: (p.stream, p.segment_id)):
        row = folds.segments.find(place.stream, place.segment_id)
        keys = UNKNOWN if row is None else f"{row.low:.3f} – {row.high:.3f}"
        since = place.behind_since_ms
        table.add_row(
            f"{place.stream} {place.label}", keys, _owner(place), folds.ago(place.since_ms),
            size(place.unread_bytes), "" if since is None else folds.ago(since),
            style=_STATES.get(place.state, ""),
        )  # fmt: skip
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
        table.add_row(
            lane.reader, _state(lane, folds), str(len(lane.held)), share, size(lane.unread_bytes), lag,
            style=style,
        )  # fmt: skip
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
        table.add_row(row.name, _checkpoint_words(row), _took(row, folds), _names(row.held_up_by))
    return table


def _took(row: CheckpointRow, folds: GroupFolds) -> str:
    if row.duration_ms is None:
        return folds.ago(row.asked_ms)
    return UNKNOWN if row.asked_ms <= folds.untimed_ms else duration(row.duration_ms)


def _checkpoint_words(row: CheckpointRow) -> Text:
    words = Text(row.words, "" if row.state in ("running", "completed") else "dim")
    if row.gaps:
        words.append(f", {len(row.gaps)} gaps in the keys", FAILURE)
    return words


def _updates(updates: list[GroupUpdated]) -> Table:
    table = _table("Last updates of the state log", ("at", "what"))
    for update in reversed(updates[-UPDATES_MAX:]):
        table.add_row(str(update.revision), update.explained)
    return table


def _table(title: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _count_rest(table: Table, n_rows: int) -> None:
    if n_rows > ROWS_MAX:
        table.caption = f"{ROWS_MAX} of {n_rows:,}"
    if n_rows == 0:
        table.add_row(Text("none", "dim"))


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def size(n_bytes: int | None) -> str:
    """Bytes in words: ``1.2 MB``; unknown is a dash, never zero."""
    if n_bytes is None:
        return UNKNOWN
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def duration(ms: int) -> str:
    """Milliseconds in words: ``340 ms``, ``1.8 s``, ``5 min``, ``3.2 h``."""
    if ms < 1000:
        return f"{max(ms, 0)} ms"
    if ms < 120_000:
        return f"{ms / 1000:.1f} s"
    if ms < 7_200_000:
        return f"{ms / 60_000:.0f} min"
    return f"{ms / 3_600_000:.1f} h"

"""The static picture of a segment map: SVG with words, or a PNG for thousands of rectangles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pravega_lab.observe.landmarks import scale_text
from pravega_lab.observe.stream.fold import SegmentRow
from pravega_lab.portable.words import plural

from ..svg.palette import COLD, HALO, HOT, LINE, NONE, SOFT, TEXT, mix, reader_colour
from ..svg.picture import Across, Picture, amount, data_size, number, time_steps, time_text
from ..svg.raster import Raster, text_width
from ..svg.text import common_start, first_fit, placed, short_name
from .history import MapHistory, Stretch, owner_words, short_words
from .rows import tier_text

TIERED = "in tier 2: edge below"
EDGE = 4.0  # px
STRETCHES_MAX = 500  # of colours within the rectangles
T = TypeVar("T")
Span = tuple[int, int] | None  # from when to when, where it is not the history's own
WIDTH, HEIGHT = 900, 446
LEFT, RIGHT = 46, 684
TOP, BOTTOM = 40, 318
STRIP_TOP, STRIP_BOTTOM = 364, 412


class Scene:
    """The history, with what both pictures ask of it."""

    def __init__(self, history: MapHistory, facts: dict[str, Any], span_ms: Span = None) -> None:
        self.history, self.facts = history, facts
        self.start_ms, end_ms = span_ms or (history.start_ms or 0, history.now_ms or 0)
        self.now_ms = history.now_ms or 0
        end_s = (end_ms - self.start_ms) / 1000
        self.across = Across(LEFT, RIGHT, max(end_s, 1.0))
        self.by_bytes = facts["rate_unit"] == "bytes/s"
        self.thresholds = facts["thresholds"]
        self.curves = self._curves()
        self.stretches: dict[int, list[Stretch]] = {}
        for stretch in history.owners:
            self.stretches.setdefault(stretch.segment, []).append(stretch)
        self.column_s = self._column_s()
        self.rates_since_s = self.seconds(history.rates_since_ms)
        peak = max((rate or 0.0 for curve in self.curves.values() for _, rate in curve), default=0.0)
        self.target = next((rate for rate, name in self.thresholds if name == "target"), None)
        self.rate_top = 2 * self.target if self.target else max(peak, 1.0)
        self.strip_top = max(peak * 1.15, (self.target or 0) * 1.25, 1e-9)

    def _column_s(self) -> float:
        """Return how long a colour lasts at least, so that all of them are about `STRETCHES_MAX`."""
        n = len(self.history.samples) if self.facts["colour"] == "rate" else len(self.history.owners)
        if n <= STRETCHES_MAX:
            return 0.0
        lives = [self.seconds(row.end_ms) - self.seconds(row.start_ms) for row in self.history.rows]
        return sum(lives) / STRETCHES_MAX

    def _curves(self) -> dict[int, list[tuple[float, float | None]]]:
        """Return for each segment its (t_s, rate); None after a time in which no observer looked."""
        curves: dict[int, list[tuple[float, float | None]]] = {}
        for s in self.history.samples:
            rate = s.bytes_per_s if self.by_bytes else s.events_per_s
            curves.setdefault(s.index, []).append(((s.time_ms - self.start_ms) / 1000, rate))
        return curves

    def owned(self, row: SegmentRow) -> list[tuple[float, float, str]]:
        """Return stretches (from_s, to_s, fill) of ownership in the segment's life; white where it waits."""
        if self.facts["colour"] != "owner" or not self.stretches:
            return []
        end_s, found = (
            self.seconds(row.end_ms),
            [(self.seconds(row.start_ms), self.seconds(row.start_ms), "#ffffff")],
        )
        mine = [
            (self.seconds(s.start_ms), min(self.seconds(s.end_ms), end_s), s.reader)
            for s in self.stretches.get(row.index, [])
            if s.state != "waits"
        ]
        for column in self._columns([piece for piece in mine if piece[1] > piece[0]]):
            start, until = column[0][0], column[-1][1]
            reader = max(column, key=lambda piece: piece[1] - piece[0])[2]
            fill = "url(#plab-hatch)" if reader is None else reader_colour(self.history.place_of(reader))
            found += [(start, until, "#ffffff"), (start, until, fill)]
        return found

    def _columns(self, pieces: Iterable[tuple[float, float, T]]) -> Iterator[list[tuple[float, float, T]]]:
        """Yield neighbouring pieces (from_s, to_s, ...) together, until they are wide enough to draw."""
        column: list[tuple[float, float, T]] = []
        for piece in pieces:
            column.append(piece)
            if piece[1] - column[0][0] >= self.column_s:
                yield column
                column = []
        if column:
            yield column

    def waiting(self, row: SegmentRow) -> list[tuple[float, float, str]]:
        """Return (from_s, to_s, words) of waiting: as logged, or until its group first reported it."""
        mine = self.stretches.get(row.index, [])
        end_s = self.seconds(row.end_ms)
        logged = [
            (self.seconds(s.start_ms), min(self.seconds(s.end_ms), end_s), s.words)
            for s in mine
            if s.state == "waits"
        ]
        if self.history.groups and row.predecessors:
            first = min(end_s, self.seconds(mine[0].start_ms)) if mine else end_s
            logged.insert(
                0, (self.seconds(row.start_ms), first, owner_words("waits", None, row.predecessors))
            )
        return [(a, z, words) for a, z, words in logged if z > a]

    def seconds(self, time_ms: int | None) -> float:
        return ((self.now_ms if time_ms is None else time_ms) - self.start_ms) / 1000

    def tiered(self, row: SegmentRow) -> tuple[float, float] | None:
        """Return (from_s, to_s) of the part of a segment that is in tier 2, or None if no part is."""
        if row.tiered_ms is None or not row.tier2_bytes:
            return None
        start = self.seconds(row.start_ms if row.truncated_ms is None else row.truncated_ms)
        end = min(self.seconds(row.end_ms), self.seconds(row.tiered_ms))
        return (start, end) if end > start else None

    def rate_text(self, rate: float | None) -> str:
        return f"{data_size(rate) if self.by_bytes else amount(rate)}/s"

    def hue(self, rate: float | None) -> str:
        return NONE if rate is None else mix(COLD, HOT, min(1.0, rate / self.rate_top))

    def colour(self, row: SegmentRow) -> str:
        """Return one colour for the whole rectangle: the owner's, or that of the last rate."""
        if self.facts["colour"] == "owner":
            return NONE if row.reader is None else reader_colour(self.history.place_of(row.reader))
        curve = self.curves.get(row.index)
        return self.hue(curve[-1][1]) if curve else NONE

    def heat(self, row: SegmentRow) -> list[tuple[float, float, str]]:
        """Return stretches (from_s, to_s, colour) of the rate over the segment's life, where it is known."""
        curve = self.curves.get(row.index, [])
        if self.facts["colour"] != "rate" or not curve:
            return []
        unknown_s = min(self.rates_since_s, self.seconds(row.end_ms))
        start_s = self.seconds(row.start_ms)
        stretches = [(start_s, unknown_s, NONE)] if unknown_s > start_s else []
        for column in self._columns(self._lasting(row)):
            start, end = column[0][0], column[-1][1]
            colour = self.hue(_mean(column))
            if stretches and stretches[-1][2] == colour:
                stretches[-1] = (stretches[-1][0], end, colour)
            elif end > start:
                stretches.append((start, end, colour))
        return stretches

    @property
    def has_unknown(self) -> bool:
        """Return whether a part of the map is grey because its rate is not known."""
        rows, curves = self.history.rows, self.curves
        is_gap = any(rate is None for curve in curves.values() for _, rate in curve)
        return is_gap or any(
            row.index not in curves or self.seconds(row.start_ms) < self.rates_since_s for row in rows
        )

    def _lasting(self, row: SegmentRow) -> list[tuple[float, float, float | None]]:
        """Return (from_s, to_s, rate). A sample is the rate of the time before it; the last one stays."""
        curve, end_s = self.curves.get(row.index, []), self.seconds(row.end_ms)
        starts = [max(self.seconds(row.start_ms), self.rates_since_s), *(t for t, _ in curve[:-1])]
        ends = [*(min(t, end_s) for t, _ in curve[:-1]), end_s]
        return [(a, z, rate) for a, z, (_, rate) in zip(starts, ends, curve, strict=False)]

    def busiest(self, n: int) -> list[float]:
        """Return the rate of the busiest segment in each of ``n`` equal parts of the time."""
        parts = [0.0] * n
        for index in self.curves:
            for start, end, rate in self._lasting(self.history.rows[index]):
                first, last = (min(n - 1, int(n * x / self.across.end_s)) for x in (start, end))
                for part in range(first, last + 1):
                    parts[part] = max(parts[part], rate or 0.0)
        return parts


def _mean(column: Sequence[tuple[float, float, float | None]]) -> float | None:
    """Return the mean rate of pieces (from_s, to_s, rate), None if it is not known of half of the time."""
    if len(column) == 1:
        return column[0][2]
    known = [(max(0.0, end - start), rate) for start, end, rate in column if rate is not None]
    known_s = sum(span for span, _ in known)
    if known_s <= (column[-1][1] - column[0][0]) / 2:
        return None
    return sum(span * rate for span, rate in known) / known_s


def _y(key: float) -> float:
    return BOTTOM - key * (BOTTOM - TOP)


def segment_svg(history: MapHistory, facts: dict[str, Any], gap: str, span_ms: Span = None) -> str:
    """Return the picture as SVG text."""
    scene = Scene(history, facts, span_ms)
    active = len(history.active)
    stream = facts["stream"] or "no stream yet"
    picture = Picture(
        WIDTH, HEIGHT, f"Segment map of {stream}: {plural(len(history.rows), 'segment')}, {active} active"
    )
    rest = [f"{plural(len(history.rows), 'segment')}, {active:,} active", time_text(scene.across.end_s)]
    picture.heading(facts["title"], " · ".join([*rest, f"gap: {gap}"] if gap else rest))
    _draw_legend(picture, scene)
    _draw_keys(picture)
    for row in history.rows:
        _draw_segment(picture, scene, row)
    _draw_gutter(picture, scene)
    _draw_causes(picture, scene)
    _draw_strip(picture, scene)
    picture.time_axis(scene.across, HEIGHT - 26)
    if not history.rows:
        picture.text((LEFT + RIGHT) / 2, 180, facts["empty"][0], size=14, anchor="middle")
    return picture.svg()


def _draw_legend(picture: Picture, scene: Scene) -> None:
    if scene.facts["colour"] == "owner":
        names = scene.history.readers
        entries = [("url(#plab-hatch)", "nobody"), (NONE, "sealed: paler, closed")]
        common = common_start(names)
        shown = [short_name(name, 10, common, i) for i, name in enumerate(names[:4], 1)]
        entries += [(reader_colour(i), name) for i, name in enumerate(shown)]
        if len(names) > 4:
            entries.append(("#ffffff", f"+{len(names) - 4}"))
    else:
        entries = [
            (COLD, "0/s"),
            (HOT, f"{scene.rate_text(scene.rate_top)}{' = 2 × target' if scene.target else ''}"),
            (NONE, "sealed segments are paler and closed"),
        ]
        if scene.has_unknown:
            entries.append((NONE, "not known"))
    if any(row.truncated_ms is not None for row in scene.history.rows):
        entries.append(("url(#plab-hatch)", "truncated"))
    if "tiers" in scene.facts["knows"]:
        entries.append((TEXT, TIERED))
    x = float(LEFT)
    for colour, text in entries:
        top, height = (28.0, 4.0) if text == TIERED else (23.0, 9.0)
        pale = ' opacity=".6"' if "sealed" in text else ""
        picture.rect(x, top, 11, height, colour, f'stroke="#888888"{pale}')
        picture.text(x + 15, 31, text)
        x += 30 + 6.1 * len(text)


def _draw_keys(picture: Picture) -> None:
    for key in (0, 0.25, 0.5, 0.75, 1):
        picture.line(LEFT - 4, _y(key), RIGHT, _y(key))
        picture.text(LEFT - 7, _y(key) + 3.5, number(key), anchor="end")
    middle = (TOP + BOTTOM) / 2
    picture.text(
        12, middle, "key space", anchor="middle", extra=f'transform="rotate(-90 12 {number(middle)})"'
    )


def _draw_segment(picture: Picture, scene: Scene, row: SegmentRow) -> None:
    across, sealed = scene.across, row.end_ms is not None
    x0, x1 = across.x(scene.seconds(row.start_ms)), across.x(scene.seconds(row.end_ms))
    y0, y1 = _y(row.high) + 0.5, _y(row.low) - 0.5
    heat = scene.owned(row) or scene.heat(row)
    colour = scene.colour(row)
    opacity = 'opacity=".6"' if sealed else ""
    title = f"{row.label} ({number(row.low)}, {number(row.high)}] {'sealed' if sealed else 'active'}"
    if tier_text(row):
        title += f", {tier_text(row)}"
    picture.rect(x0, y0, x1 - x0, y1 - y0, heat[0][2] if heat else colour, opacity, title)
    for t0, t1, shade in heat[1:]:
        left = across.x(t0)
        picture.rect(left, y0, across.x(t1) - left, y1 - y0, shade, opacity)
    _draw_waiting(picture, scene, row, (y0, y1))
    if row.truncated_ms is not None:
        picture.rect(x0, y0, across.x(scene.seconds(row.truncated_ms)) - x0, y1 - y0, "url(#plab-hatch)")
    _draw_tier(picture, scene, row, (y0, y1))
    # A sealed segment is closed on the right, an active one is open.
    close = f"V{number(y0)}" if sealed else ""
    edge = f"M{number(x1)} {number(y0)}H{number(x0)}V{number(y1)}H{number(x1)}{close}"
    picture.path(edge, 'fill="none" stroke="#000000" stroke-opacity=".4"')
    if x1 - x0 > 6.5 * len(row.label) + 6 and y1 - y0 >= 12:
        picture.text(
            x0 + 4, (y0 + y1) / 2 + 3.5, row.label, size=10.5, fill=TEXT, extra=f'font-weight="600" {HALO}'
        )


def _draw_tier(picture: Picture, scene: Scene, row: SegmentRow, ys: tuple[float, float]) -> None:
    """Draw the edge below the part that is in tier 2."""
    if (tiered := scene.tiered(row)) is not None:
        start, end = map(scene.across.x, tiered)
        height = min(EDGE, (ys[1] - ys[0]) / 3)
        picture.rect(start, ys[1] - height, end - start, height, TEXT, 'stroke="#ffffff" stroke-width=".7"')


def _draw_waiting(picture: Picture, scene: Scene, row: SegmentRow, ys: tuple[float, float]) -> None:
    """Draw a dotted outline while a group may not read the segment, with the predecessors it waits for."""
    if scene.facts["colour"] != "owner":
        return
    for start_s, end_s, words in scene.waiting(row):
        x0, x1 = scene.across.x(start_s), scene.across.x(end_s)
        box = (x0 + 1.5, ys[0] + 1.5, max(0.5, x1 - x0 - 3), max(0.5, ys[1] - ys[0] - 3))
        picture.rect(*box, "none", f'stroke="{TEXT}" stroke-dasharray="2 3"', words)
        if 5.5 * len(words) < x1 - x0 - 8 and ys[1] - ys[0] > 30:
            picture.text(x0 + 5, (ys[0] + ys[1]) / 2 + 17, words, size=9.5, fill=TEXT)


def _draw_gutter(picture: Picture, scene: Scene) -> None:
    now_x = scene.across.x(scene.seconds(None))  # before the axis ends, if there is less than a second
    picture.line(now_x, TOP - 3, now_x, STRIP_BOTTOM, TEXT)
    owned = "owner" in scene.facts["knows"]
    picture.text(RIGHT + 8, TOP - 5, "active" if owned else "active, keys")
    rate_x = RIGHT + (112 if owned else 140)
    picture.text(rate_x, TOP - 5, scene.facts["rate_unit"], anchor="end")
    picture.text(rate_x + 6, TOP - 5, "unread" if "unread" in scene.facts["knows"] else "stored")
    common = common_start(scene.history.readers)
    if owned:
        picture.text(rate_x + 56, TOP - 5, "owner")
    last, shown = TOP - 12.0, 0
    active = sorted(scene.history.active, key=lambda r: -r.low)
    for row in active:
        y = (_y(row.low) + _y(row.high)) / 2
        if y - last < 11.5:
            continue
        last, shown = y, shown + 1
        rate = row.bytes_per_s if scene.by_bytes else row.events_per_s
        unread = "unread" in scene.facts["knows"]
        size = data_size(row.unread_bytes) if unread else _stored(row)
        speed = "–" if rate is None else scene.rate_text(rate)
        label, keys = f"#{row.number}", f"{number3(row.low)}–{number3(row.high)}"
        room = int((rate_x - RIGHT - 12) / 5.6) - len(speed)
        picture.text(RIGHT + 8, y + 3.5, first_fit(room, f"{label} {keys}", label), fill=TEXT)
        picture.text(rate_x, y + 3.5, speed, fill=TEXT, anchor="end")
        if not owned:
            picture.text(rate_x + 6, y + 3.5, size)
            continue
        picture.text(rate_x + 6, y + 3.5, size)
        picture.text(rate_x + 56, y + 3.5, _owner(scene.history, row, common), fill=TEXT)
    if shown < len(active):
        picture.text(RIGHT + 8, BOTTOM + 12, f"{shown} of {len(active)} active")


def _owner(history: MapHistory, row: SegmentRow, common: int) -> str:
    """Return the owner in the room of its column: a reader may be its number in the order of joining."""
    words = short_words(history.owner_of(row))
    if row.reader is not None and words == row.reader:
        return short_name(words, 9, common, history.place_of(words) + 1)
    return first_fit(9, words, words.split(" ")[0])


def _stored(row: SegmentRow) -> str:
    return "" if row.write_offset is None else data_size(row.write_offset - row.start_offset)


def number3(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _draw_causes(picture: Picture, scene: Scene) -> None:
    limits = [WIDTH - 4.0] * 3
    for scale in reversed(scene.history.scales):
        x, text = scene.across.x(scene.seconds(scale.time_ms)), scale_text(scale)
        y = STRIP_TOP - 4
        picture.path(f"M{number(x - 4)} {number(y - 6)}h8l-4 6z", f'fill="{TEXT}"')
        picture.line(x, y, x, STRIP_BOTTOM, TEXT, 'stroke-opacity=".4"')
        rooms = [int((limit - x - 2) / 5.7) for limit in limits]
        row, shown = placed(rooms, text, text.split(": ")[0])
        if shown:
            picture.text(x + 1, y - 9 - 12 * row, shown, fill=TEXT)
            limits[row] = x - 7


def _draw_strip(picture: Picture, scene: Scene) -> None:
    def y(rate: float) -> float:
        return STRIP_BOTTOM - rate / scene.strip_top * (STRIP_BOTTOM - STRIP_TOP)

    n = (RIGHT - LEFT) // 2
    parts = scene.busiest(n)
    points = "".join(f"H{LEFT + 2 * i}V{number(y(rate))}" for i, rate in _changes(parts))
    picture.path(
        f"M{LEFT} {STRIP_BOTTOM}{points}H{RIGHT}V{STRIP_BOTTOM}Z", 'fill="#0072B2" fill-opacity=".35"'
    )
    picture.line(LEFT, STRIP_BOTTOM, RIGHT, STRIP_BOTTOM)
    last = -10.0
    for rate, name in scene.thresholds:
        if rate > scene.strip_top:
            continue
        dash = "" if name == "target" else 'stroke-dasharray="5 3"'
        picture.line(LEFT, y(rate), RIGHT, y(rate), SOFT, dash)
        if y(rate) - last < 10:
            continue
        last = y(rate)
        picture.text(RIGHT + 8, y(rate) + 3.5, f"{name} {scene.rate_text(rate)}", size=9.5)
    most = scene.rate_text(scene.strip_top / 1.15).removesuffix("/s")  # no room, and the unit is on the right
    picture.text(LEFT - 6, STRIP_TOP + 8, most, size=9.5, anchor="end")
    picture.text(RIGHT + 8, HEIGHT - 12, f"busiest segment, {scene.facts['rate_unit']}", size=9.5)


def _changes(parts: list[float]) -> list[tuple[int, float]]:
    """Return (place, value) wherever the value differs from the one before."""
    return [(i, v) for i, v in enumerate(parts) if i == 0 or v != parts[i - 1]]


def segment_png(history: MapHistory, facts: dict[str, Any], span_ms: Span = None) -> bytes:
    """Return the picture of thousands of rectangles, with words only on the axes and in the summary."""
    return drawn(history, facts, span_ms).png()


def drawn(history: MapHistory, facts: dict[str, Any], span_ms: Span = None) -> Raster:
    """Return the pixels of `segment_png`."""
    scene = Scene(history, facts, span_ms)
    raster = Raster(WIDTH, HEIGHT)
    for row in history.rows:
        x0, x1 = scene.across.x(scene.seconds(row.start_ms)), scene.across.x(scene.seconds(row.end_ms))
        colour = scene.colour(row)
        raster.rect(x0, _y(row.high), x1, _y(row.low), mix("#ffffff", colour, 0.6) if row.end_ms else colour)
        if x1 - x0 > 3 and _y(row.low) - _y(row.high) > 4:
            raster.rect(x0, _y(row.high), x1, _y(row.high) + 1, "#ffffff")
            raster.rect(x0, _y(row.high), x0 + 1, _y(row.low), "#ffffff")
        _edge_raster(raster, scene, row)
    for i, rate in enumerate(scene.busiest(RIGHT - LEFT)):
        if rate:
            top = STRIP_BOTTOM - rate / scene.strip_top * (STRIP_BOTTOM - STRIP_TOP)
            raster.rect(LEFT + i, top, LEFT + i + 1, STRIP_BOTTOM, "#a6cbe3")
    _label_raster(raster, scene)
    return raster


def _edge_raster(raster: Raster, scene: Scene, row: SegmentRow) -> None:
    """Draw the edge below the part that is in tier 2, where the rectangle is high enough to show both."""
    height = round(min(EDGE, (_y(row.low) - _y(row.high)) / 3))
    if height and (tiered := scene.tiered(row)) is not None:
        start, end = map(scene.across.x, tiered)
        raster.rect(start, round(_y(row.low)) - height, end, _y(row.low), TEXT)


def _label_raster(raster: Raster, scene: Scene) -> None:
    active = len(scene.history.active)
    raster.text(4, 6, f"{scene.facts['title']}", TEXT)
    tiers = f", {TIERED}" if "tiers" in scene.facts["knows"] else ""
    raster.text(4, 22, f"{plural(len(scene.history.rows), 'segment')}, {active:,} active{tiers}", SOFT)
    for key in (0, 0.25, 0.5, 0.75, 1):
        raster.rect(LEFT - 4, _y(key), LEFT, _y(key) + 1, SOFT)
        raster.text(LEFT - 8 - text_width(number(key)), round(_y(key)) - 5, number(key), SOFT)
    raster.rect(LEFT, STRIP_BOTTOM, RIGHT, STRIP_BOTTOM + 1, LINE)
    now_x = round(scene.across.x(scene.seconds(None)))
    raster.rect(now_x, TOP - 3, now_x + 1, STRIP_BOTTOM, TEXT)
    for t, text in time_steps(scene.across.end_s, 8):
        x = round(scene.across.x(t))
        raster.rect(x, STRIP_BOTTOM, x + 1, STRIP_BOTTOM + 5, SOFT)
        raster.text(
            max(0, min(x - text_width(text) // 2, RIGHT - text_width(text))), STRIP_BOTTOM + 9, text, SOFT
        )

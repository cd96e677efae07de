"""The pictures of tutorial 13: Figure 1 from its two runs, and event time while a year is read."""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.tutorials.streaming_and_batch import DAYS, PER_DAY, Touch, Year
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.line_picture import Line, line_picture
from pravega_lab.widgets.svg.palette import LINE, SOFT, TEXT
from pravega_lab.widgets.svg.picture import Picture

PANEL, TOP, ROW = 440, 88, 44
COLOURS = {"a": "#cfe3f3", "b": "#fbe3b5"}


def figure_1_picture(streaming: Sequence[Touch], batch: Sequence[Touch]) -> Drawing:
    """Draw what came in, which state was touched, and what was emitted: streaming left, batch right."""
    height = TOP + ROW * max(len(streaming), len(batch)) + 12
    picture = Picture(2 * PANEL + 20, height, "Figure 1: a count in streaming and in batch mode")
    picture.heading("Figure 1, from the two runs", "before: a = 5, b = 4")
    words = ["Figure 1, from the two runs; before: a = 5, b = 4"]
    arrived = ", ".join(touch.key for touch in streaming)
    ordered = ", ".join(touch.key for touch in batch)
    modes = (
        ("streaming mode", f"as it arrives: {arrived}", streaming),
        ("batch mode", f"sorted by key first: {ordered}", batch),
    )
    for place, (name, order, touches) in enumerate(modes):
        left = 8 + place * (PANEL + 12)
        _draw_mode(picture, left, f"{name}, {order}", touches)
        words.append(f"{name}, {order}:")
        words += [_in_words(touch) for touch in touches]
    return Drawing(picture, words)


def _draw_mode(picture: Picture, left: float, title: str, touches: Sequence[Touch]) -> None:
    picture.text(left, 44, title, size=12, fill=TEXT, extra='font-weight="600"')
    for x, head in ((10, "record"), (110, "state, read → written"), (300, "emitted")):
        picture.text(left + x, 68, head, size=11)
    picture.line(left, 74, left + PANEL - 20, 74, LINE)
    for n, touch in enumerate(touches):
        y = TOP + ROW * n
        colour = COLOURS.get(touch.key, "#eeeeee")
        _box(picture, left + 10, y, 44, touch.key, colour)
        picture.line(left + 58, y + 14, left + 104, y + 14, SOFT)
        _box(picture, left + 110, y, 140, f"{touch.key}: {touch.old} → {touch.new}", colour)
        for key, value in touch.emitted:
            picture.line(left + 254, y + 14, left + 294, y + 14, SOFT)
            _box(picture, left + 300, y, 80, f"({key}, {value})", "#ffffff")


def _box(picture: Picture, x: float, y: float, width: float, text: str, fill: str) -> None:
    picture.rect(x, y, width, 28, fill, f'stroke="{TEXT}" stroke-width="0.8"')
    picture.text(x + width / 2, y + 18.5, text, size=13, anchor="middle", fill=TEXT)


def _in_words(touch: Touch) -> str:
    emitted = ", ".join(f"({key}, {value})" for key, value in touch.emitted) or "nothing"
    return f"- {touch.key}: the state goes from {touch.old} to {touch.new}; emitted: {emitted}"


def year_picture(title: str, year: Year, bound_days: int = 1) -> Drawing:
    """Draw the day of each event as it was read, and event time: what lies below event time is late."""
    event_time = year.watermarks(bound_days)
    late = sum(day < reached for day, reached in zip(year.read, event_time, strict=True))
    return line_picture(
        title,
        [Line("day of the event", _by_day(year.read)), Line("event time (watermark)", _by_day(event_time))],
        x="events read",
        y=f"day of the year, of {DAYS}",
        words=[
            f"{late} of {len(year.read)} events lie below the watermark when they are read: they are late."
        ],
    )


def _by_day(values: Sequence[int]) -> list[tuple[float, float]]:
    """Return the first event of each day and the very last, which keeps the picture small."""
    points = [(float(n), float(value)) for n, value in enumerate(values, 1)]
    return [*points[::PER_DAY], points[-1]]

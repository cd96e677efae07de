"""A few lines over one axis, drawn once, for lessons in which a number changes over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pravega_lab.errors import BadInputError

from ..svg.palette import LINE, SOFT, TEXT, VERMILION, reader_colour
from ..svg.picture import Picture, number, steps
from .drawing import Drawing

WIDTH, HEIGHT = 900, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 170, 40, 44
DASHES = ("", 'stroke-dasharray="7 4"', 'stroke-dasharray="2 3"')


@dataclass(frozen=True)
class Line:
    """A line through ``points`` (x, y), in their order.

    ``end`` is the text at its right end, by default its name. With ``dots`` every point has a mark.
    """

    name: str
    points: Sequence[tuple[float, float]]
    end: str = ""
    dots: bool = False


@dataclass(frozen=True)
class Mark:
    """A vertical line with a word. ``fails`` marks a failure or loss, in vermilion."""

    x: float
    word: str
    fails: bool = False


def line_picture(
    title: str,
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    words: Sequence[str],
    marks: Sequence[Mark] = (),
    whole: bool = False,
) -> Drawing:
    """Draw lines in the colours of readers, each with its own dashes and its name at its end.

    Args:
        x, y: What the axes show, with units.
        words: The text alternative.
        whole: Whether x counts things: then ticks are at whole numbers only.

    Raises:
        BadInputError: There is no point to draw.
    """
    if not any(line.points for line in lines):
        raise BadInputError("line_picture() got no points: give each Line its (x, y) pairs")
    picture = Picture(WIDTH, HEIGHT, title)
    picture.heading(title, "")
    frame = _Frame(lines)
    _axes(picture, frame, x, y, whole)
    for mark in marks:
        colour = VERMILION if mark.fails else SOFT
        at = frame.x(mark.x)
        picture.line(at, TOP, at, HEIGHT - BOTTOM, colour, 'stroke-width="1.5"')
        picture.text(at + 4, TOP + 10, f"{'× ' if mark.fails else ''}{mark.word}", size=11, fill=colour)
    ends: list[float] = []
    for place, line in enumerate(lines):
        _draw(picture, frame, line, place, ends)
    return Drawing(picture, [title, *words])


class _Frame:
    """Maps values to places in the picture."""

    def __init__(self, lines: Sequence[Line]) -> None:
        xs = [point[0] for line in lines for point in line.points]
        ys = [point[1] for line in lines for point in line.points]
        self.low_x, self.high_x = min(xs), max(xs)
        self.high_y = max(*ys, 1) * 1.05

    def x(self, value: float) -> float:
        """Return the x of a value."""
        part = (value - self.low_x) / ((self.high_x - self.low_x) or 1)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the y of a value."""
        return HEIGHT - BOTTOM - value / self.high_y * (HEIGHT - TOP - BOTTOM)


def _axes(picture: Picture, frame: _Frame, x: str, y: str, whole: bool) -> None:
    for value in steps(0, frame.high_y, 5):
        at = frame.y(value)
        picture.line(LEFT, at, WIDTH - RIGHT, at, LINE)
        picture.text(LEFT - 6, at + 4, number(value), size=11, anchor="end")
    for value in steps(frame.low_x, frame.high_x, 8):
        if whole and value != int(value):
            continue
        picture.line(frame.x(value), HEIGHT - BOTTOM, frame.x(value), HEIGHT - BOTTOM + 4, SOFT)
        picture.text(frame.x(value), HEIGHT - BOTTOM + 17, number(value), size=11, anchor="middle")
    picture.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x, size=11, anchor="middle")
    picture.text(4, TOP - 8, y, size=11)


def _draw(picture: Picture, frame: _Frame, line: Line, place: int, ends: list[float]) -> None:
    colour, dash = reader_colour(place), DASHES[place % len(DASHES)]
    points = [(frame.x(x), frame.y(y)) for x, y in line.points]
    path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    picture.path(
        path, f'fill="none" stroke="{colour}" stroke-width="2" shape-rendering="auto" {dash}'.strip()
    )
    if line.dots:
        for x, y in points:
            picture.rect(x - 3, y - 3, 6, 6, colour)
    at = points[-1][1] + 4
    while any(abs(at - other) < 14 for other in ends):
        at += 14 if at <= points[-1][1] + 4 else 2
    ends.append(at)
    picture.text(points[-1][0] + 8, at, line.end or line.name, size=11, fill=TEXT)
    picture.line(points[-1][0] + 2, points[-1][1], points[-1][0] + 6, at - 4, colour)

"""Who was in which state from when to when: a lane for each actor, drawn once, for lessons about waiting.

Time runs to the right and is to scale.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pravega_lab.errors import BadInputError

from ..svg.palette import LINE, NONE, READERS, SOFT, TEXT, VERMILION
from ..svg.picture import Picture, number, steps
from .drawing import Drawing
from .line_picture import Mark

WIDTH, RIGHT, HEAD, ROW, FOOT = 900, 20, 58, 30, 46
LETTER = 6.2  # about the width of a letter of a label
DARK = ("#0072B2", "#009E73")  # colours with white letters


@dataclass(frozen=True)
class Span:
    """From ``start`` to ``end`` an actor was in the state ``kind``."""

    start: float
    end: float
    kind: str


def span_picture(
    title: str,
    lanes: Mapping[str, Sequence[Span]],
    *,
    x: str,
    marks: Sequence[Mark] = (),
    pale: Collection[str] = (),
    words: Sequence[str] = (),
) -> Drawing:
    """Draw a bar for every span, coloured and lettered by its kind.

    Args:
        lanes: The spans of each actor, from top to bottom.
        x: What the axis shows, with its unit.
        marks: Moments that concern all lanes, in their order.
        pale: Kinds that are grey, because nothing happens in them.
        words: The text alternative. Without it, the spans are named lane by lane.

    Raises:
        BadInputError: There is no span, there are more kinds than colours, or a span ends before it begins.
    """
    spans = [span for found in lanes.values() for span in found]
    kinds = [kind for kind in dict.fromkeys(span.kind for span in spans) if kind not in pale]
    if not spans:
        raise BadInputError("span_picture() got no spans: there is nothing to draw")
    if len(kinds) > len(READERS):
        raise BadInputError(
            f"span_picture() has {len(READERS)} colours, and the spans have {len(kinds)} kinds"
        )
    if wrong := next((span for span in spans if span.end < span.start), None):
        raise BadInputError(f"{wrong} ends before it begins")
    picture = Picture(WIDTH, HEAD + ROW * len(lanes) + FOOT, title)
    picture.heading(title, "")
    axis = _Axis(lanes, spans, marks)
    colours = dict(zip(kinds, READERS, strict=False)) | {
        span.kind: NONE for span in spans if span.kind in pale
    }
    _legend(picture, colours)
    axis.draw(picture, x, HEAD + ROW * len(lanes))
    for row, (lane, found) in enumerate(lanes.items()):
        top = HEAD + ROW * row
        picture.text(axis.left - 8, top + ROW / 2 + 3, lane, size=12, anchor="end", fill=TEXT)
        for span in found:
            _bar(picture, axis, span, colours[span.kind], top)
    _marks(picture, axis, marks, HEAD + ROW * len(lanes))
    return Drawing(picture, [title, *(words or _words(lanes, marks, x))])


def _marks(picture: Picture, axis: _Axis, marks: Sequence[Mark], bottom: float) -> None:
    """Draw the moments. A word that would cover the one before is a line higher."""
    ends = [0.0, 0.0]  # where the words of the lower and of the higher line end
    for mark in marks:
        colour, at = VERMILION if mark.fails else SOFT, axis.x(mark.x)
        picture.line(at, HEAD - 10, at, bottom, colour, 'stroke-width="1.5"')
        word = f"{'× ' if mark.fails else ''}{mark.word}"
        width = len(word) * LETTER
        is_last = at + 3 + width > WIDTH
        begin = at - 3 - width if is_last else at + 3
        line = 0 if begin >= ends[0] else 1
        ends[line] = begin + width
        picture.text(
            at - 3 if is_last else at + 3, HEAD - 3 - 11 * line, word, size=10, fill=colour,
            anchor="end" if is_last else "start",
        )  # fmt: skip


class _Axis:
    """Maps times to places in the picture."""

    def __init__(
        self, lanes: Mapping[str, Sequence[Span]], spans: Sequence[Span], marks: Sequence[Mark]
    ) -> None:
        self.left = 16 + max(len(lane) for lane in lanes) * LETTER * 1.1
        times = [*(span.start for span in spans), *(span.end for span in spans), *(mark.x for mark in marks)]
        self._low, self._high = min(times), max(times)

    def x(self, value: float) -> float:
        """Return the x of a time."""
        return self.left + (value - self._low) / ((self._high - self._low) or 1) * (WIDTH - RIGHT - self.left)

    def draw(self, picture: Picture, name: str, y: float) -> None:
        """Draw the axis at ``y``, with its ticks."""
        picture.line(self.left, y, WIDTH - RIGHT, y, LINE)
        for value in steps(self._low, self._high, 8):
            picture.line(self.x(value), y, self.x(value), y + 4, SOFT)
            picture.text(self.x(value), y + 16, number(value), size=11, anchor="middle")
        picture.text((self.left + WIDTH - RIGHT) / 2, y + 34, name, size=11, anchor="middle")


def _bar(picture: Picture, axis: _Axis, span: Span, colour: str, top: float) -> None:
    begin, end = axis.x(span.start), axis.x(span.end)
    said = f"{span.kind}: {number(span.start)} to {number(span.end)}"
    picture.rect(begin, top + 5, end - begin, ROW - 10, colour, title=said)
    if len(span.kind) * LETTER + 6 <= end - begin:
        letters = "#ffffff" if colour in DARK else "#1a1a1b"  # on the bar, in every theme
        picture.text(begin + 4, top + ROW / 2 + 4, span.kind, size=11, fill=letters)


def _legend(picture: Picture, colours: Mapping[str, str]) -> None:
    at = 4.0
    for kind, colour in colours.items():
        picture.rect(at, 24, 12, 12, colour)
        picture.text(at + 17, 34, kind, size=11, fill=TEXT)
        at += 34 + len(kind) * LETTER


def _words(lanes: Mapping[str, Sequence[Span]], marks: Sequence[Mark], x: str) -> list[str]:
    said = [
        f"{lane}: " + ", ".join(f"{s.kind} from {number(s.start)} to {number(s.end)}" for s in found)
        for lane, found in lanes.items()
    ]
    moments = ", ".join(f"{mark.word} at {number(mark.x)}" for mark in marks)
    return [*said, *([f"Moments: {moments}"] if moments else []), f"Times: {x}"]

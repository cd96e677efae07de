"""Who did what, and in which order: a lane for each actor and a row for each step, drawn once from a run.

Time runs down. Rows are steps and not to scale; their times are on the left, in ms if all are whole ms. A
failing step is vermilion, and the lines of code in which it failed may be beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pravega_lab.errors import BadInputError

from ..svg.palette import LINE, SOFT, TEXT, VERMILION
from ..svg.picture import Picture, number
from .drawing import Drawing

GUTTER, HEAD, ROW, FOOT = 84, 74, 36, 16
LANE, LANE_BESIDE_CODE = 160, 112
CODE_LINE, CODE_LETTER, CODE_SIZE = 16, 5.9, 9.5
LETTER, CAPITAL = 5.8, 7.6  # about the width of a label
STEPS_MAX = 40
BLUE = "#0072B2"
MONOSPACE = 'font-family="ui-monospace,\'DejaVu Sans Mono\',monospace" xml:space="preserve"'


@dataclass(frozen=True)
class SequenceStep:
    """A step: ``what`` happened in ``lane`` at ``time_us``.

    ``by`` is the lane that caused it, if that is another one.
    """

    time_us: int
    lane: str
    what: str
    by: str | None = None
    fails: bool = False


def sequence_picture(
    title: str,
    lanes: Sequence[str],
    steps: Sequence[SequenceStep],
    *,
    code: Sequence[str] = (),
    wrong: str = "",
    outcome: str = "",
    label_max: int | None = None,
) -> Drawing:
    """Draw the steps of a run in lanes.

    Args:
        lanes: The actors, from left to right.
        steps: The steps in their order. Of more than forty the last forty are drawn, and the picture says so.
        code: Lines beside the failing step (or, if none fails, beside the last).
        wrong: Part of the line of code to mark.
        outcome: A sentence under the title.
        label_max: Letters of a step that are drawn. The words of the drawing have all.

    Raises:
        BadInputError: There is no step, or a step is in a lane that is not among the lanes.
    """
    _check(lanes, steps)
    drawn, when = list(steps)[-STEPS_MAX:], _clock(steps)
    left_out = f"the first {len(steps) - len(drawn)} steps are left out" if len(steps) > len(drawn) else ""
    lane_width = LANE_BESIDE_CODE if code else LANE
    width = GUTTER + lane_width * len(lanes)
    beside = width + round(max((len(line) for line in code), default=-4) * CODE_LETTER) + 24
    height = HEAD + ROW * max(len(drawn), (len(code) * CODE_LINE) // ROW + 1) + FOOT
    picture = Picture(beside if code else width + 8, height, title)
    picture.heading(title, left_out)
    picture.text(4, 32, outcome, size=11, fill=TEXT)
    places = {lane: GUTTER + lane_width * (n + 0.5) for n, lane in enumerate(lanes)}
    for lane, x in places.items():
        picture.text(x, HEAD - 18, lane, size=12, anchor="middle", fill=TEXT, extra='font-weight="600"')
        picture.line(x, HEAD - 12, x, height - FOOT, LINE, 'stroke-width="2"')
    for row, step in enumerate(drawn):
        if label_max is not None and len(step.what) > label_max:
            step = replace(step, what=f"{step.what[: label_max - 1]}…")
        _draw(picture, places, HEAD + ROW * (row + 0.5), step, row + 1, when(step), width)
    if code:
        row = next((n for n, step in enumerate(drawn) if step.fails), len(drawn) - 1)
        _draw_code(picture, code, wrong, width, HEAD + ROW * (row + 0.5), places[drawn[row].lane], height)
    return Drawing(
        picture, _words(title, "; ".join(filter(None, (outcome, left_out))), drawn, when, code, wrong)
    )


def _check(lanes: Sequence[str], steps: Sequence[SequenceStep]) -> None:
    if not steps:
        raise BadInputError("sequence_picture() got no steps: there is nothing to draw")
    unknown = [lane for step in steps for lane in (step.lane, step.by) if lane not in (*lanes, None)]
    if unknown:
        raise BadInputError(f"a step is in lane {unknown[0]!r}, and the lanes are {', '.join(lanes)}")


def _clock(steps: Sequence[SequenceStep]) -> Callable[[SequenceStep], str]:
    """Return what says when a step was: since the first one, in µs, or in ms if all steps are at whole ms."""
    begin_us = steps[0].time_us
    since = [step.time_us - begin_us for step in steps]
    if any(since) and not any(time_us % 1000 for time_us in since):
        return lambda step: f"{(step.time_us - begin_us) // 1000:,} ms"
    return lambda step: f"{step.time_us - begin_us:,} µs"


def _draw(
    picture: Picture,
    places: dict[str, float],
    y: float,
    step: SequenceStep,
    row: int,
    at: str,
    right: float,
) -> None:
    colour, x = VERMILION if step.fails else BLUE, places[step.lane]
    picture.text(4, y + 4, f"{row}", size=11, fill=TEXT, extra='font-weight="600"')
    picture.text(GUTTER - 8, y + 4, at, anchor="end")
    words = f"× {step.what}" if step.fails else step.what
    half = sum(CAPITAL if letter.isupper() else LETTER for letter in words) / 2
    if step.by is None or step.by == step.lane:
        _dot(picture, x, y, colour)
        is_last = x + 10 + 2 * half > right - 4
        where, anchor = (x - 9, "end") if is_last else (x + 9, "start")
        _label(picture, where, y + 4, words, anchor, colour if step.fails else TEXT)
        return
    start, way = places[step.by], 1 if x > places[step.by] else -1
    picture.line(start, y + 4, x - 7 * way, y + 4, colour, 'stroke-width="1.5"')
    picture.path(f"M{number(x)} {number(y + 4)}l{-9 * way} -4v8Z", f'fill="{colour}" shape-rendering="auto"')
    _dot(picture, start, y + 4, colour, 2.5)
    middle = min(max((start + x) / 2, GUTTER + half), right - half)
    _label(picture, middle, y - 2, words, "middle", TEXT)


def _dot(picture: Picture, x: float, y: float, colour: str, radius: float = 4.5) -> None:
    r = number(radius)
    arcs = f"a{r} {r} 0 1 0 {number(2 * radius)} 0a{r} {r} 0 1 0 {number(-2 * radius)} 0"
    picture.path(f"M{number(x - radius)} {number(y)}{arcs}", f'fill="{colour}" shape-rendering="auto"')


def _label(picture: Picture, x: float, y: float, words: str, anchor: str, colour: str) -> None:
    halo = 'stroke="#ffffff" stroke-width="4" paint-order="stroke"'
    picture.text(x, y, words, size=11, anchor=anchor, fill=colour, extra=halo)


def _draw_code(
    picture: Picture, code: Sequence[str], wrong: str, left: float, y: float, x: float, height: float
) -> None:
    """Draw a box beside the lanes, and a thin line from the step to the marked line of code."""
    tall = len(code) * CODE_LINE + 12
    top = min(max(HEAD - 10, y - tall / 2), height - FOOT - tall)
    picture.rect(left + 6, top, picture.width - left - 10, tall, "#f6f6f6", f'stroke="{LINE}"')
    for n, line in enumerate(code):
        at = top + 6 + CODE_LINE * (n + 0.5)
        is_wrong = bool(wrong) and wrong in line
        if is_wrong:
            picture.rect(left + 8, at - 8, picture.width - left - 14, CODE_LINE, "#fbe5d8")
            way = f"M{number(x + 8)} {number(y)}L{number(left - 6)} {number(at)}h12"
            picture.path(
                way,
                f'fill="none" stroke="{VERMILION}" stroke-dasharray="3 3" shape-rendering="auto"',
            )
        colour = VERMILION if is_wrong else SOFT if line.lstrip().startswith("#") else TEXT
        picture.text(left + 12, at + 3.5, line, size=CODE_SIZE, fill=colour, extra=MONOSPACE)


def _words(
    title: str,
    outcome: str,
    steps: Sequence[SequenceStep],
    when: Callable[[SequenceStep], str],
    code: Sequence[str],
    wrong: str,
) -> list[str]:
    told = [title, *([outcome] if outcome else [])]
    for row, step in enumerate(steps, 1):
        by = f" (from {step.by})" if step.by not in (None, step.lane) else ""
        end = ", and that is the failure" if step.fails else ""
        told.append(f"{row}. {when(step)}, {step.lane}: {step.what}{by}{end}")
    marked = [line.strip() for line in code if wrong and wrong in line]
    return [*told, *(f"The line: {line}" for line in marked)]

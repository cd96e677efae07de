"""`sequence_svg`: a story as a picture with a lane for each process and a row for each moment.

The picture is one SVG element without scripts or references. It follows the light or dark scheme of the page
that shows it, and has its story as a text for those who do not see it.
"""

from __future__ import annotations

from collections import Counter
from html import escape

from .story import Moment, Story
from .turning import TurningPoint

LANES_MAX = 7
OTHERS = "others"
LANE_PX, ROW_PX, TOP_PX, TIME_PX = 96, 24, 56, 100
WORDS_PX, WORDS_MAX = 720, 96
NAME_MAX = 14
STYLE = """
.explained { --ink: #1b1f24; --faint: #6b7480; --line: #c8ced6; --fault: #b3261e; --turn: #0b57d0; }
@media (prefers-color-scheme: dark) {
  .explained { --ink: #e6e9ed; --faint: #9aa4b0; --line: #454c55; --fault: #ff8a80; --turn: #8ab4f8; }
}
.explained text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.explained .time, .explained .step { fill: var(--faint); }
.explained .life { stroke: var(--line); stroke-width: 1; }
.explained .arrow { stroke: var(--faint); stroke-width: 1.2; }
.explained .dot { fill: var(--faint); }
.explained .turn .dot { fill: var(--turn); }
.explained .fault .dot, .explained .violation .dot, .explained .fault text, .explained .violation text {
  fill: var(--fault);
}
.explained .violation text { font-weight: 600; }
.explained .share { fill: none; stroke: var(--turn); stroke-width: 2; }
.explained .found { stroke: var(--fault); stroke-dasharray: 4 3; }
"""


def lanes_of_story(story: Story) -> list[str]:
    """Return the lanes in the order in which they begin. The rarest lanes share the last one."""
    counts = Counter(lane for moment in story.moments for lane in (moment.lane, moment.origin) if lane)
    order = list(dict.fromkeys(lane for m in story.moments for lane in (m.origin, m.lane) if lane))
    if len(order) <= LANES_MAX:
        return order
    kept = {lane for lane, _ in counts.most_common(LANES_MAX - 1)}
    return [*(lane for lane in order if lane in kept), OTHERS]


def sequence_svg(story: Story) -> str:
    """Return the picture of a story."""
    lanes = lanes_of_story(story)
    width = TIME_PX + LANE_PX * len(lanes) + WORDS_PX
    height = TOP_PX + ROW_PX * len(story.moments) + ROW_PX
    x_of = {lane: TIME_PX + LANE_PX * n + LANE_PX // 2 for n, lane in enumerate(lanes)}
    parts = [
        f'<svg class="explained" role="img" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'aria-labelledby="explained-title explained-text">',
        f'<title id="explained-title">{escape(_title(story))}</title>',
        f'<desc id="explained-text">{escape(" ".join(story.sentences()))}</desc>',
        f"<style>{STYLE}</style>",
    ]
    for lane, x in x_of.items():
        parts.append(f'<text x="{x}" y="30" text-anchor="middle">{escape(_short(lane, NAME_MAX))}</text>')
        parts.append(f'<line class="life" x1="{x}" y1="40" x2="{x}" y2="{height - 8}"/>')
    words_x = TIME_PX + LANE_PX * len(lanes) + 8
    for n, moment in enumerate(story.moments):
        parts.append(_row(moment, x_of, TOP_PX + ROW_PX * n, words_x))
    return "\n".join([*parts, "</svg>"])


def _title(story: Story) -> str:
    result = story.result
    return f"Seed {result.seed} of scenario {result.scenario}: how the rule '{story.rule}' was violated"


def _row(moment: Moment, x_of: dict[str, int], y: int, words_x: int) -> str:
    x = x_of.get(moment.lane, x_of.get(OTHERS, 0))
    parts = [f'<g class="{moment.sort}"><title>{escape(moment.sentence())}</title>']
    at = f'class="time" x="{TIME_PX - 12}" y="{y + 4}" text-anchor="end"'
    parts.append(f"<text {at}>{moment.time_us / 1000:,.1f} ms</text>")
    start = x_of.get(moment.origin, x_of.get(OTHERS, x)) if moment.origin else x
    if start != x:
        tip = x - 8 if x > start else x + 8
        parts.append(f'<line class="arrow" x1="{start}" y1="{y}" x2="{tip}" y2="{y}"/>')
        parts.append(f'<path class="dot" d="M{x} {y} L{tip} {y - 4} L{tip} {y + 4} Z"/>')
    elif moment.sort == "fault":
        parts.append(f'<path class="dot" d="M{x} {y - 7} L{x + 7} {y + 6} L{x - 7} {y + 6} Z"/>')
    elif moment.sort == "violation":
        parts.append(f'<rect class="dot" x="{x - 6}" y="{y - 6}" width="12" height="12"/>')
    else:
        parts.append(f'<circle class="dot" cx="{x}" cy="{y}" r="4"/>')
    parts.append(f'<text x="{words_x}" y="{y + 4}">{escape(_short(moment.words, WORDS_MAX))}</text></g>')
    return "".join(parts)


def share_svg(turning: TurningPoint) -> str:
    """Return the share of failing futures over the steps of a run, with the turning point."""
    curve, width, height, left = turning.curve, 640, 150, 48
    end = max(1, turning.result.steps)

    def place(step: int, value: float) -> str:
        return f"{left + step * (width - left - 16) / end:.1f},{16 + (1 - value) * (height - 48):.1f}"

    points = " ".join(place(share.step, share.value) for share in curve)
    parts = [
        '<svg class="explained" role="img" xmlns="http://www.w3.org/2000/svg" aria-labelledby="share-title" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<title id="share-title">Share of failing futures. {escape(turning.sentence())}</title>',
        f"<style>{STYLE}</style>",
    ]
    for value, label in ((1.0, "100 %"), (0.0, "0 %")):
        (x1, y), (x2, _) = (place(step, value).split(",") for step in (0, end))
        parts.append(f'<line class="life" x1="{x1}" y1="{y}" x2="{x2}" y2="{y}"/>')
        parts.append(f'<text x="{left - 6}" y="{float(y) + 4:.0f}" text-anchor="end">{label}</text>')
    for step in (0, end):
        x, y = place(step, 0).split(",")
        parts.append(f'<text x="{x}" y="{float(y) + 18:.0f}" text-anchor="middle">{step:,}</text>')
    if turning.step is not None:
        (x, y1), (_, y2) = (place(turning.step, value).split(",") for value in (1.0, 0.0))
        parts.append(f'<line class="found" x1="{x}" y1="{y1}" x2="{x}" y2="{y2}"/>')
    parts.append(f'<polyline class="share" points="{points}"/></svg>')
    return "\n".join(parts)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

"""The static picture of a checkpoint timeline, as SVG text."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from pravega_lab.observe.group.rows import number_label

from ..groups.history import BoardHistory
from ..svg.palette import LINE, NONE, SOFT, TEXT, VERMILION, ink, reader_colour
from ..svg.picture import Picture, amount, data_size, number, steps, time_text
from ..svg.text import common_start, first_fit, short_name
from .rows import Checkpoint, CheckpointSource, Part, counted, held_up

WIDTH, LEFT, RIGHT = 900, 96, 660
LEFT_OF_JOB, SPLIT = 158, 16  # names of subtasks are longer; room for the heading of the other system
BARS_TOP, BARS_BOTTOM = 56, 120
BARS_MAX, ROWS_MAX = 60, 30
COLUMN = (RIGHT + 34, 30)  # of the cut: x and width
COLOURS = {"completed": "#0072B2", "failed": VERMILION, "cancelled": NONE, "unknown": "url(#plab-hatch)"}


class Scene:
    """The checkpoints that are drawn, the chosen one, and the places of its rows."""

    def __init__(self, source: CheckpointSource, facts: dict[str, Any], history: BoardHistory) -> None:
        self.source, self.facts, self.history = source, facts, history
        self.now_ms = history.now_ms or 0
        self.all = source.checkpoints()
        self.bars = self.all[-BARS_MAX:]
        wanted = (c for c in self.all if c.name == facts["chosen"])
        self.chosen = next(wanted, self.all[-1] if self.all else None)
        self.parts = self._parts()
        self.common = common_start([part.name for part in self.parts])
        self.left = LEFT if source.system != "job" else LEFT_OF_JOB
        self.split = SPLIT if self.is_job and any(self.is_reader(part) for part in self.parts) else 0
        self.turned = len(self.bars) > 10
        self.under = BARS_BOTTOM + (74 if self.turned else 28)
        self.rows_top = self.under + 40
        self.rows_bottom = self.rows_top + max(108, 19 * len(self.parts) + self.split)
        self.height = self.rows_bottom + 30

    @property
    def is_job(self) -> bool:
        return self.source.system == "job"

    def is_reader(self, part: Part) -> bool:
        return part.row >= self.source.readers_from

    def _parts(self) -> list[Part]:
        if self.chosen is None:
            return []
        mine = [p for p in self.chosen.parts if self.facts["only"].lower() in p.name.lower()]
        if len(mine) <= ROWS_MAX:
            return sorted(mine, key=lambda p: p.row)
        return sorted(mine, key=lambda p: -(p.end_ms or self.now_ms + 1))[:ROWS_MAX]

    def spent_ms(self, checkpoint: Checkpoint) -> int:
        return (self.now_ms if checkpoint.end_ms is None else checkpoint.end_ms) - checkpoint.start_ms


def checkpoint_svg(source: CheckpointSource, facts: dict[str, Any], history: BoardHistory, gap: str) -> str:
    """Return the picture as SVG text."""
    scene = Scene(source, facts, history)
    said = counted(scene.all)
    picture = Picture(WIDTH, scene.height, f"Checkpoints of {source.name or 'no group yet'}: {said}")
    older = f"the last {BARS_MAX} drawn" if len(scene.all) > BARS_MAX else ""
    words = [said, older, facts["left_out"], f"gap: {gap}" if gap else ""]
    picture.heading(facts["title"], " · ".join(word for word in words if word))
    _draw_legend(picture, scene)
    _draw_bars(picture, scene)
    if scene.chosen is None:
        picture.text((LEFT + RIGHT) / 2, scene.under + 50, facts["empty"][0], size=14, anchor="middle")
        return picture.svg()
    _draw_detail(picture, scene, scene.chosen)
    _draw_cut(picture, scene, scene.chosen)
    return picture.svg()


def _draw_legend(picture: Picture, scene: Scene) -> None:
    x = float(LEFT)
    told = dict.fromkeys(
        p.kind for part in scene.parts for p in part.phases if not part.skipped or not scene.is_job
    )
    states = [(COLOURS.get(state, "none"), state) for state in dict.fromkeys(c.state for c in scene.bars)]
    phases = [(scene.source.phases[k].colour, scene.source.phases[k].words) for k in sorted(told)]
    for place, (colour, text) in enumerate([*states, *phases][:7]):
        edge = COLOURS["completed"] if colour == "none" else "#888888"
        top, height = (25, 9) if place < len(states) else (28, 3)
        picture.rect(x, top, 11, height, colour, f'stroke="{edge}"')
        picture.text(x + 15, 33, text)
        x += 30 + 6.0 * len(text)


def _draw_bars(picture: Picture, scene: Scene) -> None:
    top_ms = max([scene.spent_ms(c) for c in scene.bars], default=0) or 1000
    axis = steps(0, top_ms / 1000, 3)
    top_s = max(axis[-1], top_ms / 1000)
    for value in axis:
        y = BARS_BOTTOM - value / top_s * (BARS_BOTTOM - BARS_TOP)
        picture.line(scene.left - 3, y, RIGHT, y, LINE)
        label = f"{number(value)} s" if top_s >= 0.1 else f"{number(1000 * value)} ms"
        picture.text(scene.left - 6, y + 3.5, label, size=9.5, anchor="end")
    picture.text(4, BARS_TOP + 3, "duration", size=9.5)
    slot = (RIGHT - scene.left) / max(8, len(scene.bars))
    for place, c in enumerate(scene.bars):
        height = max(1.5, scene.spent_ms(c) / 1000 / top_s * (BARS_BOTTOM - BARS_TOP))
        width = min(slot * 0.64, 46)
        middle = scene.left + slot * (place + 0.5)
        fill, edge = COLOURS.get(c.state, "none"), ""
        if c.state == "running":
            edge = f'stroke="{COLOURS["completed"]}" stroke-width="1.6"'
        picture.rect(
            middle - width / 2,
            BARS_BOTTOM - height,
            width,
            height,
            fill,
            edge,
            f"{c.number or c.name} {c.word}",
        )
        if slot > 14 or c.number % 5 == 0:
            weight = 'font-weight="600"' if c is scene.chosen else ""
            number_ = str(c.number or "–")
            picture.text(
                middle, BARS_BOTTOM + 12, number_, size=9.5, anchor="middle", fill=TEXT, extra=weight
            )
        _draw_word(picture, scene, c, middle, slot)
        if c is scene.chosen:
            corner = f"M{number(middle - slot / 2 + 1)} {BARS_TOP - 6}"
            box = f"{corner}h{number(slot - 2)}V{scene.under + 2}h{number(2 - slot)}Z"
            picture.path(box, f'fill="none" stroke="{TEXT}"')


def _draw_word(picture: Picture, scene: Scene, c: Checkpoint, x: float, slot: float) -> None:
    fill = VERMILION if c.state == "failed" else TEXT
    word = c.word if 5.4 * len(c.word) < slot or scene.turned else c.state
    y = BARS_BOTTOM + 24
    if not scene.turned:
        picture.text(x, y, word, size=9.5, anchor="middle", fill=fill)
    elif slot > 9 or c.state != "completed":
        turned = f'transform="rotate(-90 {number(x)} {y - 8})"'
        picture.text(
            x, y - 5, c.state if c.state != "running" else word, size=9, anchor="end", fill=fill, extra=turned
        )


def _draw_detail(picture: Picture, scene: Scene, c: Checkpoint) -> None:
    y, start_ms = scene.under + 16, scene.history.start_ms or 0
    title = f"{scene.source.system} {c.label}"
    asked = f"asked at {time_text((c.start_ms - start_ms) / 1000)}"
    spent_ms = scene.spent_ms(c)
    took = f"{spent_ms / 1000:.2f} s" if spent_ms >= 100 else f"{number(spent_ms)} ms"
    name = f"{c.name} · " if c.number else ""  # a request without a number is in the title by its name
    picture.heading(title, f"{name}{asked} · {c.word} · {took}", y)
    fill = VERMILION if c.state == "failed" else TEXT
    picture.text(4, y + 16, held_up(c, scene.source.phases, scene.now_ms), size=11, fill=fill)
    ends = [p.end_ms - c.start_ms for part in scene.parts for p in part.phases if p.end_ms is not None]
    top_ms = max([10, spent_ms, *ends]) * 1.02

    def x(ms: float) -> float:
        return scene.left + max(0.0, min(ms, top_ms)) / top_ms * (RIGHT - scene.left) * 0.68

    for value in steps(0, top_ms, 6):
        picture.line(x(value), scene.rows_top - 2, x(value), scene.rows_bottom + 4)
        text = (
            "asked" if not value else f"{number(value)} ms" if top_ms < 2000 else f"{number(value / 1000)} s"
        )
        picture.text(x(value), scene.rows_bottom + 15, text, size=9.5, anchor="middle" if value else "start")
    picture.line(scene.left, scene.rows_bottom, RIGHT, scene.rows_bottom)
    height = min(22.0, (scene.rows_bottom - scene.rows_top - scene.split) / max(1, len(scene.parts)))
    places: dict[str, float] = {}
    for place, part in enumerate(scene.parts):
        top = scene.rows_top + place * height + (scene.split if scene.is_reader(part) else 0)
        places[part.name] = top + height / 2
        _draw_part(picture, scene, c, part, (top, height), x)
    _draw_links(picture, scene, c, places, x)
    hidden = len(c.parts) - len(scene.parts)
    if hidden > 0 and not scene.facts["only"]:
        picture.text(RIGHT, scene.rows_bottom + 15, f"the last to pass, +{hidden:,}", anchor="end")


def _draw_part(
    picture: Picture, scene: Scene, c: Checkpoint, part: Part, at: tuple[float, float], x: Any
) -> None:
    top, height = at
    middle, size = top + height / 2, max(2.0, height * 0.62)
    if scene.is_reader(part):
        picture.rect(4, middle - 5, 5, 10, reader_colour(max(0, part.row - scene.source.readers_from)))
    struck = 'text-decoration="line-through"' if part.skipped else ""
    name = _name(scene, part)
    picture.text(13, middle + 3.5, name, fill=TEXT, extra=f'font-weight="600" {struck}'.strip())
    right = float(scene.left)
    over_ms = scene.now_ms if c.end_ms is None else c.end_ms
    for phase in part.phases:
        x0 = x(phase.start_ms - c.start_ms)
        open_ms = max(over_ms, phase.start_ms)
        x1 = x((open_ms if phase.end_ms is None else phase.end_ms) - c.start_ms)
        right = max(right, x1)
        kind = scene.source.phases[phase.kind]
        if phase.end_ms is None:
            dash = f'stroke="{TEXT}" stroke-dasharray="3 2"'
            picture.rect(x0, middle - size / 2, x1 - x0, size, "none", dash, kind.words)
        else:
            pale = 'opacity=".35"' if part.skipped else ""
            picture.rect(x0, middle - size / 2, x1 - x0, size, kind.colour, pale, kind.words)
    for ms, number_ in part.ticks:
        title = f"barrier on channel {number_}"
        picture.rect(x(ms - c.start_ms) - 0.5, middle - size / 2 - 2, 1.5, size + 4, TEXT, title=title)
    lies = _draw_between(picture, c, part, (middle, size), x)
    picture.text(
        right + 5, middle + 3.5, _said(scene, c, part) + lies, fill=TEXT if part.end_ms is None else SOFT
    )


def _name(scene: Scene, part: Part) -> str:
    """Return the name of a row: a reader may be its number, a chain its first and its last word."""
    if scene.is_reader(part):
        return short_name(part.name, 12, scene.common, part.row - scene.source.readers_from + 1)
    head, tail = part.name.split(" ")[0], part.name.split(" ")[-1]
    return first_fit(24 if scene.is_job else 12, part.name, f"{head} {tail}", tail)


def _said(scene: Scene, c: Checkpoint, part: Part) -> str:
    if part.end_ms is not None:
        time = f"{amount(part.end_ms - c.start_ms)} ms"
        if scene.is_job:
            return part.skipped or (f"acknowledged after {time}" if len(part.phases) > 1 else time)
        return f"{time}: {part.skipped}, counts as passed" if part.skipped else time
    if c.end_ms is not None:
        return "had not passed"
    waits = scene.source.phases[part.phases[-1].kind].waits if part.phases else "has not begun"
    return f"{part.where}, {waits}" if part.where else waits


def _draw_cut(picture: Picture, scene: Scene, c: Checkpoint) -> None:
    streams = list(dict.fromkeys(piece.stream for piece in c.cut))
    if scene.is_job and not streams:
        for place, line in enumerate(line for text in c.about for line in wrap(text, 38)):
            picture.text(RIGHT + 8, scene.rows_top + 8 + 15 * place, line)
        return
    if c.state != "completed" or not streams:
        text = "the cut, when all passed" if c.state == "running" else "no cut"
        picture.text(RIGHT + 24, scene.rows_bottom - 20, text)
        return
    x, width = COLUMN
    more = f" of {streams[0]}, +{len(streams) - 1}" if len(streams) > 1 else ""
    picture.text(RIGHT + 8, scene.rows_top - 8, f"cut{more}")

    def y(key: float) -> float:
        return scene.rows_bottom - key * (scene.rows_bottom - scene.rows_top)

    picture.rect(x, y(1), width, y(0) - y(1), "none", f'stroke="{LINE}"')
    for key in (0, 0.5, 1):
        picture.text(
            x - 5, y(key) + (8 if key == 1 else 3.5 if key else 0), number(key), size=9.5, anchor="end"
        )
    labels = _draw_pieces(picture, scene, c, y)
    for _, low, high in [gap for gap in c.gaps if gap[0] in ("", streams[0])]:
        picture.rect(x - 3, y(high), width + 6, y(low) - y(high) - 1, VERMILION)
        labels.append(
            ((y(low) + y(high)) / 2, f"gap {number(low)}–{number(high)}: in no position", VERMILION)
        )
    last = -20.0
    for at, text, fill in sorted(labels):
        if at - last >= 11:
            picture.text(x + width + 6, at + 3.5, text, fill=fill)
            last = at
    if all(piece.low is None for piece in c.cut):
        picture.text(x + width + 6, y(0.5), "keys not known")


def _draw_pieces(picture: Picture, scene: Scene, c: Checkpoint, y: Any) -> list[tuple[float, str, str]]:
    """Draw the pieces of the first stream; return their words, with their places."""
    x, width = COLUMN
    labels: list[tuple[float, str, str]] = []
    for piece in c.cut:
        if piece.low is None or piece.high is None or piece.stream != c.cut[0].stream:
            continue
        top, bottom = y(piece.high), y(piece.low)
        row = c.owners.get((piece.stream, piece.segment_id), 0)
        known = row > 0
        place = max(0, row - 1 - scene.source.readers_from)
        colour = reader_colour(place) if known else "url(#plab-hatch)"
        name = number_label(piece.segment_id)
        picture.rect(x, top, width, bottom - top - 1, colour)
        if bottom - top > 12 and known:
            middle = (top + bottom) / 2 + 3.5
            picture.text(
                x + width / 2, middle, name, anchor="middle", fill=ink(colour), extra='font-weight="600"'
            )
        text = f"{name} read to its end" if piece.offset < 0 else f"{name} up to {data_size(piece.offset)}"
        labels.append(((top + bottom) / 2, text, TEXT))
    return labels


def _draw_between(picture: Picture, c: Checkpoint, part: Part, at: tuple[float, float], x: Any) -> str:
    """Draw what lies between the other system's cut and the barrier; return its words."""
    if part.between is None:
        return ""
    (cut_ms, barrier_ms, n), (middle, size) = part.between, at
    x0, x1 = sorted((x(cut_ms - c.start_ms), x(barrier_ms - c.start_ms)))
    colour = TEXT if n > 0 else VERMILION  # reading twice loses nothing
    box = (x0, middle - size / 2 - 2, max(3, x1 - x0), size + 4)
    picture.rect(*box, "url(#plab-hatch)", f'stroke="{colour}"')
    return f" · would be read twice: {n:,}" if n > 0 else f" · would be lost: {-n:,}"


def _draw_links(picture: Picture, scene: Scene, c: Checkpoint, places: dict[str, float], x: Any) -> None:
    """Draw lines from what the job asked to the readers that it made pass."""
    first = next((part for part in scene.parts if scene.is_reader(part)), None)
    if not scene.split or first is None:
        return
    top = places[first.name] - 11 - scene.split / 2
    picture.line(4, top - 2, RIGHT, top - 2)
    picture.text(4, top + 9, f"reader group {scene.facts['group']}", size=9.5)
    begun = {part.name: part.phases[0].start_ms for part in scene.parts if part.phases}
    for one, other in c.links:
        if one in begun and other in begun and {one, other} <= set(places):
            x0, x1 = x(begun[one] - c.start_ms), x(begun[other] - c.start_ms)
            picture.line(x0, places[one], x1, places[other] - 6, TEXT)
            head = f"M{number(x1 - 3)} {number(places[other] - 7)}h6l-3 6Z"
            picture.path(head, f'fill="{TEXT}"')

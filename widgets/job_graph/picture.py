"""The static picture of a job graph, as SVG text, and its plotly figure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pravega_lab.observe.job.fold import JobHistory
from pravega_lab.observe.job.rows import (
    ALIGNING,
    FAILED,
    FINISHED,
    ICONS,
    RESTORING,
    RUNNING,
    WAITING,
    ChannelRow,
    TaskRow,
    VertexRow,
)
from pravega_lab.observe.job.words import mark_words

from ..svg.palette import HOT, LINE, NONE, SOFT, TEXT, VERMILION, reader_colour
from ..svg.picture import Picture, amount, data_size, figure_axis, number
from ..svg.text import first_fit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WIDTH, EDGE, TOP = 1000, 8, 44
BOX_WIDTH_MAX, GAP_MAX = 210.0, 210.0
HEAD, BOX, TRAYS, SLOT, SPACE = 20, 50, 20, 14, 8  # heights: vertex name, box, trays, channel, between
BLUE = "#0072B2"
FOLD_ABOVE = 8
LETTER = 5.4  # width, about


@dataclass(slots=True)
class Box:
    """A subtask, or all subtasks of a vertex, with the channels before it."""

    tasks: list[TaskRow]
    x: float
    y: float
    width: float
    height: float
    slots: list[list[ChannelRow]] = field(default_factory=list)


def job_svg(history: JobHistory, facts: dict[str, Any], gap: str) -> str:
    """Return the graph as it was last."""
    vertices = history.of_life(history.life)
    boxes, slot_width, height = _layout(history, vertices)
    said = f"{sum(v.parallelism for v in vertices)} subtasks, {history.state}"
    picture = Picture(WIDTH, round(max(height, 120) + 28), f"Job {history.job or 'not begun'}: {said}")
    sampled = "" if history.simulated or not history.job else "channels are sampled"
    words = [said if history.job else "", sampled, facts["left_out"], f"gap: {gap}" if gap else ""]
    picture.heading(facts["title"], " · ".join(word for word in words if word))
    if not vertices:
        picture.text(WIDTH / 2, 80, facts["empty"][0], size=14, anchor="middle")
        return picture.svg()
    _draw_legend(picture)
    places = {task.index: box for box in boxes for task in box.tasks}
    for box in boxes:
        for place, slot in enumerate(box.slots):
            _draw_slot(picture, box, slot, _slot_y(box, place), slot_width, places, history.now_ms or 0)
    named: dict[int, None] = {}
    for box in boxes:
        vertex = box.tasks[0].vertex
        if vertex.index not in named:
            named[vertex.index] = None
            times = f"×{vertex.parallelism}"
            name = _fitted(box.width, f"{vertex.short} {times}", vertex.short, times)
            picture.text(box.x, box.y - 6, name, size=11, fill=TEXT, extra='font-weight="600"')
        _draw_box(picture, box)
    last = history.said.items[-1:]
    picture.text(EDGE, max(height, 120) + 16, last[0][2] if last else "", size=10.5, fill=TEXT)
    return picture.svg()


def _layout(history: JobHistory, vertices: list[VertexRow]) -> tuple[list[Box], float, float]:
    """Return the boxes, the width of channels, and the height of everything."""
    columns = max((v.depth for v in vertices), default=0) + 1
    gap = min(GAP_MAX, 0.46 * WIDTH / columns) if columns > 1 else 0.0
    width = min(BOX_WIDTH_MAX, (WIDTH - 2 * EDGE - gap * (columns - 1)) / columns)
    if columns > 1:
        gap = min(GAP_MAX * 1.4, (WIDTH - 2 * EDGE - width * columns) / (columns - 1))
    into: dict[int, list[ChannelRow]] = {}
    for channel in history.channels:
        into.setdefault(channel.consumer.index, []).append(channel)
    boxes: list[Box] = []
    bottoms = [float(TOP)] * columns
    for vertex in vertices:
        x = EDGE + vertex.depth * (width + gap)
        y = bottoms[vertex.depth] + HEAD
        folded = vertex.parallelism > FOLD_ABOVE
        for tasks in [vertex.tasks] if folded else [[task] for task in vertex.tasks]:
            slots = _slots([c for task in tasks for c in into.get(task.index, [])])
            plain = BOX + (TRAYS if any(task.trays for task in tasks) else 0)
            box = Box(tasks, x, y, width, max(plain, SLOT * len(slots) + 4), slots)
            boxes.append(box)
            y += box.height + SPACE
        bottoms[vertex.depth] = y + SPACE
    return boxes, 0.62 * gap, max(bottoms)


def _slots(channels: list[ChannelRow]) -> list[list[ChannelRow]]:
    """Return a slot per channel; between folded vertices one per edge."""
    channels.sort(key=lambda c: c.number)
    grouped: dict[Any, list[ChannelRow]] = {}
    for c in channels:
        folded = max(c.producer.vertex.parallelism, c.consumer.vertex.parallelism) > FOLD_ABOVE
        grouped.setdefault(c.producer.vertex.index if folded else (c.index,), []).append(c)
    return list(grouped.values())


def _slot_y(box: Box, place: int) -> float:
    return box.y + box.height / 2 + (place - len(box.slots) / 2) * SLOT


def _draw_legend(picture: Picture) -> None:
    x = float(EDGE)
    for state in (RUNNING, ALIGNING, WAITING, FINISHED, FAILED, RESTORING):
        _icon(picture, state, x, 32)
        picture.text(x + 13, 32, state)
        x += 28 + LETTER * len(state)
    picture.rect(x, 24, 3, 10, BLUE)
    picture.text(x + 7, 32, "barrier   ◇ watermark   ■ end of data   ▮ end of partition")


def _draw_slot(
    picture: Picture,
    box: Box,
    slot: list[ChannelRow],
    y: float,
    width: float,
    places: dict[int, Box],
    now_ms: int,
) -> None:
    x1 = box.x - 6
    x0 = x1 - width
    middle = y + SLOT / 2
    for source in {id(places[c.producer.index]): places[c.producer.index] for c in slot}.values():
        start, bend = source.x + source.width, (source.x + source.width + x0) / 2
        y0 = source.y + source.height / 2
        begin, turn = f"M{number(start)} {number(y0)}", f"C{number(bend)} {number(y0)}"
        curve = f"{begin}{turn} {number(bend)} {number(middle)} {number(x0)} {number(middle)}"
        picture.path(curve, f'fill="none" stroke="{LINE}"')
    records, capacity = sum(c.records for c in slot), sum(c.capacity for c in slot)
    fill = min(1.0, records / capacity) if capacity else 0.0
    picture.rect(x0, y + 1, width, SLOT - 2, "#ffffff", f'stroke="{LINE}"')
    if fill:
        full, words = f'fill-opacity="{number(0.14 + 0.4 * fill)}"', f"{records:,} of {capacity:,} records"
        picture.rect(x1 - fill * width, y + 1, fill * width, SLOT - 2, HOT, full, words)
    blocked = [c.blocked_since_ms for c in slot if c.blocked_since_ms is not None]
    x = x1 - 3
    if blocked:
        _lock(picture, x - 7, middle)
        text = f"{now_ms - min(blocked):,} ms"
        picture.text(x - 10, middle + 3.5, text, size=8.5, anchor="end", fill=TEXT)
        x -= 18 + 5.2 * len(text)
    _draw_marks(picture, slot, x, x0, middle)


def _draw_marks(picture: Picture, slot: list[ChannelRow], x: float, x0: float, middle: float) -> None:
    """Draw the marks of a channel, from the head on the right."""
    marks = slot[0].marks if len(slot) == 1 else _summed(slot)
    for place, (what, value) in enumerate(marks):
        text = mark_text(what, value)
        need = 4.8 * len(text) + 9
        if x - need < x0 + (14 if place + 1 < len(marks) else 0):
            picture.text(x, middle + 3.5, f"+{len(marks) - place}", size=8.5, anchor="end")
            return
        picture.text(x, middle + 3.5, text, size=9, anchor="end", fill=BLUE if what == "barrier" else TEXT)
        if what in ("records", "barrier"):
            bar, wide = (BLUE, 3) if what == "barrier" else (NONE, 2.5)
            picture.rect(x - need + 3, middle - 5, wide, 10, bar, title=mark_words(what, value))
        x -= need + 2


def mark_text(what: str, value: int) -> str:
    """Return the text beside a mark; the bars of records and barriers are drawn."""
    match what:
        case "records" | "barrier":
            return str(value)
        case "watermark":
            return f"◇ {'∞' if value >= 2**62 else '-∞' if value <= -(2**62) else value}"
        case "end-of-data":
            return "■" if value else "□"
        case "end-of-partition":
            return "▮"
        case "cancel":
            return f"×{value}"
    return "idle" if value else "active"


def _summed(slot: list[ChannelRow]) -> list[tuple[str, int]]:
    """Return how many of each kind of mark folded channels hold."""
    records = sum(value for c in slot for what, value in c.marks if what == "records")
    barriers = Counter(value for c in slot for what, value in c.marks if what == "barrier")
    found = [("barrier", number_) for number_ in barriers]
    return found + ([("records", records)] if records else [])


def _lock(picture: Picture, x: float, middle: float) -> None:
    picture.rect(x, middle - 1, 7, 5, TEXT)
    arc = f"M{number(x + 1.5)} {number(middle - 1)}v-2a2 2 0 0 1 4 0v2"
    picture.path(arc, f'fill="none" stroke="{TEXT}" stroke-width="1.2"')


def _draw_box(picture: Picture, box: Box) -> None:
    task, folded = box.tasks[0], len(box.tasks) > 1
    failed = [t for t in box.tasks if t.state == FAILED]
    done = all(t.state == FINISHED for t in box.tasks)
    colour = VERMILION if failed else BLUE if any(t.state == ALIGNING for t in box.tasks) else SOFT
    edge = f'stroke="{colour}" stroke-width="{1.6 if failed else 1}"'
    picture.rect(
        box.x, box.y, box.width, box.height, "#f4f4f4" if done else "#ffffff", edge, title=task.label
    )
    if folded:
        counts = Counter(t.state for t in box.tasks)
        head = f"{len(box.tasks)} subtasks"
        parts = [f"{n} {word}" for word, n in counts.items()]
        state, brief = ", ".join(parts), f"{len(failed)} {FAILED}" if failed else parts[0]
    else:
        head, state = f"{task.subtask + 1}/{task.vertex.parallelism}", task.state
        brief = state.split(" ")[0]
    fill = VERMILION if failed else TEXT
    picture.text(box.x + 6, box.y + 14, head, size=11, fill=TEXT, extra='font-weight="600"')
    start = box.x + 12 + 6.4 * len(head)
    if not folded:
        _icon(picture, task.state, start, box.y + 14, fill)
        start += 14
    struck = 'text-decoration="line-through"' if done else ""
    picture.text(
        start,
        box.y + 14,
        _fitted(box.x + box.width - start - 4, state, brief),
        size=10.5,
        fill=fill,
        extra=struck,
    )
    rates = [sum(t.in_per_s or 0 for t in box.tasks), sum(t.out_per_s or 0 for t in box.tasks)]
    known = any(t.out_per_s is not None for t in box.tasks)
    both = (
        f"{amount(rates[0])} in/s · {amount(rates[1])} out/s"
        if all(rates)
        else f"{amount(max(rates))} records/s"
    )
    speed = both if known else "– records/s"
    picture.text(box.x + 6, box.y + 29, _fitted(box.width - 10, speed, speed.split(" · ")[0]))
    sizes = [t.state_bytes for t in box.tasks if t.state_bytes is not None]
    kept = f"state {data_size(sum(sizes))}" if sizes else "no snapshot yet"
    picture.text(box.x + 6, box.y + 43, _fitted(box.width - 10, kept))
    if any(t.trays for t in box.tasks):
        _draw_trays(picture, box)


def _icon(picture: Picture, state: str, x: float, y: float, fill: str = TEXT) -> None:
    """Draw an icon of ten by ten with its baseline at ``y``. Few fonts have an hourglass."""
    if state == WAITING:
        picture.path(f"M{number(x + 1)} {number(y - 8)}h7l-7 8h7Z", f'fill="{fill}"')
    else:
        picture.text(x, y, ICONS[state], size=10.5, fill=fill)


def _draw_trays(picture: Picture, box: Box) -> None:
    trays = [tray for task in box.tasks for tray in task.trays.values()]
    counts = (
        sum(len(t.open) for t in trays),
        sum(len(t.pre_committed) for t in trays),
        sum(t.committed for t in trays),
    )
    right = box.x + 4
    widths = [(box.width - 16) * share for share in (0.27, 0.32, 0.41)]
    said = [f"{word} {n:,}" for n, word in zip(counts, ("open", "pre-c.", "committed"), strict=True)]
    numbered = [f"{place} {text}" for place, text in enumerate(said, 1)]
    short = [f"{place}: {n:,}" for place, n in enumerate(counts, 1)]
    texts = next((form for form in (numbered, said) if _fit(form, widths)), short)
    for text, width in zip(texts, widths, strict=True):
        x = right + 2
        right = x + width
        picture.rect(x, box.y + BOX - 2, width, 16, "#ffffff", f'stroke="{NONE}"')
        picture.text(x + 3, box.y + BOX + 10, text, size=9, fill=TEXT)


def _fit(texts: list[str], widths: list[float]) -> bool:
    return all(LETTER * len(text) < width for text, width in zip(texts, widths, strict=True))


def _fitted(width: float, *texts: str) -> str:
    return first_fit(int(width / LETTER), *texts)


def job_figure(history: JobHistory, facts: dict[str, Any]) -> Figure:
    """Draw records per second of each subtask; below, how full the fullest channel before it was."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    start_ms = history.start_ms or 0
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.6, 0.4], vertical_spacing=0.08)
    for task in history.tasks:
        mine = [m for m in history.measures.items if m.task == task.index]
        rates = [m.out_per_s if m.out_per_s else m.in_per_s for m in mine]
        line = {"color": reader_colour(task.vertex.index), "dash": ("solid", "dash", "dot")[task.subtask % 3]}
        x = [(m.time_ms - start_ms) / 1000 for m in mine]
        figure.add_trace(go.Scatter(x=x, y=rates, name=task.label, line=line, legendgroup=task.label), 1, 1)
        into = {c.index for c in history.channels if c.consumer is task}
        held = [c for c in history.contents.items if c.channel in into and c.capacity]
        x = [(c.time_ms - start_ms) / 1000 for c in held]
        full = [min(1.0, c.records / c.capacity) for c in held]
        trace = go.Scatter(
            x=x,
            y=full,
            name=task.label,
            line={**line, "shape": "hv"},
            legendgroup=task.label,
            showlegend=False,
        )
        figure.add_trace(trace, 2, 1)
    figure.update_yaxes(title_text="records/s", row=1, col=1)
    figure.update_yaxes(title_text="channels, 1 = full", range=[0, 1.05], row=2, col=1)
    figure.update_xaxes(figure_axis(((history.now_ms or 0) - start_ms) / 1000), row=2, col=1)
    figure.update_layout(title=facts["title"], template="plotly_white", height=560)
    return figure

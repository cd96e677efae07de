"""Reader groups and checkpoints as plotly figures: plain ones, which stay small in a notebook's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pravega_lab.observe.group_rows import NOBODY
from pravega_lab.widgets.group_history import BoardHistory
from pravega_lab.widgets.palette import NONE, TEXT, VERMILION, reader_colour

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from pravega_lab.widgets.checkpoint_rows import CheckpointSource

BARS_MAX = 5_000


def reader_figure(history: BoardHistory, facts: dict[str, Any]) -> Figure:
    """A bar per holding on the row of its reader, nobody's on top; checkpoints as lines with dots."""
    import plotly.graph_objects as go

    group, start_ms, now_ms = facts["group"], history.start_ms or 0, history.now_ms or 0
    figure = go.Figure()
    names = ["nobody", *(row.reader for row in history.lanes(group))]
    bars = [b for b in history.holdings if b.group == group][-BARS_MAX:]
    for name in names:
        mine = [b for b in bars if (b.reader or "nobody") == name]
        lane = None if name == "nobody" else history.lane(group, name)
        bar = go.Bar(
            y=[name] * len(mine),
            x=[b.length_ms(now_ms) / 1000 for b in mine],
            base=[(b.start_ms - start_ms) / 1000 for b in mine],
            text=[f"#{b.segment_id & 0xFFFFFFFF}" for b in mine],
            orientation="h",
            name=name,
            marker={"color": NONE if lane is None else reader_colour(lane.index), "line": {"width": 0.7}},
            offsetgroup=name,
        )
        figure.add_trace(bar)
    points: list[tuple[float, str, str]] = []
    for row in history.checkpoints_of(group):
        line = {"color": VERMILION if row.state == "cleared" else TEXT, "width": 0.8}
        figure.add_vline((row.asked_ms - start_ms) / 1000, line=line)
        points += [((p.time_ms - start_ms) / 1000, p.reader, row.name) for p in row.passes]
    dots = go.Scatter(
        x=[x for x, _, _ in points],
        y=[reader or NOBODY for _, reader, _ in points],
        text=[f"passed {name}" for _, _, name in points],
        mode="markers",
        name="passed a checkpoint",
        hoverinfo="text+x+y",
        marker={"color": TEXT, "size": 7},
    )
    figure.add_trace(dots)
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1])
    figure.update_xaxes(title_text="seconds")
    height = 140 + 34 * len(names)
    figure.update_layout(title=facts["title"], template="plotly_white", barmode="overlay", height=height)
    return figure


def checkpoint_figure(source: CheckpointSource, facts: dict[str, Any], history: BoardHistory) -> Figure:
    """Duration of every checkpoint above; below, a bar per row of the chosen one."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from pravega_lab.widgets.checkpoint_picture import COLOURS, Scene

    scene = Scene(source, facts, history)
    titles = ["duration, s", f"checkpoint {scene.chosen.number}, ms" if scene.chosen else ""]
    figure = make_subplots(
        rows=2, cols=1, row_heights=[0.4, 0.6], vertical_spacing=0.14, subplot_titles=titles
    )
    colours = COLOURS | {"unknown": NONE, "running": "#ffffff"}
    for state in dict.fromkeys(c.state for c in scene.bars):
        mine = [c for c in scene.bars if c.state == state]
        bar = go.Bar(
            x=[c.number for c in mine],
            y=[scene.spent_ms(c) / 1000 for c in mine],
            text=[c.word for c in mine],
            name=state,
            marker={"color": colours[state], "line": {"color": colours["completed"], "width": 1}},
        )
        figure.add_trace(bar, 1, 1)
    for part in scene.parts:
        for phase in part.phases:
            end_ms = scene.now_ms if phase.end_ms is None else phase.end_ms
            begun = phase.start_ms - (scene.chosen.start_ms if scene.chosen else 0)
            bar = go.Bar(
                y=[part.name],
                x=[end_ms - phase.start_ms],
                base=[begun],
                orientation="h",
                name=source.phases[phase.kind].words,
                marker={"color": source.phases[phase.kind].colour},
                opacity=1.0 if phase.end_ms is not None else 0.4,
                showlegend=False,
            )
            figure.add_trace(bar, 2, 1)
    figure.update_xaxes(title_text="checkpoint", row=1, col=1)
    figure.update_yaxes(autorange="reversed", row=2, col=1)
    height = 360 + 22 * len(scene.parts)
    figure.update_layout(title=facts["title"], template="plotly_white", barmode="overlay", height=height)
    return figure

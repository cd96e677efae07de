"""Checkpoints as a plain plotly figure, which stays small in a notebook's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..groups.history import BoardHistory
from ..svg.palette import NONE
from .picture import COLOURS, Scene
from .rows import CheckpointSource

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def checkpoint_figure(source: CheckpointSource, facts: dict[str, Any], history: BoardHistory) -> Figure:
    """Draw the durations of all checkpoints above, and below a bar per phase of the chosen checkpoint."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    scene = Scene(source, facts, history)
    titles = ["duration, s", f"{scene.chosen.label}, ms" if scene.chosen else ""]
    figure = make_subplots(
        rows=2, cols=1, row_heights=[0.4, 0.6], vertical_spacing=0.14, subplot_titles=titles
    )
    colours = COLOURS | {"unknown": NONE, "running": "#ffffff"}
    for state in dict.fromkeys(c.state for c in scene.bars):
        mine = [c for c in scene.bars if c.state == state]
        bar = go.Bar(
            x=[c.number or c.name for c in mine],
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

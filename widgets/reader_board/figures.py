"""A reader group as a plain plotly figure, which stays small in a notebook's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pravega_lab.observe.group.rows import NOBODY, number_label

from ..groups.history import BoardHistory
from ..svg.palette import NONE, TEXT, VERMILION, reader_colour
from ..svg.picture import figure_axis
from ..svg.text import newest

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BARS_MAX = 1_000
CHECKPOINTS_MAX = 200


def reader_figure(history: BoardHistory, facts: dict[str, Any]) -> Figure:
    """Draw a bar per holding in the row of its reader, nobody's on top; checkpoints are lines with dots.

    Only the newest are drawn, and the title says so.
    """
    import plotly.graph_objects as go

    group, start_ms, now_ms = facts["group"], history.start_ms or 0, history.now_ms or 0
    figure = go.Figure()
    names = ["nobody", *(row.reader for row in history.lanes(group))]
    bars = [b for b in history.holdings if b.group == group]
    checkpoints = history.checkpoints_of(group)
    left = [newest(len(bars), BARS_MAX, "bars"), newest(len(checkpoints), CHECKPOINTS_MAX, "checkpoints")]
    bars, checkpoints = bars[-BARS_MAX:], checkpoints[-CHECKPOINTS_MAX:]
    for name in names:
        mine = [b for b in bars if (b.reader or "nobody") == name]
        lane = None if name == "nobody" else history.lane(group, name)
        bar = go.Bar(
            y=[name] * len(mine),
            x=[b.length_ms(now_ms) / 1000 for b in mine],
            base=[(b.start_ms - start_ms) / 1000 for b in mine],
            text=[number_label(b.segment_id) for b in mine],
            orientation="h",
            name=name,
            marker={"color": NONE if lane is None else reader_colour(lane.index), "line": {"width": 0.7}},
            offsetgroup=name,
        )
        figure.add_trace(bar)
    points: list[tuple[float, str, str]] = []
    lines: list[dict[str, Any]] = []
    for row in checkpoints:
        line = {"color": VERMILION if row.state == "cleared" else TEXT, "width": 0.8}
        x = (row.asked_ms - start_ms) / 1000
        lines.append({"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "line": line})
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
    figure.update_xaxes(figure_axis((now_ms - start_ms) / 1000))
    height = 140 + 34 * len(names)
    title = " · ".join([facts["title"], *filter(None, left)])
    # All lines at once: each call of add_vline looks at all lines before.
    figure.update_layout(title=title, template="plotly_white", barmode="overlay", height=height, shapes=lines)
    return figure

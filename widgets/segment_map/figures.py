"""A segment map and a query timeline as plain plotly figures, which stay small and need no widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pravega_lab.observe.landmarks import scale_text
from pravega_lab.observe.query.fold import PHASES, BatchHistory
from pravega_lab.observe.stream.fold import SegmentRow

from ..svg.palette import NONE, SOFT, TEXT, VERMILION, reader_colour
from ..svg.picture import figure_axis
from ..svg.text import newest
from .history import MapHistory

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SEGMENT_COLOUR = "#0072B2"
BATCHES_MAX = 1_000  # attempts of batches
EDGE_KEYS = 0.012  # of the key space: about 4 pixels


def segment_figure(history: MapHistory, facts: dict[str, Any]) -> Figure:
    """Draw segments above (a trace per owner, active and sealed apart), below the busiest one's rate."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    from .picture import TIERED, Scene

    scene = Scene(history, facts)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.78, 0.22], vertical_spacing=0.06)
    for (name, colour, sealed), rows in _by_owner(history).items():
        x: list[float | None] = []
        y: list[float | None] = []
        for row in rows:
            a, z = scene.seconds(row.start_ms), scene.seconds(row.end_ms)
            x += [a, z, z, a, a, None]
            y += [row.low, row.low, row.high, row.high, row.low, None]
        trace = go.Scatter(
            x=x,
            y=y,
            fill="toself",
            mode="lines",
            line={"color": TEXT, "width": 0.7},
            fillcolor=colour,
            opacity=0.6 if sealed else 1.0,
            name=f"{name}, {'sealed' if sealed else 'active'}",
            hoverinfo="name",
        )
        figure.add_trace(trace, 1, 1)
    if tiered := [(row, span) for row in history.rows if (span := scene.tiered(row)) is not None]:
        edge = go.Scatter(
            x=[x for _, (a, z) in tiered for x in (a, z, z, a, a, None)],
            y=[y for row, _ in tiered for y in _edge(row)],
            fill="toself",
            mode="lines",
            line={"color": "#ffffff", "width": 0.7},
            fillcolor=TEXT,
            name=TIERED,
            hoverinfo="name",
        )
        figure.add_trace(edge, 1, 1)
    parts = scene.busiest(300)
    times = [scene.across.end_s * i / len(parts) for i in range(len(parts))]
    rate = go.Scatter(x=times, y=parts, line={"color": "#0072B2", "shape": "hv"}, name="busiest segment")
    figure.add_trace(rate, 2, 1)
    for value, label in facts["thresholds"]:
        if value <= scene.strip_top:
            line = {"color": SOFT, "dash": "dot", "width": 1}
            figure.add_hline(value, line=line, annotation_text=label, row=2, col=1)
    line = {"type": "line", "xref": "x2", "yref": "y2 domain", "y0": 0, "y1": 1}
    line["line"] = {"color": SOFT, "width": 0.6}
    times = [scene.seconds(scale.time_ms) for scale in history.scales[-40:]]
    # All lines at once: each call of add_vline looks at all marks before.
    shapes = [*figure.layout.shapes, *(line | {"x0": x, "x1": x} for x in times)]
    figure.update_layout(shapes=shapes)
    words = [scale_text(s) for s in history.scales[-40:]]
    marks = [scene.seconds(s.time_ms) for s in history.scales[-40:]]
    points = go.Scatter(
        x=marks,
        y=[0.0] * len(marks),
        mode="markers",
        text=words,
        hoverinfo="text+x",
        name="scale",
        marker={"symbol": "triangle-down", "color": TEXT, "size": 9},
    )
    figure.add_trace(points, 2, 1)
    figure.update_yaxes(title_text="key space", range=[0, 1], row=1, col=1)
    figure.update_yaxes(title_text=facts["rate_unit"], rangemode="tozero", row=2, col=1)
    figure.update_xaxes(figure_axis(scene.across.end_s), row=2, col=1)
    figure.update_layout(title=facts["title"], template="plotly_white", height=520, margin={"t": 50, "b": 40})
    return figure


def _edge(row: SegmentRow) -> tuple[float | None, ...]:
    """Return the heights, in the key space, of the outline of the edge below what is in tier 2."""
    top = row.low + min(EDGE_KEYS, (row.high - row.low) / 3)
    return (row.low, row.low, top, top, row.low, None)


def _by_owner(history: MapHistory) -> dict[tuple[str, str, bool], list[SegmentRow]]:
    groups: dict[tuple[str, str, bool], list[SegmentRow]] = {}
    for row in history.rows:
        name, colour = "nobody", NONE if history.readers else SEGMENT_COLOUR
        if row.reader is not None:
            name, colour = row.reader, reader_colour(history.readers.index(row.reader))
        if not history.readers:
            name = "segments"
        groups.setdefault((name, colour, row.end_ms is not None), []).append(row)
    return groups


def query_figure(history: BatchHistory, facts: dict[str, Any]) -> Figure:
    """Draw the phases of each attempt as stacked bars, below them rows per second and lag.

    Only the newest attempts are drawn, and the title says so.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    words = {name: text for name, text, _ in facts["phases"]}
    colours = {name: colour for name, _, colour in facts["phases"]}
    left, rows = newest(len(history.rows), BATCHES_MAX, "attempts"), history.rows[-BATCHES_MAX:]
    labels = [f"{r.batch_id}{f' ×{r.attempt}' if r.attempt > 1 else ''}" for r in rows]
    figure = make_subplots(
        rows=3, cols=1, shared_xaxes=True, row_heights=[0.6, 0.2, 0.2], vertical_spacing=0.05
    )
    for phase in PHASES:
        if phase not in facts["told"]:
            continue
        spent = [sum(p.end_ms - p.start_ms for p in r.phases if p.name == phase) for r in rows]
        figure.add_trace(go.Bar(x=labels, y=spent, name=words[phase], marker={"color": colours[phase]}), 1, 1)
    cut = [i for i, r in enumerate(rows) if r.outcome in ("killed", "failed", "gone")]
    if cut:
        marker = {"color": VERMILION, "symbol": "x", "size": 10}
        x, y = [labels[i] for i in cut], [0.0] * len(cut)
        figure.add_trace(go.Scatter(x=x, y=y, mode="markers", marker=marker, name="cut off"), 1, 1)
    series = (
        ("input_rows_per_s", "#E69F00", 2),
        ("processed_rows_per_s", "#0072B2", 2),
        ("lag_bytes", "#009E73", 3),
    )
    for name, colour, place in series:
        values = [getattr(r.done, name, None) for r in rows]
        figure.add_trace(go.Scatter(x=labels, y=values, name=name, line={"color": colour}), place, 1)
    figure.update_yaxes(title_text="ms", row=1, col=1)
    figure.update_yaxes(title_text="rows/s", row=2, col=1)
    figure.update_yaxes(title_text="lag, bytes", row=3, col=1)
    figure.update_xaxes(title_text="micro-batch", type="category", row=3, col=1)
    title = " · ".join(filter(None, [facts["title"], left]))
    figure.update_layout(title=title, barmode="stack", template="plotly_white", height=560)
    return figure

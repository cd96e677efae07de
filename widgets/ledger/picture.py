"""The static picture of a ledger, as SVG text: the sentence, the table, the faults, the counts over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pravega_lab.observe.ledger.fold import WRONGS, LedgerHistory, sentence
from pravega_lab.observe.ledger.observations import COLUMNS, LedgerCounted, LedgerOffended

from ..svg.palette import LINE, READERS, TEXT, VERMILION
from ..svg.picture import Across, Picture, amount, figure_axis, number
from ..svg.text import first_fit

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

WIDTH = 900
LEFT, RIGHT = 46, 684
ROW = 15
TABLE_TOP = 62
STRIP_HEIGHT = 84
EXACT, WRONG = "#007a56", "#c04d00"
APART = (("late", "late"), ("in_flight", "in flight"), ("unknown", "not yet known"))
LINES = dict(zip(COLUMNS, (READERS[0], READERS[4], READERS[1], READERS[2]), strict=True))
FAULTS_MAX = 6
Span = tuple[int, int] | None


def ledger_svg(history: LedgerHistory, facts: dict[str, Any], gap: str, span_ms: Span = None) -> str:
    """Return the picture as SVG text."""
    now = history.now
    rows = len(COLUMNS) + len(WRONGS) + len(APART)
    strip_top = TABLE_TOP + ROW * (rows + 1) + 26
    said = sentence(now)
    picture = Picture(WIDTH, strip_top + STRIP_HEIGHT + 30, f"{facts['title']}: {said}")
    picture.heading(facts["title"], f"gap: {gap}" if gap else "")
    colour = EXACT if said == "exact" else WRONG if now and any(getattr(now, n) for n, _ in WRONGS) else TEXT
    sign = {EXACT: "✓ ", WRONG: "✗ "}.get(colour, "? ")
    picture.text(4, 38, sign + said, size=17, fill=colour, extra='font-weight="600"')
    _table(picture, history, facts)
    _faults(picture, history)
    _strip(picture, history, strip_top, span_ms)
    return picture.svg()


def _table(picture: Picture, history: LedgerHistory, facts: dict[str, Any]) -> None:
    before, now = history.before_the_fault, history.now
    columns = (210, 270, 340)
    for x, word in zip(columns, ("before the fault", "now", "difference"), strict=True):
        picture.text(x, TABLE_TOP, word, anchor="end", size=9.5)
    picture.text(352, TABLE_TOP, "witness", size=9.5)
    y = TABLE_TOP + 3
    for k, (name, word) in enumerate((c, c) for c in COLUMNS):
        witness = facts["witnesses"][k] or "no witness: unknown"
        _row(picture, y + ROW * (k + 1), word, before, now, name, columns)
        picture.text(352, y + ROW * (k + 1), witness, size=9.5)
    for k, (name, word) in enumerate((*WRONGS, *APART), len(COLUMNS) + 1):
        if k in (len(COLUMNS) + 1, len(COLUMNS) + len(WRONGS) + 1):
            picture.line(4, y + ROW * (k - 1) + 4, 346, y + ROW * (k - 1) + 4)
        _row(picture, y + ROW * k, word, before, now, name, columns)


def _row(
    picture: Picture,
    y: float,
    word: str,
    before: LedgerCounted | None,
    now: LedgerCounted | None,
    name: str,
    columns: tuple[int, int, int],
) -> None:
    picture.text(4, y, word, fill=TEXT)
    was, is_ = getattr(before, name, None), getattr(now, name, None)
    more = None if was is None or is_ is None else is_ - was
    difference = "–" if more is None else f"+{amount(more)}" if more > 0 else amount(more)
    texts = ("–" if before is None else _known(was), _known(is_), difference)
    for x, text in zip(columns, texts, strict=True):
        picture.text(x, y, text, anchor="end", fill=TEXT)


def _known(value: int | None) -> str:
    return "unknown" if value is None else amount(value)


def _faults(picture: Picture, history: LedgerHistory) -> None:
    """Draw, right of the table, the newest faults and the first offending event."""
    x, y = 560, TABLE_TOP
    start_ms = history.start_ms or 0
    for place in range(max(0, len(history.faults) - FAULTS_MAX), len(history.faults)):
        fault = history.faults[place]
        picture.rect(x - 8, y - 8, 3, 10, VERMILION)
        words = f"{number((fault.time_ms - start_ms) / 1000)} s  {fault.text}"
        picture.text(x, y, first_fit(56, words, words.split(": ")[0]), fill=TEXT)
        effect = f"effect: {history.effect(place)}"
        picture.text(x, y + 12, first_fit(56, effect, effect.split(", ")[0]))
        y += 28
    if history.offences:
        first = history.offences[0]
        picture.text(x, y + 4, f"first offending event: {first.what}", fill=TEXT, extra='font-weight="600"')
        for k, words in enumerate(_offence(first, start_ms), 1):
            picture.text(x, y + 4 + 12 * k, first_fit(58, words, words.split(", ")[0]))


def _offence(o: LedgerOffended, start_ms: int) -> list[str]:
    def at(time_ms: int | None, where: str) -> str:
        return "not known" if time_ms is None else f"{number((time_ms - start_ms) / 1000)} s {where}"

    words = [f"event {o.event}, key {o.key or 'none'}", f"written {at(o.written_ms, o.written_where)}"]
    if o.first_ms is not None:
        words.append(f"first read {at(o.first_ms, o.first_where)}")
    if o.read_ms is not None:
        words.append(f"{'read again' if o.first_ms is not None else 'read'} {at(o.read_ms, o.read_where)}")
    return words


def _strip(picture: Picture, history: LedgerHistory, top: float, span_ms: Span) -> None:
    """Draw the counts over time, with a vermilion line per fault."""
    start_ms, end_ms = span_ms or (history.start_ms or 0, history.now_ms or 0)
    across = Across(LEFT, RIGHT, max((end_ms - start_ms) / 1000, 1.0))
    bottom = top + STRIP_HEIGHT
    now = history.now
    most = max(getattr(now, name, None) or 0 for name in COLUMNS) or 1
    legend = LEFT
    for name, colour in LINES.items():
        if now is None or getattr(now, name) is None:
            continue
        d = _line(history, name, across, start_ms, lambda v: bottom - v / most * STRIP_HEIGHT)
        width = 3 if name == "written" else 1.6
        picture.path(d, f'fill="none" stroke="{colour}" stroke-width="{width}" shape-rendering="auto"')
        picture.rect(legend, top - 11, 14, 3, colour)
        picture.text(legend + 18, top - 6, name, size=9.5)
        legend += 34 + 6 * len(name)
    for fault in history.faults:
        x = across.x((fault.time_ms - start_ms) / 1000)
        picture.line(x, top, x, bottom, VERMILION, 'stroke-width="2"')
    picture.text(LEFT - 6, top + 8, amount(most), anchor="end")
    picture.text(LEFT - 6, bottom, "0", anchor="end")
    picture.text(RIGHT + 8, top + 8, "distinct events")
    picture.line(LEFT, bottom, RIGHT, bottom, LINE)
    picture.time_axis(across, bottom)


def _line(history: LedgerHistory, name: str, across: Across, start_ms: int, y: Any) -> str:
    """Return the steps of a line; steps within one pixel become one."""
    parts: list[str] = []
    last_x = -1.0
    told: int | None = None
    for counted in history.counts:
        value, x = getattr(counted, name), across.x((counted.time_ms - start_ms) / 1000)
        if value is None or (value == told and parts) or (x - last_x < 0.5 and counted is not history.now):
            continue
        parts.append(f"H{number(x)}V{number(y(value))}" if parts else f"M{number(x)} {number(y(value))}")
        last_x, told = x, value
    end = across.x(((history.now_ms or 0) - start_ms) / 1000)
    return "".join([*parts, f"H{number(end)}"]) if parts else "M0 0"


def ledger_figure(history: LedgerHistory, facts: dict[str, Any]) -> Figure:
    """Draw the counts over time, and a line per fault."""
    import plotly.graph_objects as go

    start_ms = history.start_ms or 0
    figure = go.Figure()
    times = [(c.time_ms - start_ms) / 1000 for c in history.counts]
    for name, colour in LINES.items():
        values = [getattr(c, name) for c in history.counts]
        if any(v is not None for v in values):
            figure.add_trace(go.Scatter(x=times, y=values, name=name, line={"color": colour, "shape": "hv"}))
    for place, fault in enumerate(history.faults):
        words = f"{fault.text}: {history.effect(place)}"
        figure.add_vline((fault.time_ms - start_ms) / 1000, line_color=VERMILION, annotation_text=words)
    title = f"{facts['title']}: {sentence(history.now)}"
    figure.update_layout(title=title, template="plotly_white", height=360)
    figure.update_yaxes(title_text="distinct events", rangemode="tozero")
    figure.update_xaxes(figure_axis(((history.now_ms or 0) - start_ms) / 1000))
    return figure

"""A static picture as SVG text. The same journal gives the same bytes, so that a test can compare it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any

from .palette import LINE, SOFT, STYLE, TEXT, THEMED

FONT = "font-family=\"system-ui,'DejaVu Sans',sans-serif\""


def number(value: float) -> str:
    """Return a number with at most two digits after the point, and without trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def steps(low: float, high: float, n: float) -> list[float]:
    """Return round numbers for an axis, about ``n`` of them at most."""
    raw = (high - low) / max(1.0, n)
    power = 10.0 ** floor(log10(raw)) if raw > 0 else 1.0
    step = next((k * power for k in (1, 2, 5, 10) if k * power >= raw), 10 * power)
    first = ceil(low / step - 1e-9)
    return [k * step for k in range(first, floor(high / step + 1e-9) + 1)]


LONG_S = 600  # such an axis has minutes and hours
DAY_S = 86_400
_LONG_STEPS = [60 * minutes for minutes in (1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720, 1440)]


def time_steps(end_s: float, n: float) -> list[tuple[float, str]]:
    """Return round moments for an axis from 0 s, about ``n`` of them at most: seconds and labels."""
    if end_s < LONG_S:
        return [(s, time_text(s)) for s in steps(0, end_s, n)]
    raw = end_s / max(1.0, n)
    step = next((step for step in _LONG_STEPS if step >= raw), DAY_S * ceil(raw / DAY_S))
    return [(s, _long_text(s) if s else "0 s") for s in range(0, int(end_s) + 1, step)]


def time_text(seconds: float) -> str:
    """Return seconds as text, from ten minutes on as ``20 min``, ``1:30 h`` or ``11:06:40 h``."""
    return f"{number(seconds)} s" if seconds < LONG_S else _long_text(round(seconds))


def moment_text(seconds: float) -> str:
    """Return a moment as text, to a tenth of a second in the first ten minutes."""
    return f"{seconds:.1f} s" if seconds < LONG_S else _long_text(round(seconds))


def due_text(seconds: float | None) -> str:
    """Return when something is due, to follow other words: ``, due at 41 s``; "" if that is not known."""
    return "" if seconds is None else f", due at {time_text(round(seconds))}"


def figure_axis(end_s: float) -> dict[str, Any]:
    """Return the properties of a time axis of a plotly figure whose data are in seconds from 0 to ``end_s``.

    A long axis has labels such as ``1:30 h``.
    """
    if end_s < LONG_S:
        return {"title_text": "seconds"}
    places, labels = zip(*time_steps(end_s, 10), strict=True)
    return {"title_text": "time", "tickmode": "array", "tickvals": places, "ticktext": labels}


def _long_text(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    whole, unit = (f"{hours}:{minutes:02}", "h") if hours else (f"{minutes}", "min")
    text = f"{whole}:{rest:02}"
    while text.endswith(":00"):
        text = text.removesuffix(":00")
    return f"{text} {unit}"


@dataclass(frozen=True, slots=True)
class Across:
    """Maps time to the horizontal axis: from the start (0 s) to ``end_s``, between two x."""

    left: float
    right: float
    end_s: float

    def x(self, t_s: float) -> float:
        """Return the x of second ``t_s``, clipped to the axis."""
        t_s = min(max(t_s, 0.0), self.end_s)
        return self.left + (self.right - self.left) * t_s / (self.end_s or 1.0)


class Picture:
    """Collects marks; ``svg()`` returns the text."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def rect(
        self, x: float, y: float, w: float, h: float, fill: str, extra: str = "", title: str = ""
    ) -> None:
        """Draw a rectangle, at least half a unit wide and high. ``title`` is its tooltip."""
        inner = f"<title>{escape(title)}</title>" if title else ""
        tail = f">{inner}</rect>" if inner else "/>"
        size = f'width="{number(max(w, 0.5))}" height="{number(max(h, 0.5))}"'
        self._parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" {size} fill="{fill}"{" " + extra if extra else ""}{tail}'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = LINE, extra: str = "") -> None:
        """Draw a straight line."""
        self._parts.append(
            f'<path d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}" stroke="{colour}"'
            f"{' ' + extra if extra else ''}/>"
        )

    def path(self, d: str, extra: str) -> None:
        """Draw the path ``d``, with the attributes ``extra``."""
        self._parts.append(f'<path d="{d}" {extra}/>')

    def text(
        self, x: float, y: float, text: str, *, size: float = 10, anchor: str = "start", fill: str = SOFT,
        extra: str = "",
    ) -> None:  # fmt: skip
        """Draw text whose baseline is at ``y``."""
        where = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self._parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{fill}"{where}'
            f"{' ' + extra if extra else ''}>{escape(text)}</text>"
        )

    def time_axis(self, across: Across, y: float) -> None:
        """Draw the axis at ``y``, with ticks in seconds, or in minutes and hours if it is long."""
        self.line(across.left, y, across.right, y)
        for t, label in time_steps(across.end_s, (across.right - across.left) / 80):
            x = across.x(t)
            self.line(x, y, x, y + 4)
            anchor = "start" if x < across.left + 12 else "end" if x > across.right - 12 else "middle"
            self.text(x, y + 14, label, anchor=anchor)

    def heading(self, title: str, rest: str, y: float = 14) -> None:
        """Draw a title, and after it ``rest`` in a smaller font."""
        self._parts.append(
            f'<text x="4" y="{number(y)}" font-size="13" fill="{TEXT}" font-weight="600">{escape(title)}'
            f'<tspan font-size="11" font-weight="400" fill="{SOFT}" dx="10">{escape(rest)}</tspan></text>'
        )

    def body(self) -> str:
        """Return the marks without the element around them."""
        return "\n".join(self._parts)

    def svg(self) -> str:
        """Return the whole picture."""
        box = f'viewBox="0 0 {self.width} {self.height}"'
        return (
            f'<svg class="{THEMED}" xmlns="http://www.w3.org/2000/svg" {box} '
            f'width="100%" role="img" shape-rendering="crispEdges" {FONT}>\n'
            f"<title>{escape(self.title)}</title>\n"
            f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>\n{STYLE}\n{HATCH}\n'
            f"{self.body()}\n</svg>\n"
        )


HATCH = (
    '<defs><pattern id="plab-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path d="M0 0V6" stroke="#1a1a1a" stroke-width="1.6"/></pattern></defs>'
)


def data_size(n: float | None) -> str:
    """Return a number of bytes with a unit: 1536 becomes "1.5 KiB"."""
    if n is None:
        return "–"
    units, k = ("B", "KiB", "MiB", "GiB", "TiB"), 0
    while n >= 1024 and k < len(units) - 1:
        n, k = n / 1024, k + 1
    return f"{n:.1f} {units[k]}" if k and n < 10 else f"{n:.0f} {units[k]}"


def amount(n: float | None) -> str:
    """Return a number with separators: 1234 becomes "1,234"; a small number keeps a digit."""
    if n is None:
        return "–"
    return f"{n:,.0f}" if n >= 10 or n == int(n) else f"{n:.1f}"

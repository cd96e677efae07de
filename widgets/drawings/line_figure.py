"""Lines that a reader can compare by pointing at them: a plotly figure, or a picture where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import MissingExtraError, require

from ..svg.palette import VERMILION, reader_colour
from .line_picture import Line, Mark, line_picture

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DASHES = ("solid", "dash", "dot")
HEIGHT = 360


class LineFigure:
    """Lines as a plotly figure, a picture and words.

    JupyterLab shows the plotly figure: it can be zoomed, lines can be hidden, and pointing at a line shows
    its numbers. Pages without plotly show the same as a picture (SVG).

    Args:
        title, lines, x, y, words, marks: As for `line_picture`.
    """

    def __init__(
        self,
        title: str,
        lines: Sequence[Line],
        *,
        x: str,
        y: str,
        words: Sequence[str],
        marks: Sequence[Mark] = (),
    ) -> None:
        self._title, self._lines, self._x, self._y, self._marks = title, lines, x, y, marks
        self.drawing = line_picture(title, lines, x=x, y=y, words=words, marks=marks)

    def figure(self) -> Figure:
        """Return the lines as a plotly figure.

        Raises:
            MissingExtraError: plotly is not installed.
        """
        require("plotly")
        import plotly.graph_objects as go

        figure = go.Figure()
        for place, line in enumerate(self._lines):
            xs, ys = [list(values) for values in zip(*line.points, strict=True)] if line.points else ([], [])
            look = {"color": reader_colour(place), "dash": DASHES[place % len(DASHES)]}
            figure.add_scatter(
                x=xs, y=ys, name=line.name, mode="lines+markers" if line.dots else "lines", line=look
            )
        for mark in self._marks:
            colour = VERMILION if mark.fails else "#666666"
            word = f"× {mark.word}" if mark.fails else mark.word
            figure.add_vline(x=mark.x, line_color=colour, annotation_text=word)
        figure.update_xaxes(title_text=self._x)
        figure.update_yaxes(title_text=self._y)
        figure.update_layout(title=self._title, template="plotly_white", height=HEIGHT, hovermode="x unified")
        return figure

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = self.drawing._repr_mimebundle_()
        with suppress(MissingExtraError):
            bundle["application/vnd.plotly.v1+json"] = self.figure().to_plotly_json()
        return bundle

    def __repr__(self) -> str:
        return repr(self.drawing)

"""The views of one of several runs, below a line that names the run and switches to the others."""

from __future__ import annotations

from html import escape
from typing import Protocol

from pravega_lab.errors import BadInputError

from ..live.controls import Act, Controls
from ..live.jupyter import ipywidgets, needed
from ..live.view import View
from .board import Board


class Run(Protocol):
    """Something that advances by itself and has views."""

    name: str
    story: str  # one line: from which run it forked, where, and what was done then

    @property
    def views(self) -> list[View]:
        """The views of this run."""


class RunBoard(Board):
    """A board with the views of ``run``. `go` shows another run, and `add` adds one.

    With one run it looks like every board. With more, buttons above the views switch between them; the
    other runs keep their state.
    """

    def __init__(self, run: Run) -> None:
        needed()
        self.run, self.runs = run, [run]
        self._seen = [run]
        self._is_settling = False
        self._controls: list[Controls] = []
        self._choice = ipywidgets.ToggleButtons(options=[run.name])
        self._words = ipywidgets.HTML()
        self._line = ipywidgets.VBox([self._choice, self._words])
        super().__init__(run.views)
        self._choice.observe(lambda change: self._chosen(change["new"]), names="value")

    def add(self, run: Run) -> None:
        """Add a run; it is shown when a person switches to it."""
        self.runs.append(run)
        self._place()

    def go(self, run: Run) -> None:
        """Show this run.

        Raises:
            BadInputError: The board does not have this run.
        """
        if run not in self.runs:
            names = ", ".join(one.name for one in self.runs)
            raise BadInputError(f"go({run.name}): this board knows {names}")
        self.run, self.views = run, run.views
        if run not in self._seen:
            self._seen.append(run)
        self._place()
        for controls in self._controls:
            controls.clock = self.clock
            controls.refresh()

    def controls(self, acts: list[Act]) -> Controls:
        """Return buttons that act on the run that is shown, whichever it is."""
        made = Controls(acts, self.clock)
        self._controls.append(made)
        return made

    def _chosen(self, name: str | None) -> None:
        wanted = next((one for one in self.runs if one.name == name), self.run)
        if wanted is not self.run and not self._is_settling:
            self.go(wanted)

    def _place(self) -> None:
        self._is_settling = True  # new options choose the first of them
        try:
            self._choice.options = [one.name for one in self.runs]
            self._choice.value = self.run.name
        finally:
            self._is_settling = False
        self._words.value = escape(self.run.story)
        self.children = (*([self._line] if len(self.runs) > 1 else []), *self.views)

    def close(self) -> None:
        """Take the views of all runs off the page."""
        for view in (view for run in self._seen if run is not self.run for view in run.views):
            view.close()
        super().close()

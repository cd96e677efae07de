"""Buttons that act. Each shows the call that it makes, ready to paste, or is greyed out with a reason.

A control knows nothing of stores. It receives an `Act`, which the owner of the thing makes (the lab, for
example). Every click runs in a thread of its own, so that neither the page nor a cell waits for it, and one
thread refreshes the choices. Front ends send clicks as messages, which the kernel handles between cells and
in ``await`` cells. The calls from Python work always.
"""

from __future__ import annotations

import contextlib
import html
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable import threads

from .clock import Clock
from .jupyter import ipywidgets, needed

REFRESH_S = 1.0
_UNSEEN = {"description_width": "0px"}


@dataclass(frozen=True)
class Act:
    """Describes something that a person can do.

    Args:
        name: The text of the button, such as ``split this segment``.
        call: Returns the Python call for a target and a value.
        run: Makes the call and returns the result in words. Errors are shown.
        reason: Returns why the call is not possible now (for this target); empty when it is.
        targets: Returns the possible targets, in words; empty where the call needs none.
        of_pin: Returns the target that a pinned mark means, or None.
        value: The initial value of the number beside the button; None for no number.
        unit: The unit of the number.
        of_clock: Whether the number follows the clock.
    """

    name: str
    call: Callable[[str, float], str]
    run: Callable[[str, float], str]
    reason: Callable[[str], str] = lambda target: ""
    targets: Callable[[], list[str]] | None = None
    of_pin: Callable[[dict[str, Any]], str | None] = lambda mark: None
    value: float | None = None
    unit: str = ""
    of_clock: Callable[[Clock], float] | None = None


class _Row:
    """Shows one act on the page."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.busy = False
        self.lock = threading.RLock()
        """Held while the choices change and while a click reads them: new choices begin with the first."""
        # Descriptions without width: a screen reader says them, and the button next to them shows them.
        self.choice = ipywidgets.Dropdown(
            options=[], description=f"what to act on: {act.name}", style=_UNSEEN, layout={"width": "19em"}
        )
        self.number = ipywidgets.FloatText(
            value=act.value or 0.0,
            description=f"{act.unit}: {act.name}",
            style=_UNSEEN,
            layout={"width": "6em"},
        )
        self.button = ipywidgets.Button(description=act.name, layout={"width": "15em"})
        self.words = ipywidgets.HTML(layout={"flex": "1 1 20em"})
        self._said = ""
        self._pin: dict[str, Any] | None = None
        self._of_clock: float | None = None
        parts = [self.button]
        if act.targets is not None:
            parts.append(self.choice)
        if act.value is not None:
            parts += [self.number, ipywidgets.HTML(html.escape(act.unit))]
        self.box = ipywidgets.HBox(
            [*parts, self.words], layout={"align_items": "baseline", "flex_flow": "wrap"}
        )
        self.button.on_click(lambda _: self.click())
        self.choice.observe(lambda _: self.show(), names="value")
        self.number.observe(lambda _: self.show(), names="value")

    @property
    def target(self) -> str:
        """The chosen target, empty where there is none."""
        return str(self.choice.value or "")

    @property
    def reason(self) -> str:
        """Why the act is not possible now; empty when it is."""
        if self.act.targets is not None and not self.target:
            return self.act.reason("") or "there is nothing to do it to"
        return self.act.reason(self.target)

    def refresh(self, clock: Clock | None) -> None:
        """Look up the targets again. A mark that was pinned since then chooses its target."""
        with self.lock:
            self._refresh(clock)

    def _refresh(self, clock: Clock | None) -> None:
        if self.act.targets is not None:
            options = self.act.targets()
            if tuple(options) != tuple(self.choice.options):
                kept = self.target if self.target in options else None
                self.choice.options = options
                self.choice.value = kept or (options[0] if options else None)
            pin = clock.pinned if clock is not None else None
            if pin != self._pin:
                self._pin = pin
                wanted = self.act.of_pin(pin) if pin else None
                if wanted in options:
                    self.choice.value = wanted
        if self.act.of_clock is not None and clock is not None:
            with contextlib.suppress(BadInputError):  # nothing is shown yet
                now = round(self.act.of_clock(clock), 2)
                if now != self._of_clock:  # keep what a person typed while the clock does not move
                    self._of_clock = self.number.value = now
        self.show()

    def show(self) -> None:
        """Show the call, or the reason why it is not possible."""
        reason = "" if self.busy else self.reason
        self.button.disabled = bool(reason) or self.busy
        self.button.tooltip = reason or self.act.name
        call = html.escape(self.act.call(self.target, self.number.value)) if not reason else ""
        parts = [f"<code>{call}</code>" if call else "", f"<i>{html.escape(reason)}</i>" if reason else ""]
        said = f"<span>{html.escape(self._said)}</span>" if self._said else ""
        words = " ".join(part for part in [*parts, said] if part)
        if self.words.value != words:
            self.words.value = words

    def click(self) -> None:
        """Make the call in a thread, as the button does; `wait` waits until it has ended."""
        with self.lock:
            if self.busy or self.reason:
                return self.show()
            self.busy, self._said = True, "…"
            self.show()
            args, name = (self.target, self.number.value), f"control {self.act.name}"
            self._thread = threads.Thread(target=self._run, args=args, name=name, daemon=True)
            self._thread.start()
            return None

    def wait(self) -> str:
        """Wait for the last click, and return its result in words."""
        self._thread.join()
        return self._said

    def _run(self, target: str, value: float) -> None:
        try:
            self._said = self.act.run(target, value)
        except Exception as error:  # a thread has no caller: the error is shown
            self._said = f"not done: {error}"
        finally:
            self.busy = False
            self.show()


class Controls(ipywidgets.VBox):
    """Shows acts, one below the other. ``lab.controls(board)`` makes it.

    Args:
        acts: What a person can do.
        clock: Its pinned marks choose targets.
    """

    def __init__(self, acts: Sequence[Act], clock: Clock | None = None) -> None:
        needed()
        self.rows = {act.name: _Row(act) for act in acts}
        self.clock = clock
        self._ended = threads.Event()
        super().__init__(children=[row.box for row in self.rows.values()])
        self.refresh()
        thread = threads.Thread(target=_refresh, args=(weakref.ref(self), self._ended), daemon=True)
        thread.start()

    def refresh(self) -> None:
        """Look up again what is possible; a thread does so every second."""
        for row in self.rows.values():
            row.refresh(self.clock)

    def do(self, name: str, target: str | None = None, value: float | None = None) -> str:
        """Choose the target, click and wait, as the button does. Return the result or the reason why not.

        Args:
            name: The text of the button.
            target: One of the button's choices; by default the one that is chosen now.
            value: The number beside the button.

        Raises:
            BadInputError: No button has this name, or the target is not among its choices.
        """
        if name not in self.rows:
            raise BadInputError(f"there is no control {name!r}. There are {_listed(self.rows)}")
        row = self.rows[name]
        with row.lock:
            row.refresh(self.clock)
            if target is not None and target not in row.choice.options:
                there = _listed(row.choice.options)
                found = f"There are {there}" if there else "There is none now"
                raise BadInputError(f"{name}: {target!r} is not among the choices. {found}")
            if target is not None:
                row.choice.value = target
            if value is not None:
                row.number.value = value
            if row.reason:
                return row.reason
            row.click()
        return row.wait()

    def close(self) -> None:
        """Take the buttons off the page and end their thread."""
        self._ended.set()
        super().close()

    def __repr__(self) -> str:
        can = [name for name, row in self.rows.items() if not row.reason]
        return f"Controls({', '.join(can) or 'none can act now'})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _refresh(controls: weakref.ref[Controls], ended: threads.Event) -> None:
    while not ended.wait(REFRESH_S):
        found = controls()
        if found is None:
            return
        with contextlib.suppress(Exception):  # the store is out of reach for a moment: keep what was shown
            found.refresh()
        del found

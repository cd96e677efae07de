"""The panel that a notebook shows for a `Lab`: a line for each of its parts, live while the kernel runs.

`Panel` draws again every few seconds while a page shows it. Without a kernel the last state stays, as HTML
and as text. Colours are JupyterLab's own, so they fit its themes, and marks differ in shape and not only
in colour.
"""

from __future__ import annotations

import html
import threading
import time
import weakref
from typing import Any
from uuid import uuid4

from pravega_lab.lab.health import Examined, Health, Part, parts
from pravega_lab.progress import is_run_by_program

PERIOD_S = 2.0
FORGOTTEN_S = 30.0  # a page that shows the panel reports more often than this

# Okabe and Ito's green and vermilion.
COLOURS = {Health.WELL: "#009E73", Health.RESTING: "#888888", Health.ILL: "#D55E00"}
WORDS = {Health.WELL: "well", Health.RESTING: "at rest", Health.ILL: "ill"}


def as_html(title: str, found: list[Part]) -> str:
    """Return the panel as an HTML table, in the colours of the page. All text from ``found`` is escaped."""
    rows = "".join(
        f'<tr><td style="text-align:left;color:{COLOURS[part.health]}" title="{WORDS[part.health]}" '
        f'aria-label="{WORDS[part.health]}">{part.health.value}</td>'
        f'<td style="text-align:left;padding:1px 12px 1px 4px"><b>{html.escape(part.name)}</b></td>'
        f'<td style="text-align:left">{html.escape(part.words)}{_remedy(part)}</td></tr>'
        for part in found
    )
    return (
        '<div style="display:inline-block;font-family:var(--jp-ui-font-family,sans-serif);font-size:12px;'
        "color:var(--jp-ui-font-color1,inherit);background:var(--jp-layout-color1,transparent);"
        'border:1px solid var(--jp-border-color2,#888);border-radius:4px;padding:6px 10px">'
        f"<b>{html.escape(title)}</b>"
        '<table style="margin:4px 0 0;border-collapse:collapse;background:none;color:inherit">'
        f"{rows}</table></div>"
    )


def _content(part: Part) -> dict[str, str]:
    """Return a part as the page receives it (widgets/lab_panel/table.ts)."""
    return {
        "symbol": part.health.value,
        "state": WORDS[part.health],
        "colour": COLOURS[part.health],
        "name": part.name,
        "words": part.words,
        "remedy": part.remedy,
    }


def _remedy(part: Part) -> str:
    return f" <i>→ {html.escape(part.remedy)}</i>" if part.remedy else ""


def as_text(title: str, found: list[Part]) -> str:
    """Return the panel as lines, for terminals and for readers of the notebook's file."""
    width = max(len(part.name) for part in found)
    lines = [
        f"{part.health.value} {part.name:<{width}}  {part.words}"
        + (f" → {part.remedy}" if part.remedy else "")
        for part in found
    ]
    return "\n".join([title, *lines])


def bundle(lab: Examined, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what IPython shows for a lab: HTML and text, and the live panel if widgets are installed."""
    found = parts(lab)
    still = {"text/html": as_html(lab.title, found), "text/plain": as_text(lab.title, found)}
    panel = _panel_of(lab)
    if panel is None or is_run_by_program():
        return still, {}
    live = panel.widget._repr_mimebundle_(**kwargs)
    data, metadata = live if isinstance(live, tuple) else (live or {}, {})
    return {**data, **still}, metadata


class Panel:
    """The live panel of one lab: a widget, and a thread that runs while a page shows it.

    ``errors`` holds the newest errors of that thread. The panel does not keep its lab alive.

    Raises:
        ImportError: The widget library is not installed.
    """

    def __init__(self, lab: Examined) -> None:
        import anywidget
        import traitlets

        from pravega_lab.widgets.bundles import bundle

        shown = type("Shown", (anywidget.AnyWidget,), {"_settings": traitlets.Dict().tag(sync=True)})
        name = uuid4().hex  # by which its page finds the model
        self.widget: Any = shown(_esm=bundle("lab_panel"), model_id=name, _settings={"me": name})
        self.errors: list[BaseException] = []
        self._lab = weakref.ref(lab)
        self._heard_s = 0.0
        self._seq = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = threading.Event()
        self.widget.on_msg(lambda _widget, content, _buffers: self.heard(content))

    @property
    def running(self) -> bool:
        """Return whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def heard(self, content: dict[str, Any]) -> None:
        """Handle a message of a page. A page that shows the panel reports that every few seconds.

        Any thread may call this.
        """
        if content.get("kind") != "here":
            return
        with self._lock:
            self._heard_s = time.monotonic()
            self._asked.set()
            if not self.running:
                self._thread = threading.Thread(target=self._run, name="pravega-lab-panel", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            lab = self._lab()
            with self._lock:
                if lab is None or time.monotonic() - self._heard_s > FORGOTTEN_S:
                    self._thread = None
                    return
            self._asked.clear()
            self._draw(lab)
            if lab.is_closed:
                with self._lock:
                    self._thread = None
                return
            del lab  # a lab without references may be collected while this thread waits
            self._asked.wait(PERIOD_S)

    def _draw(self, lab: Examined) -> None:
        try:
            found = [_content(part) for part in parts(lab)]
            self._seq += 1
            self.widget.send({"kind": "parts", "title": lab.title, "parts": found, "seq": self._seq})
        except Exception as error:
            if not lab.is_closed:
                self.errors = [*self.errors, error][-20:]


_panels: weakref.WeakKeyDictionary[Examined, Panel | None] = weakref.WeakKeyDictionary()


def _panel_of(lab: Examined) -> Panel | None:
    """Return the only panel of ``lab``, or ``None`` if the widget library is not installed."""
    if lab not in _panels:
        try:
            _panels[lab] = Panel(lab)
        except ImportError:
            _panels[lab] = None
    return _panels[lab]

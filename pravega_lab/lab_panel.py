"""What `Lab()` looks like in a notebook: a line for each of its parts, live while the kernel runs.

`Panel` draws again every few seconds while a page shows it. Where there is no kernel the last state stays as
HTML and as text; colours are JupyterLab's own, so they fit its themes, and every mark has a shape of its own.
"""

from __future__ import annotations

import html
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from pravega_lab.lab_health import Health, Part, parts

if TYPE_CHECKING:
    from pravega_lab.lab import Lab

PERIOD_S = 2.0
FORGOTTEN_S = 30.0  # no page said for so long that it shows the panel

# Okabe-Ito's green and vermilion, lighter where the ground is dark.
COLOURS = {Health.WELL: "#009E73", Health.RESTING: "#888888", Health.ILL: "#D55E00"}
WORDS = {Health.WELL: "well", Health.RESTING: "at rest", Health.ILL: "ill"}

MODULE = """
function render({ model, el }) {
  const page = document.createElement("div");
  page.className = "plab-lab";
  page.setAttribute("role", "status");
  el.append(page);
  const draw = (content) => {
    if (content.kind !== "parts" || page.innerHTML === content.html) return;
    page.innerHTML = content.html;
    page.dataset.seq = content.seq;
  };
  model.on("msg:custom", draw);
  const here = () => {
    try {
      model.send({ kind: "here" });
    } catch {
      // the kernel was restarted
    }
  };
  const heart = setInterval(here, 5000);
  here();
  return () => {
    clearInterval(heart);
    model.off("msg:custom", draw);
    page.remove();
  };
}
export default { render };
"""


def as_html(title: str, found: list[Part]) -> str:
    """The panel as a table; the colours are the page's where it has any."""
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


def _remedy(part: Part) -> str:
    return f" <i>→ {html.escape(part.remedy)}</i>" if part.remedy else ""


def as_text(title: str, found: list[Part]) -> str:
    """The same in lines, for a terminal and a reader of the notebook's file."""
    width = max(len(part.name) for part in found)
    lines = [
        f"{part.health.value} {part.name:<{width}}  {part.words}"
        + (f" → {part.remedy}" if part.remedy else "")
        for part in found
    ]
    return "\n".join([title, *lines])


def bundle(lab: Lab, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What IPython shows of a lab: the live panel where there are widgets, HTML and text everywhere."""
    found = parts(lab)
    still = {"text/html": as_html(lab.title, found), "text/plain": as_text(lab.title, found)}
    panel = _panel_of(lab)
    live = panel.widget._repr_mimebundle_(**kwargs) if panel is not None else None
    data, metadata = live if isinstance(live, tuple) else (live or {}, {})
    return {**data, **still}, metadata


class Panel:
    """The live panel of one lab: a widget, and a thread while a page shows it.

    Raises:
        ImportError: There are no widgets here.
    """

    def __init__(self, lab: Lab) -> None:
        import anywidget

        self.widget = anywidget.AnyWidget(_esm=MODULE)
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
        """Is its thread at work?"""
        return self._thread is not None and self._thread.is_alive()

    def heard(self, content: dict[str, Any]) -> None:
        """A page says that it shows the panel. Any thread may call."""
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
            del lab  # a lab that nobody holds may go while we wait
            self._asked.wait(PERIOD_S)

    def _draw(self, lab: Lab) -> None:
        try:
            text = as_html(lab.title, parts(lab))
            self._seq += 1
            self.widget.send({"kind": "parts", "html": text, "seq": self._seq})
        except Exception as error:
            if not lab.is_closed:
                self.errors = [*self.errors, error][-20:]


_panels: weakref.WeakKeyDictionary[Lab, Panel | None] = weakref.WeakKeyDictionary()


def _panel_of(lab: Lab) -> Panel | None:
    """The one panel of ``lab``; None where there are no widgets."""
    if lab not in _panels:
        try:
            _panels[lab] = Panel(lab)
        except ImportError:
            _panels[lab] = None
    return _panels[lab]

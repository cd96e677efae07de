"""Export of views as one page that works alone: modules, data and a model that never changes; no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Protocol

from ..bundles import style
from .recording import HasContent, content_of

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --jp-layout-color0: #ffffff; --jp-layout-color1: #ffffff;
  --jp-border-color2: #d0d0d0; --jp-ui-font-color1: #1a1a1a; --jp-ui-font-color2: #555555; }}
@media (prefers-color-scheme: dark) {{ :root {{ --jp-layout-color0: #111111; --jp-layout-color1: #1c1c1c;
  --jp-border-color2: #4a4a4a; --jp-ui-font-color1: #e6e6e6; --jp-ui-font-color2: #b4b4b4; }} }}
body {{ margin: 12px auto; max-width: 1500px; padding: 0 12px; background: var(--jp-layout-color0); }}
.view {{ margin-bottom: 14px; }}
{style}
</style>
</head>
<body>
<main>
<h1 class="plab-aloud">{title}</h1>
{views}
</main>
{modules}
<script type="module">
{starter}
</script>
</body>
</html>
"""

# The model of a recording: it answers hello with its snapshot, and never sends anything else.
_STARTER = """const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
globalThis.pravegaLabViews = [];
for (const el of document.querySelectorAll(".view")) {
  const { settings, payload } = JSON.parse(el.querySelector("script").textContent);
  const heard = [];
  const model = {
    get: (name) => (name === "_settings" ? settings : undefined),
    on: (name, callback) => name === "msg:custom" && heard.push(callback),
    off: (name, callback) => heard.splice(heard.indexOf(callback), 1),
    send: ({ kind }) => kind === "hello" && heard.forEach((f) => f(payload, payload.buffers.map(bytes))),
  };
  const text = JSON.parse(document.getElementById(el.dataset.module).textContent);
  const source = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const view = (await import(source)).default();
  const closed = [view.initialize({ model }), view.render({ model, el })];
  globalThis.pravegaLabViews.push(() => closed.forEach((f) => f()));
}
"""


class Exportable(HasContent, Protocol):
    """A view, as far as an exported page needs it."""

    @property
    def heading(self) -> str:
        """Return the text in the header of the view."""

    @property
    def _esm(self) -> str:
        """The JavaScript of the view."""

    def picture(self) -> tuple[str, str | bytes]:
        """Return the media type and the content of the static picture."""


def export(views: Sequence[Exportable], path: str | Path) -> Path:
    """Write the page for these views, on one clock, and return its path."""
    modules: dict[str, str] = {}
    for view in views:
        modules.setdefault(str(view._esm), f"module-{len(modules)}")
    title = " · ".join(dict.fromkeys(view.heading for view in views)) or "pravega_lab"
    page = _PAGE.format(
        title=escape(title),
        style=style(),
        views="\n".join(_view(view, modules[str(view._esm)]) for view in views),
        modules="\n".join(
            f'<script type="application/json" id="{name}">{_inert(text)}</script>'
            for text, name in modules.items()
        ),
        starter=_STARTER,
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def _view(view: Exportable, module: str) -> str:
    return (
        f'<div class="view" data-module="{module}"><noscript>{_static(view)}</noscript>'
        f'<script type="application/json">{_inert(content_of(view))}</script></div>'
    )


def _static(view: Exportable) -> str:
    """Return what a page without JavaScript shows."""
    import base64

    mime, picture = view.picture()
    if isinstance(picture, str):
        return picture
    data = base64.b64encode(picture).decode()
    return f'<img alt="{escape(repr(view))}" width="100%" src="data:{mime};base64,{data}">'


def _inert(value: Any) -> str:
    """Return a value as JSON that cannot end or change the script element around it.

    HTML looks for ``</script``, ``<!--`` and ``<script`` inside scripts. All of them begin with ``<``, which
    occurs in JSON only within strings, where it may be written as an escape.
    """
    return json.dumps(value).replace("<", "\\u003c")

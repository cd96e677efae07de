"""What the tests ask of a page on which views are drawn. Views are counted from 0, from top to bottom."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError as PlaywrightTimeout

# A condition ends a wait, so a long limit costs nothing where the machine is quick.
WAIT_MS = 30_000


class Errors(list[str]):
    """What a page complained of."""

    def of(self, page: Any) -> None:
        page.on("pageerror", lambda error: self.append(f"{error}\n{error.stack}"))
        page.on("console", lambda message: self.append(message.text) if message.type == "error" else None)


SHARED = "globalThis[Symbol.for('pravega_lab.page')]"
OF_CANVAS = """(canvas) => {
  if (!canvas || !canvas.width) return 0;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let i = 0; i < data.length; i += 4) found.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return found.size;
}"""
COLOURS = f"(n) => ({OF_CANVAS})(document.querySelectorAll('.plab-canvas')[n])"
PAINTED = f"""([n, least]) => {{
  const view = document.querySelectorAll('.plab')[n];
  if (!view) return false;
  const canvas = view.querySelector('.plab-canvas');
  const words = canvas ? view.querySelector('.plab-empty')?.innerText : view.innerText;
  return Boolean(words?.trim()) || ({OF_CANVAS})(canvas) >= least;
}}"""
MANY = 20  # colours that only a drawing has


def colours(page: Any, n: int) -> int:
    """How many different colours the canvas shows; a blank one has one."""
    return int(page.evaluate(COLOURS, n))


def wait_drawn(page: Any, n: int, least: int = MANY) -> None:
    told = "Number(document.querySelectorAll('.plab')[n]?.dataset.updates) > 0"
    page.wait_for_function(f"(n) => {told} && ({COLOURS})(n) >= {least}", arg=n, timeout=WAIT_MS)


def wait_painted(page: Any, n: int) -> None:
    """Until a view shows something: on its canvas, or in words where it is empty or has none."""
    try:
        page.wait_for_function(PAINTED, arg=[n, MANY], timeout=WAIT_MS)
    except PlaywrightTimeout as error:
        view(page, n).scroll_into_view_if_needed()
        raise AssertionError(f"blank: view {n}, {view(page, n).inner_text()!r}") from error


def view(page: Any, n: int) -> Any:
    return page.locator(".plab").nth(n)


def canvas(page: Any, n: int) -> Any:
    return page.locator(".plab-canvas").nth(n)


def draws(page: Any, n: int) -> int:
    return int(view(page, n).get_attribute("data-draws") or 0)


def wait_more_draws(page: Any, n: int, than: int) -> None:
    condition = "([n, than]) => Number(document.querySelectorAll('.plab')[n].dataset.draws) > than"
    page.wait_for_function(condition, arg=[n, than], timeout=WAIT_MS)


def clock(page: Any, what: str) -> Any:
    """A value of the clock of the first view on the page."""
    return page.evaluate(f"() => [...{SHARED}.clocks.values()][0].{what}")


def seek(page: Any, t_s: float) -> None:
    """Put the clock of the first view to this second."""
    page.evaluate(
        f"(t) => {{ const c = [...{SHARED}.clocks.values()][0]; c.seek(c.start + 1000 * t); }}",
        t_s,
    )
    settle(page)


def label(page: Any, n: int) -> str:
    """What a view says of itself."""
    return str(canvas(page, n).get_attribute("aria-label"))


@contextmanager
def exported_page(
    browser: Any, path: Path, views: Iterable[int] = (), *, scheme: str = "light", height: int = 1300
) -> Iterator[Any]:
    """An exported page, when these views are drawn; it has to ask no network, and to complain of nothing."""
    size = {"width": 1200, "height": height}
    context = browser.new_context(viewport=size, offline=True, color_scheme=scheme)
    page, errors = context.new_page(), Errors()
    errors.of(page)
    page.on("request", lambda r: errors.append(r.url) if r.url.startswith("http") else None)
    page.goto(path.as_uri())
    for n in views:
        wait_drawn(page, n)
    yield page
    context.close()
    assert errors == []


def point(page: Any, n: int, x: float, y: float) -> None:
    """Move the pointer to this part of a canvas, 0 to 1 from its left and top."""
    canvas(page, n).scroll_into_view_if_needed()
    box = canvas(page, n).bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


def settle(page: Any) -> None:
    """Two frames later."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def run_cell(page: Any, code: str) -> None:
    """Put a cell at the end and start it, without waiting for it."""
    page.evaluate(
        """async (code) => {
          const { commands, shell } = window.jupyterapp;
          const isBook = (w) => w?.sessionContext && w.content?.widgets;
          const book = [shell.currentWidget, ...shell.widgets('main')].find(isBook);
          shell.activateById(book.id); // a panel of views may be the current widget
          const { content } = book;
          content.activeCellIndex = content.widgets.length - 1;
          await commands.execute('notebook:insert-cell-below');
          content.activeCell.model.sharedModel.setSource(code);
          commands.execute('notebook:run-cell');
        }""",
        code,
    )


def last_output(page: Any) -> str:
    output = page.locator(".jp-Cell").last.locator(".jp-OutputArea-output").filter(has_text=re.compile(r"\S"))
    output.wait_for(timeout=WAIT_MS)
    return str(output.inner_text())


# What each view says that it shows, and the number of the last observation that it shows.
SHOWN = """() => [...document.querySelectorAll('.plab')]
  .map((v) => JSON.stringify([v.querySelector('.plab-title').textContent, Number(v.dataset.seq)]))"""
NEWEST = """
import json
from pravega_lab.widgets.live.comm import control
views = [v for v in control().views.values() if v.told]  # the others are on no page
last = lambda journal: max(journal.since(), key=lambda o: (o.time_ms, o.seq)).seq
print(json.dumps(sorted({(v.told["title"], last(v.journal)) for v in views})))
"""


def newest(page: Any) -> list[list[Any]]:
    """Title and the number of the last observation, in time, of the journal of every view in the kernel."""
    run_cell(page, NEWEST)
    said = last_output(page)
    assert said.startswith("["), said
    return list(json.loads(said))


def wait_caught_up(page: Any, views: int, wanted: list[list[Any]]) -> None:
    """Until so many views are there, and what they show is exactly that; else says what they show."""
    _wait_shown(
        page, f"{views} of", wanted, lambda shown: len(shown) == views and _set(shown) == _set(wanted)
    )


def wait_shown(page: Any, wanted: list[list[Any]]) -> None:
    """Until each of these is shown by some view; else says what they show."""
    _wait_shown(page, "views of", wanted, lambda shown: set(_set(wanted)) <= set(_set(shown)))


def _wait_shown(page: Any, what: str, wanted: list[list[Any]], fits: Callable[[list[Any]], bool]) -> None:
    until = time.monotonic() + 4 * WAIT_MS / 1000
    while True:
        shown = [json.loads(pair) for pair in page.evaluate(SHOWN)]
        if fits(shown):
            return
        assert time.monotonic() < until, (
            f"{len(shown)} views show {_set(shown)}, wanted {what} {_set(wanted)}"
        )
        page.wait_for_timeout(200)


def _set(pairs: list[list[Any]]) -> list[tuple[Any, ...]]:
    return sorted({tuple(pair) for pair in pairs})

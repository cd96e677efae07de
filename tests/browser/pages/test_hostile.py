"""A recording whose every text is hostile: pages show it as text, run none of it, and still draw."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.widgets import JobGraph, show
from pravega_lab.widgets.live.payload import Payload
from tests.browser.page import Errors, wait_painted
from tests.observe.examples import killed_query, splitting_story
from tests.observe.job.examples import whole_run
from tests.observe.ledger.examples import judged_run

HOSTILE = '\'"><img src=x onerror="globalThis.hostile = true"><!--<script></script>'

# Points everywhere at each view, and drawing follows at once; returns the texts of all tooltips.
SWEEP = """async () => {
  const said = new Set();
  for (const view of document.querySelectorAll('.plab')) {
    const canvas = view.querySelector('.plab-canvas');
    if (!canvas) continue;
    const { left, top, width, height } = canvas.getBoundingClientRect();
    for (let x = 3; x < width; x += width / 20)
      for (let y = 3; y < height; y += 14) {
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + x, clientY: top + y }));
        await Promise.resolve();
        const tip = view.querySelector('.plab-tip');
        if (tip && tip.style.display === 'block') said.add(tip.textContent);
      }
    canvas.dispatchEvent(new PointerEvent('pointerleave'));
    await new Promise((later) => setTimeout(later));
  }
  return [...said];
}"""
DRAW_AT_ONCE = """globalThis.requestAnimationFrame = (draw) => {
  queueMicrotask(() => draw(performance.now()));
  return 1;
};"""


def stream_and_query() -> Journal:
    journal = splitting_story().journal
    killed_query(journal)
    return journal


STORIES: dict[str, Callable[[], Journal | JobGraph]] = {
    "stream and query": stream_and_query,
    "job": lambda: JobGraph(whole_run()),
    "ledger": lambda: judged_run().journal,
}


def made_hostile(value: Any) -> Any:
    """Return JSON whose every text ends in markup."""
    if isinstance(value, dict):
        return {name: made_hostile(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [made_hostile(item) for item in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) else value


@pytest.mark.parametrize("story", STORIES)
def test_text_from_data_is_text(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: str
) -> None:
    sent = Payload.to_json

    def hostile(payload: Payload) -> dict[str, Any]:
        content = sent(payload)
        return {**content, "facts": made_hostile(content["facts"]), "grown": made_hostile(content["grown"])}

    monkeypatch.setattr(Payload, "to_json", hostile)
    path = show(STORIES[story]()).export(tmp_path / "hostile.html")
    context = browser.new_context(viewport={"width": 1200, "height": 1000}, offline=True)
    page = context.new_page()
    errors = Errors()
    errors.of(page)
    page.add_init_script(DRAW_AT_ONCE)
    page.goto(path.as_uri())
    count = page.locator(".view").count()
    for n in range(count):
        wait_painted(page, n)
    said = page.evaluate(SWEEP)
    assert page.evaluate("() => globalThis.hostile") is None
    assert page.locator(".plab img, .plab script").count() == 0
    assert [text for text in said if HOSTILE in text] or story == "ledger"  # its texts are in its tables
    assert HOSTILE in page.locator(".plab").first.inner_text()
    assert errors == []
    context.close()

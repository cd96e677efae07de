"""A journal whose texts are markup: an exported page shows them as text and runs none of it."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pravega_lab.observe.group.observations import SegmentOffered
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.widgets import show
from tests.browser.page import canvas, exported_page, settle, view
from tests.observe.group.examples import busy_group
from tests.observe.ledger.examples import judged_run

MARKUP = "<img src=x onerror='globalThis.ran = true'>"
FREE_TEXT = {"cause", "cause_kind", "text", "what", "event", "key", "written_where", "judged", "where"}
MAP, BOARD = 0, 1


def hostile(observation: Observation) -> Observation:
    """Return the observation with markup after each text that no rule reads."""
    texts = {f.name: getattr(observation, f.name) for f in fields(observation) if f.name in FREE_TEXT}
    if isinstance(observation, SegmentOffered) and observation.why != "predecessors read":
        texts["why"] = observation.why
    changes: dict[str, Any] = {k: f"{v}{MARKUP}" for k, v in texts.items() if isinstance(v, str)}
    return replace(observation, **changes)


def spoiled(journal: Journal) -> Journal:
    """Return the journal with hostile texts, some of which a loaded recording could not have."""
    bad = Journal("stranger", live=False)
    for observation in journal.since(0):
        bad.append(hostile(observation))
    return bad


def tips_of_moves(page: Any) -> str:
    """Move the pointer along the ticks of moves, and return all that the tooltip says."""
    said = []
    canvas(page, BOARD).scroll_into_view_if_needed()
    box = canvas(page, BOARD).bounding_box()
    for x in range(50, int(box["width"]) - 240, 8):
        page.mouse.move(box["x"] + x, box["y"] + box["height"] - 40)
        settle(page)
        said.append(view(page, BOARD).locator(".plab-tip").inner_text())
    return "\n".join(said)


def test_the_text_of_a_move_is_text(browser: Any, tmp_path: Path) -> None:
    path = show(spoiled(busy_group().journal)).export(tmp_path / "bad.html")
    with exported_page(browser, path, (MAP, BOARD)) as page:
        said = tips_of_moves(page)
        assert page.evaluate("globalThis.ran") is None
        assert f"released{MARKUP}" in said
        assert page.locator(".plab img").count() == 0


def test_the_texts_of_a_ledger_are_text(browser: Any, tmp_path: Path) -> None:
    path = show(spoiled(judged_run().journal)).export(tmp_path / "bad.html")
    with exported_page(browser, path, (0,)) as page:
        assert f"reader r1 killed{MARKUP}" in view(page, 0).locator(".plab-tables").inner_text()
        assert page.evaluate("globalThis.ran") is None
        assert page.locator(".plab img").count() == 0

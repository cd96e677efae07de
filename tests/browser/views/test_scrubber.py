"""The clock of an exported page: steps, jumps, pauses, marks a fork; and the ledger judges by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.observe.group.observations import GroupCheckpointDone
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.widgets import show
from tests.browser.page import canvas, clock, exported_page, settle, view, wait_drawn
from tests.observe.examples import START_MS, STREAM, splitting_story
from tests.observe.ledger.examples import judged_run

MAP, LEDGER = 0, 1


@pytest.fixture(scope="module")
def journal() -> Journal:
    """Splits, a checkpoint at 20 s, a reader killed at 30.5 s, 37 events doubled."""
    journal = splitting_story().journal
    judged_run(journal)
    positions = ((f"{STREAM}/1.#epoch.1", 100), (f"{STREAM}/2.#epoch.1", 200))
    journal.append(
        GroupCheckpointDone(time_ms=START_MS + 20_000, group="demo/g", checkpoint="c7", positions=positions)
    )
    return journal


@pytest.fixture(scope="module")
def exported(journal: Journal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return show(journal).export(tmp_path_factory.mktemp("scrub") / "run.html")


@pytest.fixture
def page(browser: Any, exported: Path) -> Iterator[Any]:
    with exported_page(browser, exported, [MAP], height=1100) as page:
        wait_drawn(page, LEDGER, 5)
        yield page


def at(page: Any) -> float:
    """Milliseconds since the start."""
    return float(clock(page, "now")) - float(clock(page, "start"))


def seek(page: Any, ms: int) -> None:
    page.evaluate(
        "(ms) => { const c = [...globalThis[Symbol.for('pravega_lab.page')].clocks.values()][0];"
        " c.seek(c.start + ms); }",
        ms,
    )
    settle(page)


def call(page: Any) -> str:
    settle(page)
    return str(view(page, MAP).locator(".plab-call").text_content())


def button(page: Any, title: str) -> Any:
    return view(page, MAP).locator(f".plab-bar button[title^='{title}']")


def test_a_step_is_one_observation_and_its_number_is_shown(page: Any, journal: Journal) -> None:
    times = sorted({o.time_ms - START_MS for o in journal.since()})
    seek(page, 10_000)
    later = [t for t in times if t > 10_000]
    for expected in later[:3]:
        button(page, "on to the next observation").click()
        settle(page)
        assert at(page) == pytest.approx(expected, abs=1)
        seqs = [o.seq for o in journal.since() if o.time_ms - START_MS == expected]
        assert view(page, MAP).get_attribute("data-seq") == str(max(seqs))
    assert call(page) == "board.clock.step()"
    button(page, "back to the last observation").click()
    settle(page)
    assert at(page) == pytest.approx(later[1], abs=1)
    assert call(page) == "board.clock.step(-1)"
    canvas(page, MAP).focus()
    page.keyboard.press("Shift+ArrowRight")
    settle(page)
    assert at(page) == pytest.approx(later[2], abs=1)


def test_keys_act_after_a_click_on_a_button(page: Any) -> None:
    seek(page, 10_000)
    button(page, "on to the next observation").click()
    before = at(page)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert at(page) > before
    page.keyboard.press("Home")
    settle(page)
    assert at(page) == 0
    page.keyboard.press("Enter")  # presses the button
    settle(page)
    assert 0 < at(page) < before


def test_it_jumps_to_the_next_of_a_kind(page: Any) -> None:
    seek(page, 0)
    jump = view(page, MAP).locator(".plab-jump-kind")
    for kind, expected, words in (
        ("split", 12_500, 'board.clock.next("split")  # #0 → #1 #2: 246/s > 2 × 100/s'),
        ("checkpoint", 20_000, 'board.clock.next("checkpoint")  # checkpoint c7 done'),
        ("failure", 30_500, 'board.clock.next("failure")  # reader r1 killed'),
        ("any", 61_500, "board.clock.next()  # #3 #4 → #7: 3/s, 3/s < 100/s ÷ 2"),
    ):
        jump.select_option(kind)
        button(page, "to the next one").click()
        assert call(page) == words
        assert at(page) == pytest.approx(expected, abs=1)
    jump.select_option("failure")
    button(page, "to the next one").click()
    assert call(page) == "no failure after this"
    assert at(page) == pytest.approx(61_500, abs=1)
    button(page, "to the one before").click()
    assert call(page) == 'board.clock.previous("failure")  # reader r1 killed'


def test_a_fork_snaps_to_the_checkpoint_before(page: Any) -> None:
    seek(page, 45_000)
    button(page, "fork").click()
    assert call(page) == "fork = lab.fork(board, at_s=45.00)"
    cut = clock(page, "cut")
    assert cut["text"] == "fork: checkpoint c7 done"
    assert cut["time"] - clock(page, "start") == pytest.approx(20_000, abs=1)
    seek(page, 15_000)
    canvas(page, MAP).focus()
    page.keyboard.press("f")
    settle(page)
    assert clock(page, "cut.text") == "fork: the tails at 15.00 s"
    page.keyboard.press("Escape")
    assert clock(page, "cut") is None


def test_the_ledger_judges_by_the_clock(page: Any) -> None:
    verdict = view(page, LEDGER).locator(".plab-verdict")
    assert (verdict.inner_text(), verdict.get_attribute("data-verdict")) == ("✗ 37 doubled", "wrong")
    seek(page, 20_000)
    assert verdict.get_attribute("data-verdict") == "open"
    assert verdict.inner_text() == "? 100 not yet known"
    assert view(page, LEDGER).get_by_text("first offending event").count() == 0
    seek(page, 119_000)
    rows = view(page, LEDGER).locator(".plab-table").first.locator("tbody tr")
    assert [rows.nth(k).inner_text().split("\t")[:4] for k in (0, 3, 5)] == [
        ["written", "3,050", "6,000", "+2,950"],
        ["committed", "unknown", "unknown", "–"],
        ["doubled", "0", "37", "+37"],
    ]
    assert "our writer's journal" in rows.nth(0).inner_text()
    assert "no witness" in rows.nth(3).inner_text()


def test_it_takes_the_clock_to_the_first_offence(page: Any) -> None:
    ledger = view(page, LEDGER)
    assert "first offending event: doubled · 19 more told" in ledger.inner_text()
    ledger.get_by_role("button", name="go there").nth(0).click()
    settle(page)
    assert at(page) == pytest.approx(29_000, abs=1)  # where it was written
    assert ledger.locator(".plab-call").inner_text() == "board.clock.seek(29.000)"
    assert "1 doubled" not in ledger.inner_text()
    seek(page, 119_000)
    ledger.get_by_role("button", name="go", exact=True).click()
    settle(page)
    assert at(page) == pytest.approx(30_500, abs=1)
    assert "active segments" in canvas(page, MAP).get_attribute("aria-label")


def test_play_from_the_end_begins_again_and_pauses(page: Any) -> None:
    play = view(page, MAP).locator(".plab-play")
    view(page, MAP).locator(".plab-speed").select_option("16")
    play.click()
    page.wait_for_function(
        "() => { const c = [...globalThis[Symbol.for('pravega_lab.page')].clocks.values()][0];"
        " return c.at !== null && c.at - c.start > 2000; }"
    )
    play.click()
    held = at(page)
    page.wait_for_timeout(200)
    assert at(page) == held
    assert held < 120_000


def test_moments_are_drawn_above_the_slider(page: Any) -> None:
    drawn = page.evaluate(
        "() => { const m = document.querySelector('.plab-moments');"
        " const d = m.getContext('2d').getImageData(0, 0, m.width, 1).data; let marks = 0;"
        " for (let i = 3; i < d.length; i += 4) marks += d[i] && !d[i - 4] ? 1 : 0; return marks; }"
    )
    assert drawn == 6  # five scales, a checkpoint, and a failure that stands with the third split

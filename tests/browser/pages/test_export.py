"""The exported page, from a file and with no network: drawn, scrubbed, hovered, read aloud, taken away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.widgets import show
from tests.browser.page import (
    SHARED,
    canvas,
    clock,
    colours,
    draws,
    exported_page,
    point,
    settle,
    view,
    wait_drawn,
)
from tests.observe.examples import killed_query, splitting_story

MAP, TIMELINE = 0, 1


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    journal = splitting_story().journal
    killed_query(journal)
    return show(journal).export(tmp_path_factory.mktemp("export") / "run.html")


@pytest.fixture
def page(browser: Any, exported: Path) -> Iterator[Any]:
    with exported_page(browser, exported, [MAP, TIMELINE], height=1000) as page:
        yield page


def test_both_views_are_drawn_and_say_what_they_are(page: Any) -> None:
    assert view(page, MAP).locator(".plab-badge").inner_text() == "■ recording"
    assert "2 active segments" in canvas(page, MAP).get_attribute("aria-label")
    assert "31 batches done, 1 replayed" in canvas(page, TIMELINE).get_attribute("aria-label")
    assert page.locator(".plab-bar:visible").count() == 1


def test_scrubbing_takes_both_views_back(page: Any) -> None:
    before = colours(page, MAP)
    page.locator(".plab-slider").first.fill("100")
    settle(page)
    assert (
        clock(page, "at - [...globalThis[Symbol.for('pravega_lab.page')].clocks.values()][0].start") == 12_000
    )
    assert "1 active segment," in canvas(page, MAP).get_attribute("aria-label")
    assert "2 batches done" in canvas(page, TIMELINE).get_attribute("aria-label")
    assert colours(page, MAP) < before
    assert view(page, MAP).locator(".plab-call").inner_text() == "view.at(12.00)"


def test_hover_names_the_segment_and_its_cause(page: Any) -> None:
    point(page, MAP, 0.3, 0.2)
    settle(page)
    tip = view(page, MAP).locator(".plab-tip")
    assert "demo/flights #6 e3" in tip.inner_text()
    assert "#2 → #5 #6: by hand (done here)" in tip.inner_text()
    # The moment is shared, so the other view draws its line there too.
    assert abs(clock(page, "hover.time") - clock(page, "start") - 41_400) < 1_000


def test_a_click_pins_and_escape_lets_go(page: Any) -> None:
    point(page, TIMELINE, 0.53, 0.4)
    box = canvas(page, TIMELINE).bounding_box()
    page.mouse.click(box["x"] + 0.395 * box["width"], box["y"] + 0.375 * box["height"])
    settle(page)
    pinned = clock(page, "pin")
    assert pinned is not None
    assert pinned["kind"] == "batch"
    page.keyboard.press("Escape")
    assert clock(page, "pin") is None


def test_keys_move_in_time_and_are_read_aloud(page: Any) -> None:
    canvas(page, MAP).focus()
    aloud = view(page, MAP).locator(".plab-aloud")
    page.keyboard.press("Home")
    assert clock(page, "at") == clock(page, "start")
    page.keyboard.press(".")
    assert clock(page, "at") - clock(page, "start") == 12_500
    settle(page)
    assert aloud.inner_text() == "12.5 s: demo/flights: 2 active segments, scaled 1 time"
    page.keyboard.press("ArrowRight")
    assert clock(page, "at") - clock(page, "start") == 13_700
    page.keyboard.press("ArrowUp")
    settle(page)
    assert aloud.inner_text().startswith("segment #1 e1, keys 0.000 to 0.5000, active")
    page.keyboard.press("End")
    assert clock(page, "at") is None
    page.keyboard.press("?")
    assert view(page, MAP).locator(".plab-help").is_visible()


def test_playing_moves_and_stops_at_the_end(page: Any) -> None:
    page.locator(".plab-slider").first.fill("950")
    page.locator(".plab-speed").first.select_option("64")
    page.locator(".plab-play").first.click()
    page.wait_for_function(f"() => ![...{SHARED}.clocks.values()][0].playing", timeout=5000)
    assert clock(page, "now") == clock(page, "newest")


def test_the_wheel_zooms_time_at_the_pointer(page: Any) -> None:
    point(page, MAP, 0.4, 0.3)
    settle(page)
    under = clock(page, "hover.time")
    page.mouse.wheel(0, -100)
    settle(page)
    start, end = clock(page, "span")
    assert end - start == pytest.approx(96_000, abs=1)
    assert start < under < end
    page.keyboard.press("0")


def test_a_key_finds_its_segments(page: Any) -> None:
    for key in ("N725MQ", "日本語", "a" * 40):
        page.locator(".plab-key").fill(key)
        settle(page)
        assert view(page, MAP).locator(".plab-call").inner_text() == f'SegmentMap(journal, key="{key}")'
    draws_before = draws(page, MAP)
    page.locator(".plab-key").fill("")
    settle(page)
    assert draws(page, MAP) > draws_before


def test_taking_the_views_away_leaves_nothing(page: Any) -> None:
    page.evaluate("() => { window.old = document.querySelector('.plab'); }")
    page.evaluate("() => globalThis.pravegaLabViews.forEach((close) => close())")
    assert page.evaluate(f"() => [{SHARED}.views, {SHARED}.clocks.size]") == [0, 0]
    assert page.locator(".plab").count() == 0
    before = page.evaluate("() => window.old.dataset.draws")
    page.evaluate(
        "() => { document.body.dataset.x = 1; const c = window.old.querySelector('canvas');"
        " c.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home' }));"
        " c.dispatchEvent(new PointerEvent('pointermove', { clientX: 300, clientY: 200 })); }"
    )
    settle(page)
    assert page.evaluate("() => window.old.dataset.draws") == before


def test_nothing_sticks_out_of_a_narrow_pane(browser: Any, exported: Path) -> None:
    context = browser.new_context(viewport={"width": 450, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(exported.as_uri())
    wait_drawn(page, MAP)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 450
    context.close()


def test_without_javascript_there_are_pictures(browser: Any, exported: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(exported.as_uri())
    assert page.locator("svg[role=img]").count() == 2
    box = page.locator("svg[role=img]").first.bounding_box()
    assert box["width"] > 600
    context.close()


def test_dark_pages_are_dark(browser: Any, exported: Path) -> None:
    context = browser.new_context(color_scheme="dark", offline=True)
    page = context.new_page()
    page.goto(exported.as_uri())
    wait_drawn(page, MAP)
    assert view(page, MAP).get_attribute("data-theme") == "dark"
    ground = page.evaluate(
        "() => [...document.querySelector('.plab-canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
    )
    assert max(ground[:3]) < 40
    context.close()

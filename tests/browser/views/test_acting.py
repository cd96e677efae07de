"""In JupyterLab: the clock moved from Python and by hand, and controls that act on a running lab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import run_all
from tests.browser.page import SHARED, WAIT_MS, Errors, clock, settle, view, wait_drawn
from tests.browser.test_lab import last_output, run_cell

SETUP = """
from pravega_lab import Lab, ScalingPolicy
lab = Lab()
stream = lab.create_stream("demo/acts", scaling=ScalingPolicy.fixed(2))
ledger = lab.ledger(stream)
writer = lab.writer(stream, rate=200, keys=20, ledger=ledger)
board = lab.show(stream, ledger)
board
"""
CONTROLS = """
controls = lab.controls(board)
controls
"""
MAP, LEDGER = 0, 1
AT = f"() => [...{SHARED}.clocks.values()][0].at"


@pytest.fixture(scope="module")
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("acting", SETUP, CONTROLS, size=(1400, 2200), errors=errors) as page:
        run_all(page)
        wait_drawn(page, MAP, 5)
        wait_history(page, 2)  # a clock goes no further than the newest observation
        yield page
        run_cell(page, "controls.close(); board.close(); lab.close(); print('closed')")
        page.get_by_text("closed", exact=True).wait_for(timeout=4 * WAIT_MS)


def seconds(page: Any) -> float:
    at = page.evaluate(AT)
    return (float(at) - float(clock(page, "start"))) / 1000


def wait_at(page: Any, condition: str) -> None:
    page.wait_for_function(f"() => {{ const at = ({AT})(); return {condition}; }}", timeout=WAIT_MS)


def wait_history(page: Any, least_s: float) -> None:
    told = f"([...{SHARED}.clocks.values()].map((clock) => clock.newest - clock.start)[0])"
    page.wait_for_function(f"() => {told} > {1000 * least_s}", timeout=WAIT_MS)


def test_python_moves_the_clock_of_the_page(page: Any) -> None:
    run_cell(page, "board.clock.seek(1.5)")
    wait_at(page, "at !== null")
    assert seconds(page) == pytest.approx(1.5, abs=0.01)
    before = page.evaluate(AT)
    run_cell(page, "board.clock.step(2); print(board.clock.at_s > 1.5)")
    assert last_output(page).strip() == "True"
    wait_at(page, f"at > {before}")
    run_cell(page, "board.clock.follow()")
    wait_at(page, "at === null")


def test_the_page_moves_the_clock_of_python(page: Any) -> None:
    view(page, MAP).locator(".plab-play").click()  # pause
    wait_at(page, "at !== null")
    page.wait_for_timeout(500)
    run_cell(page, "print(round(board.clock.at_s, 2), board.clock.playing)")
    told, playing = last_output(page).split()
    assert float(told) == pytest.approx(seconds(page), abs=0.02)
    assert playing == "False"
    view(page, MAP).locator(".plab-newest").click()
    wait_at(page, "at === null")


def test_a_button_splits_the_segment(page: Any) -> None:
    row = page.locator(".jp-OutputArea-output .widget-hbox").filter(has_text="split this segment").first
    row.wait_for(timeout=WAIT_MS)
    assert 'lab.stream("demo/acts").split(0, 2)' in row.inner_text()
    row.get_by_role("button", name="split this segment").click()
    page.wait_for_function(
        "(n) => document.querySelectorAll('.plab-canvas')[n].getAttribute('aria-label').includes('3 active')",
        arg=MAP,
        timeout=2 * WAIT_MS,
    )
    assert "now #2 e1, #3 e1" in row.inner_text()
    run_cell(
        page, "print([o.cause_kind for o in board.views[0].journal.since() if o.kind == 'stream_scaled'])"
    )
    assert last_output(page).strip() == "['done here']"


def test_a_control_that_cannot_act_is_greyed_and_says_why(page: Any) -> None:
    row = page.locator(".jp-OutputArea-output .widget-hbox").filter(has_text="kill this reader").first
    button = row.get_by_role("button", name="kill this reader")
    assert button.is_disabled()
    assert "there is nothing to do it to" in row.inner_text()


def test_the_ledger_becomes_exact_when_all_is_read(page: Any) -> None:
    verdict = view(page, LEDGER).locator(".plab-verdict")
    assert verdict.get_attribute("data-verdict") == "open"
    run_cell(page, "writer.close(); print(ledger.count(stream) == writer.events)")
    assert last_output(page).strip() == "True"
    page.wait_for_function(
        "() => document.querySelector('.plab-verdict').textContent === '✓ exact'", timeout=WAIT_MS
    )
    settle(page)
    assert verdict.get_attribute("data-verdict") == "exact"


def test_the_number_shown_is_the_journals(page: Any) -> None:
    run_cell(page, "lab.observe(stream).close(); print(board.views[0].journal.next_seq - 1)")
    newest = last_output(page).strip()
    page.wait_for_function(
        "([n, newest]) => document.querySelectorAll('.plab')[n].dataset.seq === newest",
        arg=[MAP, newest],
        timeout=WAIT_MS,
    )


def test_the_console_stayed_clean(errors: Errors) -> None:
    assert [e for e in errors if "favicon" not in e] == []


def test_each_field_has_a_name_of_its_own(page: Any) -> None:
    row = page.locator(".widget-vbox .widget-hbox").filter(
        has=page.get_by_role("button", name="split this segment")
    )
    assert row.get_by_role("spinbutton", name="parts: split this segment", exact=True).count() == 1
    assert row.get_by_role("combobox", name="what to act on: split this segment", exact=True).count() == 1
    assert page.get_by_role("spinbutton", name="null").count() == 0

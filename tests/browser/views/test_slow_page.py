"""A page that is slow to load the module of a view still receives what the kernel sends to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import run_all
from tests.browser.page import WAIT_MS, Errors, last_output, run_cell, wait_drawn

CELL = (
    "from tests.observe.examples import Story\n"
    "from pravega_lab.widgets import SegmentMap\n"
    "story = Story(live=True, stream='demo/slow')\nstory.begin(2)\nlive = SegmentMap(story.journal)\nlive"
)
PANEL = "from pravega_lab import Lab\nlab = Lab()\nlab"
MEASURE = "for _ in range(5): story.measure(lambda low, high: 100.0)\nprint(story.journal.next_seq - 1)"
# anywidget gives a module two seconds to load. Here it has given up before the module is there.
IMPATIENT = """() => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => (ms === 2000 ? AbortSignal.abort() : timeout(ms));
  const listen = AbortSignal.prototype.addEventListener;
  AbortSignal.prototype.addEventListener = function (type, listener, ...rest) {
    if (this.aborted && type === "abort") queueMicrotask(listener);
    else listen.call(this, type, listener, ...rest);
  };
}"""
GIVEN_UP = "[anywidget] Failed to initialize model."


@pytest.fixture
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("slow", CELL, PANEL, size=(1400, 900), errors=errors, script=IMPATIENT) as page:
        run_all(page)
        yield page


def test_a_view_is_drawn_and_updated_although_its_module_came_late(page: Any, errors: Errors) -> None:
    wait_drawn(page, 0)
    run_cell(page, MEASURE)
    page.wait_for_function(
        "(seq) => document.querySelector('.plab').dataset.seq === seq",
        arg=last_output(page).strip(),
        timeout=4 * WAIT_MS,
    )
    page.wait_for_selector(".plab-lab[data-seq]", timeout=WAIT_MS)  # the panel of the lab, too
    run_cell(page, "lab.close()\nprint('closed')")
    page.get_by_text("closed", exact=True).wait_for(timeout=WAIT_MS)
    assert any(GIVEN_UP in error for error in errors), "anywidget waited, or has another limit"

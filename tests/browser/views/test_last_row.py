"""Rows carry seconds in 32 bits, which may lie above the moment: the end shows the last row all the same."""

from __future__ import annotations

from pathlib import Path
from struct import pack, unpack
from typing import Any

import pytest

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.widgets import show
from tests.browser.page import view, wait_painted
from tests.observe.examples import START_MS
from tests.observe.ledger.examples import Steps

ENDS_MS = (123, 2_933, 3_645_001)


@pytest.mark.parametrize("end_ms", ENDS_MS)
def test_the_verdict_in_the_end_is_the_last_one(browser: Any, tmp_path: Path, end_ms: int) -> None:
    while unpack("<f", pack("<f", end_ms / 1000))[0] <= end_ms / 1000:
        end_ms += 1
    journal, clock = Journal("demo/flights", live=False), Steps()
    ledger = Ledger(journal, name="flights", now_ms=clock)
    ledger.written(range(20), ["N1"] * 20, where="w1")
    ledger.verdict()
    clock.now_ms = START_MS + end_ms
    ledger.read([*range(20), 19], where="r1")
    assert ledger.verdict().sentence == "1 doubled"
    page = browser.new_context(offline=True).new_page()
    page.goto(show(ledger).export(tmp_path / "run.html").as_uri())
    wait_painted(page, 0)
    verdict = view(page, 0).locator(".plab-verdict")
    verdict.filter(has_text="1 doubled").wait_for(timeout=10_000)
    page.context.close()

"""The clock of a page from Python: where it goes, what it says to the page, what the page says to it."""

from __future__ import annotations

from typing import Any

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.widgets import Board, SegmentMap, show
from tests.observe.examples import START_MS, Story, killed_query, splitting_story


@pytest.fixture
def board() -> Board:
    journal = splitting_story().journal
    killed_query(journal)
    return show(journal)


@pytest.fixture
def said(board: Board, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What goes to the page."""
    heard: list[dict[str, Any]] = []
    for view in board.views:
        monkeypatch.setattr(view, "send", lambda content, buffers=None: heard.append(content))
    return heard


def test_it_follows_until_it_is_moved(board: Board) -> None:
    clock = board.clock
    assert (clock.at_s, clock.now_s, clock.end_s) == (None, 120.0, 120.0)
    clock.seek(12)
    assert (clock.at_s, clock.now_s) == (12.0, 12.0)
    clock.seek(500)
    assert clock.at_s == 120.0
    clock.follow()
    assert clock.at_s is None
    clock.pause()
    assert clock.at_s == 120.0
    assert {id(view.clock) for view in board.views} == {id(clock)}


def test_a_step_is_an_observation(board: Board) -> None:
    clock = board.clock
    times = sorted({o.time_ms for o in board.views[0].journal.since()})
    clock.seek(0)
    clock.step()
    assert clock.at_s == (times[1] - START_MS) / 1000
    clock.step(3)
    assert clock.at_s == (times[4] - START_MS) / 1000
    clock.step(-1)
    assert clock.at_s == (times[3] - START_MS) / 1000
    clock.seek(0.1)
    clock.step(-1)
    assert clock.at_s == 0
    clock.step(-1)
    assert clock.at_s == 0


def test_it_jumps_to_splits_and_failures(board: Board) -> None:
    clock = board.clock
    clock.seek(0)
    assert [clock.next("split").text for _ in range(2)] == [  # type: ignore[union-attr]
        "#0 → #1 #2: 246/s > 2 × 100/s", "#1 → #3 #4: 262/s > 2 × 100/s",
    ]  # fmt: skip
    found = clock.next("failure")
    assert found is not None
    assert (found.text, clock.at_s) == ("query delays killed", 45.1)
    assert clock.next("checkpoint") is None
    assert clock.at_s == 45.1
    back = clock.previous()
    assert back is not None
    assert back.text == "#2 → #5 #6: by hand"
    assert list(clock.moments()["kind"]) == ["split"] * 3 + ["failure", "merge", "merge"]
    with pytest.raises(BadInputError, match="no moments of kind 'splits'"):
        clock.next("splits")


def test_playing_moves_by_itself(board: Board) -> None:
    clock = board.clock
    clock.play(1_000_000)
    while clock.at_s != 120.0:
        pass
    assert clock.playing
    clock.pause()
    assert not clock.playing
    with pytest.raises(BadInputError, match="above 0"):
        clock.play(0)


def test_the_page_is_told_and_tells(board: Board, said: list[dict[str, Any]]) -> None:
    clock = board.clock
    clock.seek(12)
    assert said[-1] == {"kind": "clock", "playing": False, "speed": 1.0, "at_ms": START_MS + 12_000.0}
    clock.play(4)
    assert said[-1] == {"kind": "clock", "playing": True, "speed": 4.0, "at_ms": START_MS + 12_000.0}
    n = len(said)
    pin = {"kind": "segment", "index": 2}
    board.views[0].heard({"kind": "clock", "at_ms": START_MS + 30_500, "playing": False, "pin": pin})
    assert (clock.at_s, clock.pinned, len(said)) == (30.5, pin, n)


def test_a_page_that_opens_later_is_told_too(board: Board, said: list[dict[str, Any]]) -> None:
    board.clock.seek(7)
    said.clear()
    board.views[0].heard({"kind": "hello", "page": "p"})
    assert any(content.get("at_ms") == START_MS + 7_000.0 for content in said)
    board.close()


def test_a_live_journal_can_be_paused_and_followed() -> None:
    story = Story(live=True)
    story.begin(1)
    view = SegmentMap(story.journal)
    for _ in range(4):
        story.measure(lambda low, high: 10.0)
    view.clock.pause()
    story.measure(lambda low, high: 10.0)
    assert (view.clock.at_s, view.clock.end_s, view.clock.live) == (2.0, 2.5, True)
    view.clock.follow()
    assert view.clock.now_s == 2.5


def test_there_is_nothing_to_move_in_an_empty_journal() -> None:
    with pytest.raises(BadInputError, match="the journal is empty"):
        SegmentMap(Journal("x")).clock.seek(1)


def test_faults_of_a_ledger_are_failures() -> None:
    story = splitting_story()
    ledger = Ledger(story.journal, now_ms=lambda: START_MS + 33_000)
    ledger.fault("cable pulled")
    found = show(story.journal).clock.previous("failure")
    assert found is not None
    assert found.text == "cable pulled"

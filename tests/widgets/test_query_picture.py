"""The static picture of a query: a row per batch while there is room, and bars when there are too many."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.widgets import QueryTimeline
from pravega_lab.widgets.query_timeline.picture import BOTTOM, COLUMN, LEFT, RIGHT, ROWS_MAX, TOP
from tests.observe.examples import QueryStory

SVG = "{http://www.w3.org/2000/svg}"
SLOW = 7


def pictured(batches: int, *, killed: bool = False) -> tuple[str, list[tuple[str, ElementTree.Element]]]:
    """Draw batches of 2 s, and of 10 s the one with the number `SLOW`; return the picture and its boxes."""
    journal = Journal("a query")
    story = QueryStory(journal)
    story.start()
    for n in range(batches):
        story.batch((60, 30, 9_900 if n == SLOW else 1_900, 10), 400, 40_000)
    if killed:
        story.killed_in_batch(700)
        story.now_ms += 3_000
        story.start()
        story.batch((60, 0, 1_900, 10), 400, 40_000, replayed=True)
    picture = QueryTimeline(journal).picture()[1]
    assert isinstance(picture, str)
    boxes = [(t.text or "", box) for box in ElementTree.fromstring(picture).iter(f"{SVG}rect") for t in box]
    return picture, [(title, box) for title, box in boxes if title.startswith("batch ")]


def test_while_there_is_room_each_batch_has_a_row() -> None:
    picture, boxes = pictured(ROWS_MAX)
    assert len(boxes) == ROWS_MAX
    assert len({box.get("y") for _, box in boxes}) == ROWS_MAX
    assert "drawn" not in picture


def test_when_there_are_too_many_each_is_a_bar_as_high_as_it_took_long() -> None:
    picture, boxes = pictured(ROWS_MAX + 1)
    height = {title: float(box.get("height", "0")) for title, box in boxes}
    assert len(boxes) == ROWS_MAX + 1
    assert height[f"batch {SLOW}: done, 10 s"] == BOTTOM - TOP
    assert height["batch 0: done, 2 s"] == pytest.approx((BOTTOM - TOP) / 5, abs=0.01)
    assert "drawn" not in picture


def test_of_very_many_the_longest_of_each_column_is_drawn() -> None:
    picture, boxes = pictured(5_000, killed=True)
    assert len(boxes) <= (RIGHT - LEFT) / COLUMN + 1
    assert f"the longest {len(boxes):,} of 5,002 attempts drawn" in picture
    assert boxes[0][0] == f"batch {SLOW}: done, 10 s"
    rights = [float(box.get("x", "0")) + float(box.get("width", "0")) for _, box in boxes]
    lefts = [float(box.get("x", "0")) for _, box in boxes]
    assert all(left - right < 1 for right, left in zip(rights, lefts[1:], strict=False)), "no gaps"
    assert "batch 5000 ×2, replayed: done" in picture  # the newest is described
    assert len(picture) < 80_000

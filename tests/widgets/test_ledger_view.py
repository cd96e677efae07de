"""The ledger's view without a browser: what it sends, shows and says."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.widgets import Board, LedgerView, show
from pravega_lab.widgets.ledger.view import COUNT, NOT_KNOWN, NUMBERS
from pravega_lab.widgets.svg.palette import STYLE
from tests.observe.examples import splitting_story
from tests.observe.ledger.examples import judged_run
from tests.widgets.typescript import typescript_of


def test_the_frame_has_before_now_and_difference() -> None:
    frame = LedgerView(judged_run()).frame
    assert list(frame.loc["doubled"][["before_the_fault", "now", "difference"]]) == [0, 37, 37]
    assert list(frame.loc["written"][["before_the_fault", "now", "difference"]]) == [3050, 6000, 2950]
    assert frame.loc["committed", ["before_the_fault", "now", "difference"]].isna().all()
    assert list(frame["witness"])[:4] == [
        "our writer's journal", "our writer's journal", "our readers' journal", "nobody",
    ]  # fmt: skip


def test_the_frame_of_a_moment_and_the_faults() -> None:
    view = LedgerView(judged_run())
    assert view.at(20.0).loc["doubled", "now"] == 0
    assert view.at(20.0)["before_the_fault"].isna().all()
    assert view.faults.to_dict("records") == [
        {"t_s": 30.5, "fault": "reader r1 killed", "effect": "37 doubled"}
    ]


def test_it_says_its_sentence_first() -> None:
    assert repr(LedgerView(judged_run())) == "LedgerView('flights', 37 doubled, recording)"
    assert repr(LedgerView(judged_run(doubled=0))) == "LedgerView('flights', exact, recording)"
    assert repr(LedgerView(Journal("x", live=False))) == "LedgerView(None, nothing counted yet, recording)"


@pytest.mark.parametrize("doubled", [0, 37])
def test_the_picture_is_well_formed_and_the_same_each_time(doubled: int) -> None:
    mime, picture = LedgerView(judged_run(doubled=doubled)).picture()
    assert (mime, picture) == LedgerView(judged_run(doubled=doubled)).picture()
    assert isinstance(picture, str)
    root = ElementTree.fromstring(picture)
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert ("✓ exact" in words) == (doubled == 0)
    assert ("✗ 37 doubled" in words) == (doubled == 37)
    assert ("#007a56" in picture.replace(STYLE, "")) == (doubled == 0)  # green only when it is exact
    assert LedgerView(judged_run()).figure().layout.title.text.endswith("37 doubled")
    long = judged_run().journal
    long.tick((long.start_ms or 0) + 90_000_000)
    assert "12 h" in LedgerView(long).figure().layout.xaxis.ticktext


def test_a_ledger_of_nothing_has_a_picture_too() -> None:
    view = LedgerView(Journal("a run to be"))
    picture = view.picture()[1]
    assert isinstance(picture, str)
    assert "? nothing counted yet" in picture
    assert view.frame["now"].isna().all()
    assert view.snapshot().facts["empty"][0].startswith("Nothing counted yet")
    assert view.figure().layout.title.text.endswith("nothing counted yet")


def test_it_is_never_green_while_anything_is_unknown() -> None:
    ledger = Ledger(Journal("x", live=False))
    ledger.written([1, 2])
    ledger.read([1])
    assert ledger.verdict().unknown == 1
    picture = LedgerView(ledger).picture()[1]
    assert isinstance(picture, str)
    assert "? 1 not yet known" in picture
    assert "#007a56" not in picture.replace(STYLE, "")


def test_what_it_sends_is_what_was_counted() -> None:
    ledger = judged_run()
    view = LedgerView(ledger)
    payload = view.snapshot()
    rows = list(COUNT.iter_unpack(payload.tables["counts"]))
    newest = dict(zip(NUMBERS, rows[-1][1:], strict=True))
    assert (newest["written"], newest["doubled"], newest["committed"]) == (6000, 37, NOT_KNOWN)
    (fault,) = payload.grown["faults"]
    assert fault[:3] == [30.5, "reader r1 killed", "done here"]
    assert dict(zip(NUMBERS, rows[fault[3]][1:], strict=True))["doubled"] == 0  # the counts before it
    assert len(payload.grown["offences"]) == 20
    assert payload.grown["offences"][0][:5] == [30.5, "doubled", "read", "2863", "N0"]
    ledger.journal.live = True
    ledger.fault("another")
    change = view._produce(False)
    assert change is not None
    assert [f[1] for f in change.grown["faults"]] == ["another"]
    assert len(change.tables["counts"]) == COUNT.size


def test_the_format_agrees_with_the_javascript() -> None:
    (fields,) = re.findall(r'format:\s*"([^"]+)"', typescript_of("ledger"))
    assert fields.split() == ["t:f", *(f"{name}:u" for name in NUMBERS)]


def names(board: Board) -> list[str]:
    return [type(view).__name__ for view in board.views]


def test_show_makes_a_ledger_of_a_ledger(tmp_path: Path) -> None:
    journal = splitting_story().journal
    ledger = judged_run(journal)
    assert names(show(ledger)) == ["LedgerView"]
    assert names(show(journal)) == ["SegmentMap", "LedgerView"]
    assert names(show(judged_run().journal)) == ["LedgerView"]
    board = show(journal)
    assert [view.tells_steps for view in board.views] == [True, False]
    assert "37 doubled" in board.export(tmp_path / "run.html").read_text()

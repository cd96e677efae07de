"""The runs of tutorials 07 and 08: what each way of reading keeps, and what became of what it did not."""

from __future__ import annotations

import re
from functools import cache

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.copying.copy_job import ONE_EVENT, Copying, Story, copied
from pravega_lab.tutorials.copying.pictures import owners_picture, recovery_picture
from pravega_lab.widgets.drawings.cut_picture import CutLine, CutPicture

pytestmark = pytest.mark.slow

STORY = Story(acts=((2.5, "split 0"), (4.5, "split 1"), (5.7, "fail 0"), (6.3, "merge 2 3")))
SEED = 5
KEPT_BY = {"a": "master hook", "b2": "enumerator", "b3": "enumerator"}
ALL = ("a", "b1", "b2", "b3", "c", "d")


@cache
def run(way: str) -> Copying:
    return copied(way, STORY, SEED)


@pytest.mark.parametrize("way", ALL)
def test_what_lies_between_barrier_and_reading_on_is_lost_or_doubled(way: str) -> None:
    """Three witnesses: positions of what was read, the barriers, and the copy."""
    lines = run(way).cut().lines
    assert [line.segment for line in lines] == ["#0 e0", "#1 e0", "#2 e1", "#3 e1", "#4 e2", "#5 e2"]
    assert sum(line.barrier for line in lines) > 100
    for line in lines:
        assert line.doubled == max(0, line.barrier - line.read_on), line
        assert line.lost == max(0, line.read_on - line.barrier), line
    numbers = run(way).numbers
    assert sum(line.lost for line in lines) == numbers["lost"]
    assert sum(line.doubled for line in lines) == numbers["doubled"]


@pytest.mark.parametrize("way", ["a", "b2", "b3", "c", "d"])
def test_a_job_reads_on_where_its_checkpoint_says(way: str) -> None:
    for line in run(way).cut().lines:
        if line.kept:
            [(_, at)] = line.kept
            assert at == line.read_on


@pytest.mark.parametrize("way", ["a", "b3", "c"])
def test_nothing_is_wrong(way: str) -> None:
    assert run(way).numbers == {"lost": 0, "doubled": 0, "out of order": 0}
    assert run(way).disorder().empty


def test_the_others_fail_each_in_its_way() -> None:
    wrong = {way: {what for what, n in run(way).numbers.items() if n} for way in ("b1", "b2", "d")}
    assert wrong == {"b1": {"lost"}, "b2": {"doubled"}, "d": {"out of order"}}


def test_the_places_of_the_first_event_out_of_order_are_those_of_the_stream() -> None:
    found = run("d").disorder()
    assert len(found) == run("d").numbers["out of order"]
    first = found.iloc[0]
    assert first["event"] < first["came after"]
    names = {f"#{s.segment_id & 0xFFFFFFFF} e{s.segment_id >> 32}": e for s, e in run("d").stored.items()}
    for where, number in ((first["from"], first["event"]), (first["which is from"], first["came after"])):
        segment, _, offset = where.partition(" offset ")
        assert (int(offset.replace(",", "")), number) in names[segment]


@pytest.mark.parametrize("way", ALL)
def test_who_keeps_the_positions(way: str) -> None:
    """In the checkpoint it went back to: one for all, or those who read."""
    keepers = set(run(way).kept()["kept by"])
    assert keepers == ({KEPT_BY[way]} if way in KEPT_BY else {"task 0", "task 1"})


@pytest.mark.parametrize("way", ["a", "b2", "b3"])
def test_a_group_keeps_a_cut_of_all_keys(way: str) -> None:
    positions = run(way).stream_cut(1).positions
    assert set(positions) == {0, 1}
    assert all(at % ONE_EVENT == 0 for at in positions.values())


@pytest.mark.parametrize("way", ["b1", "c", "d"])
def test_others_keep_none(way: str) -> None:
    with pytest.raises(BadInputError, match="keeps no stream cut"):
        run(way).stream_cut()


def test_equal_runs_are_equal() -> None:
    again = copied("b2", STORY, SEED)
    assert again.cut().svg == run("b2").cut().svg
    assert [str(o) for o in again.job.since()] == [str(o) for o in run("b2").job.since()]


@pytest.mark.parametrize(
    ("way", "acts", "says"),
    [
        ("e", (), "'a', 'b1'"),
        ("d", ((0.5, "split 7"),), "there are 0, 1"),
        ("d", ((0.5, "fail 2"),), "there are 0, 1"),
        ("d", ((0.5, "merge two"),), "names what is not there"),
        ("d", ((0.5, "shift 0"),), "split 0, merge 2 3 or fail 1"),
    ],
)
def test_a_story_that_cannot_be(way: str, acts: tuple[tuple[float, str], ...], says: str) -> None:
    with pytest.raises(BadInputError, match=says):
        copied(way, Story(acts=acts, events=40), 1)


def test_without_a_failure_there_is_no_cut_to_show() -> None:
    with pytest.raises(BadInputError, match="never went back"):
        copied("d", Story(acts=(), events=40), 1).cut()


def test_the_picture_says_what_it_shows() -> None:
    lines = [
        CutLine("#0 e0", 20, 12, (("task 1", 12),), 15, 3, 0),
        CutLine("#1 e0", 10, 8, (), 5, 0, 3),
    ]
    picture = CutPicture("(x) <a way>", "checkpoint 2", lines)
    svg = picture.svg
    assert "(x) &lt;a way&gt;" in svg
    assert "#0 e0: barrier 12, kept 12 (task 1), resumed at 15 of 20: 3 lost" in svg
    assert "#1 e0: barrier 8, kept in no state, resumed at 5 of 10: 3 doubled" in repr(picture)
    assert ">in no state<" in svg
    assert list(picture.frame["lost"]) == [3, 0]


def test_the_group_of_the_legacy_reader_is_reset_before_new_readers_are_deployed() -> None:
    legacy = str(recovery_picture(run("a"))).splitlines()
    order = [
        next(n for n, line in enumerate(legacy) if what in line)
        for what in ("reset ends", "deploys", "joins")
    ]
    assert order == sorted(order)
    assert sum("deploys" in line for line in legacy) == 1
    induced = str(recovery_picture(run("b3"))).splitlines()
    deploys = [n for n, line in enumerate(induced) if "deploys" in line]
    resets = [n for n, line in enumerate(induced) if "reset begins" in line]
    assert len(deploys) == 2
    assert deploys[-1] < resets[0]


def test_a_segment_changes_hands_between_the_barrier_and_the_failure() -> None:
    words = str(owners_picture(run("b1"), until_s=9)).splitlines()
    moments = dict(re.findall(r"(barrier 2|failure) at ([\d.]+)", words[-2]))
    [begins] = re.findall(r"^#4 e2: no reader from ([\d.]+)", "\n".join(words), re.MULTILINE)
    assert float(moments["barrier 2"]) < float(begins) < float(moments["failure"])

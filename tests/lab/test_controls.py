"""Controls do what their text says, to the store and to what the lab runs, and say why they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape

import pytest

from pravega_lab import Lab, ScalingPolicy
from pravega_lab.client.reader_group import reading
from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.observations import StreamScaled
from pravega_lab.observe.ledger.observations import Acted
from pravega_lab.widgets import SegmentMap, show
from pravega_lab.widgets.live.controls import Controls
from tests.observe.examples import splitting_story
from tests.waiting import wait_until

STREAM, GROUP = "acts/s", "acts/g"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab() as made:
        stream = made.create_stream(STREAM, scaling=ScalingPolicy.by_event_rate(1_000_000_000, 2, 2))
        stream.update(scaling=ScalingPolicy.by_event_rate(1_000_000_000, 2, 1))  # any number, by hand
        made.client.create_reader_group(GROUP, reading([STREAM], group_refresh_time_ms=200))
        yield made


@pytest.fixture
def controls(lab: Lab) -> Iterator[Controls]:
    group = lab.client.reader_group(GROUP)
    board = lab.show(lab.stream(STREAM), group)
    made = lab.controls(board)
    yield made
    made.close()
    board.close()
    lab._workloads.close()


def test_each_field_has_a_description(controls: Controls) -> None:
    row = controls.rows["split this segment"]
    assert row.choice.description == "what to act on: split this segment"
    assert row.number.description == "parts: split this segment"


@pytest.mark.slow
def test_split_and_merge_here(lab: Lab, controls: Controls) -> None:
    stream = lab.stream(STREAM)
    watch = lab.observe(stream)
    watch.look()
    first = stream.segments()[0]
    row = controls.rows["split this segment"]
    label = f"#{first.segment_id & 0xFFFFFFFF} e{first.segment_id >> 32}"
    assert f'lab.stream("acts/s").split({first.segment_id}, 2)' in unescape(row.words.value)
    said = controls.do("split this segment", f"{STREAM} {label}", 3)
    assert said.startswith("now #")
    assert len(stream.segments()) == 4
    pair = controls.rows["merge with its neighbour"].act.targets()[1]  # type: ignore[misc]
    assert controls.do("merge with its neighbour", pair).startswith("now #")
    assert len(stream.segments()) == 3
    watch.look()
    scaled = [o for o in watch.since() if isinstance(o, StreamScaled)]
    assert [o.cause_kind for o in scaled] == ["done here", "done here"]


def test_the_call_in_the_text_is_the_call(lab: Lab, controls: Controls) -> None:
    row = controls.rows["split this segment"]
    row.refresh(None)
    before = len(lab.stream(STREAM).segments())
    eval(row.act.call(row.target, 2), {"lab": lab})
    assert len(lab.stream(STREAM).segments()) == before + 1


def test_a_pinned_segment_is_chosen(lab: Lab, controls: Controls) -> None:
    last = lab.stream(STREAM).segments()[-1]
    label = f"#{last.segment_id & 0xFFFFFFFF} e{last.segment_id >> 32}"
    assert controls.clock is not None
    pin = {"kind": "segment", "stream": STREAM, "key": f"{STREAM}/{label}"}
    controls.clock.said({"at_ms": None, "pin": pin})
    controls.refresh()
    assert controls.rows["split this segment"].target == f"{STREAM} {label}"
    assert label in controls.rows["merge with its neighbour"].target


def test_readers_come_and_die(lab: Lab, controls: Controls) -> None:
    group = lab.client.reader_group(GROUP)
    assert controls.do("kill this reader") == "there is nothing to do it to"
    assert controls.do("add a reader") == "r1 reads"
    assert controls.do("add a reader") == "r2 reads"
    assert group.online_readers() == ["r1", "r2"]
    assert controls.do("kill this reader", "r1") == "r1 is dead; its group does not know"
    assert group.online_readers() == ["r1", "r2"]
    assert controls.rows["kill this reader"].act.targets() == ["r2"]  # type: ignore[misc]
    assert controls.rows["declare it offline"].act.targets() == ["r1"]  # type: ignore[misc]
    assert controls.do("declare it offline", "r1") == "others take its segments"
    assert controls.rows["declare it offline"].act.targets() == []  # type: ignore[misc]
    assert group.online_readers() == ["r2"]
    said = controls.do("start a checkpoint")
    assert said.endswith("it waits for r2")
    wait_until(lambda: (group.last_checkpoint_cuts() or {}).get(STREAM) is not None)
    watch = lab.observe(group)
    acted = [o.text for o in watch.since() if isinstance(o, Acted)]
    assert acted[:4] == [
        "reader r1 started",
        "reader r2 started",
        "reader r1 killed",
        "reader r1 declared offline",
    ]


def test_a_rate_and_a_cut(lab: Lab, controls: Controls) -> None:
    writer = lab.writer(lab.stream(STREAM), "w", rate=50)
    wait_until(lambda: writer.connections > 0)
    assert controls.do("change the rate", "w", 200) == "w writes 200 events/s"
    assert writer.rate == 200
    assert controls.do("cut its connections", "w").endswith("connections cut")
    before = writer.events
    wait_until(lambda: writer.events > before + 20)
    assert 'lab.writers["w"].rate = 200' in unescape(controls.rows["change the rate"].words.value)


def test_buttons_of_a_closed_lab_say_so() -> None:
    with Lab() as lab:
        board = lab.show(lab.create_stream(STREAM))
        controls = lab.controls(board)
    controls.refresh()
    assert {row.reason for row in controls.rows.values()} == {"this lab was closed: Lab() makes another one"}
    board.close()


@pytest.mark.slow
def test_a_fork_from_the_clocks_moment(lab: Lab, controls: Controls) -> None:
    stream, group = lab.stream(STREAM), lab.client.reader_group(GROUP)
    controls.do("add a reader")
    controls.do("start a checkpoint")
    wait_until(lambda: (group.last_checkpoint_cuts() or {}).get(STREAM) is not None)
    lab.observe(group).look()
    stream.write([f"{k}" for k in range(40)], [f"k{k % 5}" for k in range(40)])
    lab.observe(stream).look()
    said = controls.do("fork from here")
    assert said.startswith("Fork(acts/s from checkpoint by-hand")
    assert lab._forks[-1].stream.exists()


def test_a_name_or_a_target_that_is_not_there_lists_those_that_are(controls: Controls) -> None:
    with pytest.raises(
        BadInputError, match=r"no control 'split'. There are 'split this segment', 'merge with"
    ):
        controls.do("split")
    with pytest.raises(BadInputError, match=rf"'{STREAM}' is not among the choices. There are '{STREAM} #"):
        controls.do("split this segment", STREAM)
    with pytest.raises(BadInputError, match=r"'r9' is not among the choices. There is none"):
        controls.do("kill this reader", "r9")


def test_on_a_recording_nothing_acts_and_says_why(lab: Lab) -> None:
    lab.observe(lab.stream(STREAM))  # so that there are segments to act on
    made = lab.controls(show(SegmentMap(splitting_story().journal)))
    for name, row in made.rows.items():
        if name != "fork from here":
            assert row.button.disabled
            assert row.reason in ("this is a recording: nothing runs here", "there is nothing to do it to")
    assert made.do("split this segment") == "this is a recording: nothing runs here"
    assert made.do("fork from here").startswith("not done: fork: the journal tells of demo/flights")
    made.close()


def test_what_was_only_joined_is_left_alone(lab: Lab) -> None:
    with Lab(uri=lab.uri) as joined:
        board = joined.show(joined.stream(STREAM))
        joined.observe(joined.stream(STREAM)).look()
        made = joined.controls(board)
        assert "only joined" in made.do("split this segment")
        allowed = joined.controls(board, allow_joined=True)
        assert allowed.do("split this segment").startswith("now #")
        made.close()
        allowed.close()
        board.close()


def test_what_goes_wrong_is_said(lab: Lab, controls: Controls) -> None:
    row = controls.rows["split this segment"]
    row.refresh(None)
    target = row.target
    controls.do("split this segment", target)
    with row.lock:
        row.choice.options = [target]
        row.choice.value = target
        row.click()
    row.refresh(None)  # what is chosen next does not change what was clicked
    assert row.wait() == f"not done: {target}: not active any more"
    assert not row.busy

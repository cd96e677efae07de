"""Writers and readers that the lab runs: judged by a ledger through cut connections, kills and scaling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from pravega_lab import Lab, ScalingPolicy
from pravega_lab.client import Stream
from pravega_lab.client.reader_group import ReaderExistsError, ReaderGroup, reading
from pravega_lab.errors import BadInputError
from pravega_lab.lab.proxied_client import ProxiedClient
from pravega_lab.observe.ledger.fold import fold_ledger
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.observe.ledger.numbered import count_by_key
from pravega_lab.observe.ledger.observations import Acted
from tests.waiting import wait_until

numbers = count()


@pytest.fixture
def stream(lab: Lab) -> Stream:
    return lab.create_stream(f"run/s{next(numbers)}", scaling=ScalingPolicy.fixed(2))


@pytest.fixture
def group(lab: Lab, stream: Stream) -> ReaderGroup:
    config = reading([stream.scoped_name], automatic_checkpoint_interval_ms=500, group_refresh_time_ms=200)
    return lab.client.create_reader_group(f"run/g{next(numbers)}", config)


@pytest.fixture(autouse=True)
def ended(lab: Lab) -> Iterator[None]:
    yield
    lab._workloads.close()


def all_read(ledger: Ledger) -> Callable[[], bool]:
    return lambda: ledger.verdict().unknown == 0


@pytest.mark.slow
def test_a_writer_and_readers_are_exact(lab: Lab, stream: Stream, group: ReaderGroup) -> None:
    ledger = Ledger()
    writer = lab.writer(stream, rate=400, keys=5, ledger=ledger)
    readers = [lab.reader(group, ledger=ledger) for _ in range(2)]
    wait_until(lambda: writer.events > 300)
    stream.split(stream.segments()[0].segment_id)
    wait_until(lambda: writer.events > 600)
    writer.rate = 0
    written = writer.events
    writer.close()
    wait_until(all_read(ledger))
    ledger.settled()
    ledger.verdict().assert_exact()
    assert ledger.verdict().written == writer.events >= written
    assert sum(reader.events for reader in readers) == writer.events
    assert [part.errors for part in (writer, *readers)] == [[], [], []]
    by_key = count_by_key(stream)
    assert list(by_key["key"]) == [f"{writer.name}-{k}" for k in range(5)]
    assert by_key["events"].sum() == writer.events
    assert by_key[["missing", "doubled", "out_of_order"]].sum().sum() == 0


def test_a_cut_connection_loses_and_doubles_nothing(lab: Lab, stream: Stream) -> None:
    ledger = lab.ledger(stream)
    writer = lab.writer(stream, rate=500, ledger=ledger)
    for k in range(3):
        wait_until(lambda k=k: writer.events > 150 * (k + 1) and writer.connections > 0)
        assert writer.cut() > 0
    wait_until(lambda: writer.events > 700)
    writer.close()
    assert writer.errors == []
    ledger.count(stream)
    ledger.verdict().assert_exact()
    assert ledger.verdict().written == writer.events
    faults = fold_ledger(ledger.journal.since()).faults
    assert [f.text for f in faults] == [f"connections of writer {writer.name} cut"] * 3
    acted = [o for o in ledger.journal.since() if isinstance(o, Acted)]
    assert {o.call for o in acted} == {f"{writer.name}.cut()"}
    assert {o.cause_kind for o in acted} == {"done here"}


@pytest.mark.slow
def test_a_killed_reader_is_missed_until_it_is_declared_offline(
    lab: Lab, stream: Stream, group: ReaderGroup
) -> None:
    watch = lab.observe(group)
    ledger = lab.ledger(watch)
    writer = lab.writer(stream, rate=300, ledger=ledger)
    dies = lab.reader(group, "dies", ledger=ledger)
    wait_until(lambda: dies.events > 100)
    lives = lab.reader(group, "lives", ledger=ledger)
    dies.kill()
    assert not dies.alive
    assert "dies" in group.online_readers()
    writer.rate = 0
    writer.close()
    assert dies.declare_offline()
    assert group.online_readers() == ["lives"]
    wait_until(all_read(ledger))
    ledger.settled()
    verdict = ledger.verdict()
    assert (verdict.lost, verdict.out_of_order, verdict.strange) == (0, 0, 0)
    history = fold_ledger(ledger.journal.since(), "ledger")
    assert history.faults[0].text == "reader dies killed"
    assert lives.events + dies.events >= writer.events
    assert lives.errors == dies.errors == []
    watch.look()
    left = watch.to_pandas("reader_left").iloc[0]
    assert (left["reader"], left["cause_kind"], left["was_killed"]) == ("dies", "done here", True)


def test_the_rate_is_kept_about_and_changed(lab: Lab, stream: Stream) -> None:
    writer = lab.writer(stream, rate=0)
    time.sleep(0.3)
    assert writer.events == 0
    writer.rate = 200
    wait_until(lambda: writer.events >= 100)
    writer.rate = 0
    time.sleep(0.2)
    rested = writer.events
    time.sleep(0.3)
    assert writer.events == rested
    for rate in (-1, "fast"):
        with pytest.raises(BadInputError, match="give a number from 0"):
            writer.rate = rate  # type: ignore[assignment]


def test_names_and_ends(lab: Lab, stream: Stream, group: ReaderGroup) -> None:
    first, second = lab.writer(stream, rate=0), lab.writer(stream, rate=0)
    assert [first.name, second.name, list(lab.writers)] == ["w1", "w2", ["w1", "w2"]]
    with pytest.raises(BadInputError, match="'w1' runs already"):
        lab.writer(stream, "w1")
    reader = lab.reader(group)
    with pytest.raises(BadInputError, match="is at work"):
        reader.declare_offline()
    reader.close()
    reader.close()
    assert group.online_readers() == []
    assert "ended" in repr(reader)
    reader.kill()  # it has ended: nothing happens
    assert not reader.was_killed


def test_a_name_is_no_stream_and_no_group(lab: Lab) -> None:
    name: Any = "run/s0"
    with pytest.raises(BadInputError, match=r"lab\.writer\('run/s0'\): give a stream, lab\.stream"):
        lab.writer(name)
    with pytest.raises(BadInputError, match=r"lab\.reader\('run/s0'\): give a reader group"):
        lab.reader(name)
    assert (lab.writers, lab.readers) == ({}, {})


def test_what_has_ended_keeps_neither_threads_nor_connections(
    lab: Lab, stream: Stream, group: ReaderGroup
) -> None:
    before = threads()
    lab.writer(stream, "w", rate=0).close()
    killed = lab.reader(group, "r")
    killed.kill()
    assert killed.connections == 0
    wait_until(lambda: threads() <= before)
    with pytest.raises(ReaderExistsError):
        lab.reader(group, "r")
    assert killed.cut() == 0
    assert killed.declare_offline()
    successor = lab.reader(group, "r")
    assert lab.readers == {"r": successor}
    failed = lab.writer(stream, "w", rate=0)
    failed._stopping.set()
    wait_until(lambda: not failed.alive)
    lab.writer(stream, "w", rate=0).close()
    group.reader_offline("r")  # it ends by itself
    wait_until(lambda: not successor.alive)
    wait_until(lambda: threads() <= before)


def test_a_client_that_does_not_open_leaves_no_proxy(lab: Lab, stream: Stream) -> None:
    before = threads()
    with pytest.raises(BadInputError, match="ca_file"):
        ProxiedClient(lab.client, [stream.scoped_name], ca_file="nowhere.pem")
    wait_until(lambda: threads() <= before)


def threads() -> set[threading.Thread]:
    """The threads of the proxies and of what the lab runs. Some of an earlier test may be about to end."""
    of_parts = ("proxy of ", "writer ", "reader ", "Thread-")
    return {t for t in threading.enumerate() if t.name.startswith(of_parts)}


def test_a_reader_of_other_events_says_so(lab: Lab, stream: Stream, group: ReaderGroup) -> None:
    stream.write("hello", "a key")
    reader = lab.reader(group, ledger=Ledger())
    wait_until(lambda: not reader.alive)
    assert isinstance(reader.errors[0], BadInputError)
    assert "parse=" in str(reader.errors[0])

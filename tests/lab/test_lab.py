"""`Lab.close` and `Watch.close`: every part is closed, also when one of them fails."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from pravega_lab import Lab, ScalingPolicy, connect
from pravega_lab.client.reader_group import reading
from pravega_lab.errors import BadInputError, StoreUnavailableError
from pravega_lab.lab import labs_by_name
from pravega_lab.lab.health import parts


def test_a_part_that_fails_to_close_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    stream = lab.create_stream("close/s", scaling=ScalingPolicy.fixed(1))
    first, second = lab.writer(stream, rate=0), lab.writer(stream, rate=0)
    watch = lab.observe(stream)
    assert lab.store is not None
    monkeypatch.setattr(first._proxied, "close", failing(first._proxied.close))
    monkeypatch.setattr(watch, "close", failing(watch.close))
    with pytest.raises(OSError, match="it does not close"):
        lab.close()
    assert not lab.store.alive
    assert [first.alive, second.alive] == [False, False]
    assert second._proxied.connections == 0
    assert not watch.journal.live
    lab.close()


def test_a_watch_closes_its_other_observers_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with Lab() as lab:
        lab.create_stream("close/s", scaling=ScalingPolicy.fixed(1))
        watch = lab.observe(lab.client.create_reader_group("close/g", reading(["close/s"])))
        assert watch.look()
        [group], [stream] = watch.groups, watch.streams
        monkeypatch.setattr(group, "close", failing(group.close))
        with pytest.raises(OSError, match="it does not close"):
            watch.close()
        monkeypatch.undo()
        assert not stream._thread.is_alive()
        assert watch._client is None
        assert not watch.journal.live


def test_an_error_names_the_way_back_from_a_store_that_was_killed() -> None:
    with Lab() as lab, connect(lab.uri, retry_for_s=0.05) as client:
        store: Any = lab.store
        os.kill(store.pid, signal.SIGKILL)
        os.waitid(os.P_PID, store.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(StoreUnavailableError, match=r"lab\.store\.restart\(\) starts it again, empty"):
            client.list_scopes()
        store.restart()
        assert lab.client.list_scopes() == ["_system"]
    with pytest.raises(StoreUnavailableError, match="Check that the store runs"):
        connect(lab.uri, retry_for_s=0.05).list_scopes()


def test_a_stream_is_looked_at_before_it_is_shown() -> None:
    with Lab() as lab:
        stream = lab.create_stream("close/s", scaling=ScalingPolicy.fixed(2))
        group = lab.client.create_reader_group("close/g", reading(["close/s"]))
        boards = [lab.show(stream), lab.show(group), lab.show(stream, title="Two segments")]
        titles = [[view.heading for view in board.views] for board in boards]
        assert titles == [["close/s"], ["close/s", "close/g", "checkpoints of close/g"], ["Two segments"]]
        for board in boards:
            assert len(board.views[0].frame) == 2
            assert "#1 e0" in board.picture()
            assert "tcp://" not in board.picture()
            board.close()


def test_a_stream_is_looked_at_again_when_it_is_shown_again() -> None:
    with Lab() as lab:
        stream = lab.create_stream("close/s", scaling=ScalingPolicy.fixed(2))
        watch = lab.observe(stream, every_ms=60_000)
        lab.show(stream).close()
        stream.split(0)
        board = lab.show(stream)
        assert "4 segments, 3 active" in board.views[0].alternative
        board.close()
        watch.close()
        lab.show(stream).close()  # of a closed watch there is nothing to wait for


def test_a_stream_that_is_not_there_is_shown_as_such() -> None:
    with Lab() as lab:
        lab.client.create_scope("close")
        board = lab.show(lab.stream("close/none"))
        assert board.views[0].heading == "close/none"
        board.close()


def test_a_text_is_shown_as_what_it_names(tmp_path: Path) -> None:
    with Lab() as lab:
        stream, own = lab.create_stream("demo/flights"), lab.create_stream("own")
        board = lab.show("demo/flights", "own")
        assert [view.heading for view in board.views] == ["demo/flights", "lab/own"]
        assert lab.observe("demo/flights") is lab.observe(stream)
        assert lab.observe("own") is lab.observe(own)
        board.close()
        board = lab.show(str(tmp_path), f"file:{tmp_path}", tmp_path / "made later")
        assert [type(view).__name__ for view in board.views] == ["QueryTimeline"] * 3
        board.close()
        observed = len(lab.observers)
        refused = (
            r"no stream 'demo/flihgts', and no file or folder .* show takes .* nearest names: demo/flights"
        )
        with pytest.raises(BadInputError, match=refused):
            lab.show(stream, "demo/flihgts")
        for other in ("nothing", str(tmp_path / "none"), "", "a/b/c"):
            with pytest.raises(BadInputError, match=f"no stream '{other}', and no file"):
                lab.show(other)
        assert len(lab.observers) == observed


def test_a_text_is_refused_by_a_store_without_streams() -> None:
    with Lab() as lab, pytest.raises(BadInputError, match="The store has no stream yet"):
        lab.show("demo/flights")


def test_a_forked_child_closes_nothing_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it makes a lab of the same name in a notebook, or leaves a block that it inherited."""
    monkeypatch.setattr(labs_by_name, "in_notebook", lambda: True)
    with Lab(name="forked") as lab:
        assert lab.store is not None
        child = os.fork()
        if child == 0:
            replaced = labs_by_name.close_namesake("forked")
            lab.close()
            os._exit(bool(replaced) or lab.is_closed)
        assert os.waitpid(child, 0) == (child, 0)
        with connect(lab.uri) as client:  # its credentials are there
            assert client.create_scope("forked")


@pytest.mark.parametrize(
    "use",
    [
        lambda lab: lab.client,
        lambda lab: lab.__enter__(),
        lambda lab: lab.create_stream("s"),
        lambda lab: lab.observe("checkpoint"),
        lambda lab: lab.show(lab.gone),
        lambda lab: lab.spark,
        lambda lab: lab.submit("script.py"),
    ],
)
def test_a_closed_lab_starts_nothing(closed: Any, use: Callable[[Any], object]) -> None:
    with pytest.raises(BadInputError, match=r"was closed: Lab\(\) makes another one"):
        use(closed)


@pytest.fixture(scope="module")
def closed() -> Any:
    with Lab() as lab:
        lab.gone = lab.create_stream("closed/s")  # type: ignore[attr-defined]
    return lab


def test_a_closed_lab_shows_itself_as_closed(closed: Lab) -> None:
    assert repr(closed) == "Lab(closed)"


def test_a_session_that_was_stopped_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pravega_lab.connector.spark.session.session.create_session", lambda **_: MagicMock())
    with Lab() as lab:
        first = lab.spark
        assert lab.spark is first
        first.sparkContext._jsc = None  # as by first.stop()
        [spark] = [part for part in parts(lab) if part.name == "Spark"]
        assert (spark.words, spark.remedy) == ("stopped", "lab.spark starts another session")
        assert lab.spark is not first


def failing(close: Callable[[], Any]) -> Callable[[], None]:
    """Return a `close` that closes and then fails."""

    def closes() -> None:
        close()
        raise OSError("it does not close")

    return closes


def test_a_stream_whose_scaling_is_no_policy_is_refused() -> None:
    with Lab() as lab, pytest.raises(BadInputError, match="scaling=0 is no policy"):
        lab.create_stream("close/s", scaling=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", ["tcp://localhost:9090", 9090])
def test_an_address_is_no_folder(data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store would start in the folder ``tcp:``, and nothing would be written to the cluster."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError, match=r"uri='tcp://host:port'\) joins a store that runs"):
        Lab(data)
    assert [*tmp_path.iterdir()] == []


def test_what_is_no_address_is_refused_at_once() -> None:
    with pytest.raises(BadInputError, match="'localhost' is no address of a controller"):
        Lab(uri="localhost")


@pytest.mark.parametrize("name", [5, None])
def test_what_is_no_name_of_a_stream_is_refused(name: Any) -> None:
    with Lab() as lab:
        for call in (lab.create_stream, lab.stream, lab.table):
            with pytest.raises(BadInputError, match=f"{name} is not the name of a stream"):
                call(name)

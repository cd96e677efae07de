"""`Lab.close` and `Watch.close`: every part is closed, also when one of them fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pravega_lab import Lab, ScalingPolicy
from pravega_lab.client.reader_group import reading


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


def failing(close: Callable[[], Any]) -> Callable[[], None]:
    """Return a `close` that closes and then fails."""

    def closes() -> None:
        close()
        raise OSError("it does not close")

    return closes

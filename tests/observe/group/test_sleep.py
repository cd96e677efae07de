"""A group's observer on a computer that sleeps, or whose clock is set: it says how old an entry may be."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pravega_lab.client.reader_group.following import LogEntry, LogPlace
from pravega_lab.errors import NotFoundError, StoreUnavailableError
from pravega_lab.observe.group import observer
from pravega_lab.observe.group.observations import ReaderJoined
from pravega_lab.protocol.metadata import reader_group as rg
from tests.observe.group.logs import encoded, init, segment

HOUR_MS = 3_600_000


class ScriptedLog:
    """Each read moves the clock and returns an entry, or fails."""

    def __init__(self, script: list[tuple[int, list[rg.Update] | None]]) -> None:
        self.now_ms = 1_800_000_000_000
        self.is_over = threading.Event()
        self._script, self._at = script, 0

    def locate(self) -> LogPlace:
        left = sum(len(encoded(updates)) for _, updates in self._script[:1] if updates is not None)
        return LogPlace("s/_RGg/0", 0, 0, self._at + left, 0.005)

    def next(self, timeout_s: float) -> list[LogEntry]:
        if not self._script:
            self.is_over.set()
            threading.Event().wait(timeout_s)
            return []
        moved_ms, updates = self._script.pop(0)
        self.now_ms += moved_ms
        if updates is None:
            raise StoreUnavailableError("cut off")
        begin, data = self._at, encoded(updates)
        self._at += len(data)
        return [LogEntry(begin, self._at, data)]

    def ranges(self, stream: str, ids: list[int]) -> None:
        raise NotFoundError("no keys are known")

    def read_from(self, place: LogPlace, offset: int) -> None:
        assert offset == self._at

    def close(self) -> None:
        pass


def joined(
    monkeypatch: pytest.MonkeyPatch, *script: tuple[int, list[rg.Update] | None]
) -> dict[str, int | None]:
    """Return how old the joining of each reader may be."""
    log = ScriptedLog([(5, [init(segment(0))]), *script])
    monkeypatch.setattr(observer, "GroupLog", lambda client, group: log)
    monkeypatch.setattr(observer, "_now_ms", lambda: log.now_ms)
    monkeypatch.setattr(observer, "AGAIN_MS", 1)
    client: Any = SimpleNamespace(uri="tcp://here")
    watch = observer.GroupObserver(client, "s/g")
    assert log.is_over.wait(10)
    watch.close()
    return {o.reader: o.uncertain_ms for o in watch.since() if isinstance(o, ReaderJoined)}


def test_what_arrives_after_a_sleep_may_be_as_old_as_the_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection can survive it, and then the entries of that time arrive as if they were new."""
    found = joined(
        monkeypatch, (5, [rg.AddReader("a")]), (HOUR_MS, [rg.AddReader("b")]), (5, [rg.AddReader("c")])
    )
    assert found == {"a": 5, "b": HOUR_MS + 5, "c": 5}


def test_after_a_clock_was_set_back_the_age_of_an_entry_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    found = joined(monkeypatch, (5, [rg.AddReader("a")]), (-HOUR_MS, None), (5, [rg.AddReader("b")]))
    assert found == {"a": 5, "b": None}

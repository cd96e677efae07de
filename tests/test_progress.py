"""The bars of commands: tqdm on a terminal, a few whole lines where the output is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tqdm import tqdm

from pravega_lab import progress
from pravega_lab.demo import command
from pravega_lab.progress import LINE_PERIOD_S, bar
from tests.waiting import wait_until


class Clock:
    """The clock of `pravega_lab.progress`, which a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_log_gets_a_line_every_few_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("flights", 2000, " events", leave=True) as flights:
        for _ in range(1000):
            clock.now_s += LINE_PERIOD_S / 400
            flights.update(2)
            flights.set_postfix_str("12 Feb", refresh=False)
    assert capsys.readouterr().err.splitlines() == [
        "flights: 800/2.00k events (40%), 00:05, 12 Feb",
        "flights: 1.60k/2.00k events (80%), 00:10, 12 Feb",
        "flights: 2.00k/2.00k events (100%), 00:12, 12 Feb",
    ]


def test_short_work_leaves_no_line(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("starting Spark") as waiting:
        clock.now_s += LINE_PERIOD_S - 1
        waiting.refresh()
    assert capsys.readouterr().err == ""


def test_work_of_unknown_length_shows_its_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with bar("starting Spark") as waiting, bar("finishing", unit="B") as results:
        clock.now_s += 65
        waiting.refresh()
        results.update(2_000_000)
    assert capsys.readouterr().err == "starting Spark: 01:05\nfinishing: 2.00MB, 01:05\n"


def test_a_terminal_keeps_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with bar("flights", 2, " events") as flights:
        assert isinstance(flights, tqdm)


def test_a_notebook_gets_no_bar_in_the_colour_of_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """JupyterLab shows standard error on red; an empty bar of tqdm left a red line there."""
    shown: list[str] = []
    picture = progress._Notebook()
    monkeypatch.setattr(picture, "_put", lambda bundle: shown.append(bundle["text/html"]))
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_picture", lambda: picture)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    with bar("fork", 20_000, "B") as copied:
        wait_until(lambda: shown)
        copied.update(500)
        copied.set_postfix_str("12 Feb")
        wait_until(lambda: "fork, 12 Feb: 500 of 20,000 B" in shown[-1])
        copied.refresh()
        assert copied.n == 500
    assert shown[0].startswith('<progress value="0" max="20000"')
    assert shown[-1] == ""
    with bar("flights", 2, " events", leave=True) as replayed:
        replayed.update(2)
        replayed.write("half")
    assert capsys.readouterr() == ("half\nflights: 2 of 2 events, 0 s\n", "")


def test_the_demo_leaves_lines_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """It left a copy of the bar for every tenth of a second."""
    count = 100
    hours = pd.DataFrame({"time_hour": pd.to_datetime(["2013-02-12"] * count)})

    class Events:
        table = hours

        def __len__(self) -> int:
            return count

    def replay(*_: Any) -> Iterator[Any]:
        for start in range(count):
            yield SimpleNamespace(start=start, stop=start + 1)

    job: Any = SimpleNamespace(replay=replay, kill_and_restart=lambda: None)
    events: Any = Events()
    command._replay(job, events, [], 1.0, kill_at=50)
    said = capsys.readouterr()
    assert said.err == "flights: 100/100 events (100%), 00:00, 12 Feb\n"
    assert said.out == "kill -9: Spark's Python and JVM; starting again\n"

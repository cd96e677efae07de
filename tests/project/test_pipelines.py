"""The open-loop generator: schedules and latencies. Its commands: limits, and a broker that is not there."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from benchmarks import kafka, latency
from benchmarks.common.run import Run
from benchmarks.pipelines import broker
from benchmarks.pipelines.child import Task
from benchmarks.pipelines.children import ChildError, figures_of
from benchmarks.pipelines.open_loop import (
    EVENT_BYTES,
    Schedule,
    due_ns_of,
    event_due_at,
    latencies,
    send_on_schedule,
)

MS = 1_000_000


class Clock:
    """Time that passes while someone sleeps, and while a write takes long."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def sent(schedule: Schedule, begin_ns: int, slow: int | None = None) -> list[tuple[int, int, str]]:
    """Return (due, written at, key) in ms of each event. Writing the event ``slow`` takes 25 ms."""
    clock, found = Clock(), []

    def write(event: bytes, key: str) -> None:
        found.append((due_ns_of(event) // MS, clock.now_ns // MS, key))
        if len(found) - 1 == slow:
            clock.now_ns += 25 * MS

    send_on_schedule(write, schedule, begin_ns, clock, clock.sleep)
    return found


def test_each_event_is_written_when_it_is_due() -> None:
    times = [(10, 10), (20, 20), (30, 30)]
    assert [found[:2] for found in sent(Schedule(100, 3), 10 * MS)] == times
    assert [found[2] for found in sent(Schedule(100, 3), 10 * MS)] == ["key-0", "key-1", "key-2"]


def test_a_pause_delays_all_events_that_were_due_in_it() -> None:
    found = sent(Schedule(100, 6), 0, slow=1)
    assert [(due, written) for due, written, _ in found] == [
        (0, 0),
        (10, 10),  # writing it takes until 35
        (20, 35),
        (30, 35),
        (40, 40),
        (50, 50),
    ]


def test_with_an_infinite_rate_all_events_are_due_at_once() -> None:
    assert {found[:2] for found in sent(Schedule(float("inf"), 5000), 7 * MS)} == {(7, 7)}


def test_events_carry_their_time() -> None:
    assert len(event_due_at(5)) == EVENT_BYTES
    assert due_ns_of(event_due_at(2**63)) == 2**63


def test_latencies_count_from_the_due_time() -> None:
    due = [index * MS for index in range(101)]
    found = latencies(due, [at + (50 if at == 40 * MS else 2) * MS for at in due])
    assert (found.p50_ms, found.max_ms) == (2, 50)
    assert (found.p99_ms, found.p999_ms) == pytest.approx((2, 45.2))
    assert found.rate == pytest.approx(101 / 0.102)


def test_a_run_without_kafka_says_so_loudly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(broker, "make_client_importable", lambda: None)
    monkeypatch.setattr(kafka, "StoreProcess", lambda folder: _Running("tcp://ours"))
    monkeypatch.setenv("PATH", "")
    with ExitStack() as stack:
        addresses = kafka.start(Namespace(data=None, no_kafka=False), stack)
    assert addresses == {"lab": "tcp://ours"}
    assert "NO KAFKA to compare with: it needs Java 17 on the PATH" in capsys.readouterr().err


class _Running(SimpleNamespace):
    def __init__(self, uri: str) -> None:
        super().__init__(uri=uri)

    def __enter__(self) -> _Running:
        return self

    def __exit__(self, *of: object) -> None:
        pass


def test_no_round_begins_after_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    found = []
    for turn in kafka.within(1, [0, 1, 2, 3], lambda: clock.now_ns / 1e9):
        found.append(turn)
        clock.sleep(40)
    assert found == [0, 1]
    assert "STOPPED before round 2: --minutes 1 are over" in capsys.readouterr().err


@pytest.mark.slow
def test_a_child_that_fails_says_why() -> None:
    with pytest.raises(ChildError, match=r"read of lab failed: (?s:.*)BadInputError"):
        figures_of("read", Task("lab", "nowhere", "a", 1))


def test_the_table_has_each_row_once_and_a_ratio_where_both_were_measured() -> None:
    run = Run("a title")
    for ours, theirs in [(3.0, 1.0), (8.0, 2.0), (5.0, 5.0)]:
        run.add(kafka.WRITE, kafka.OURS, ours)
        run.add(kafka.WRITE, kafka.THEIRS, theirs)
        run.add(kafka.ARROW, kafka.OURS, 7.0)
    lines = kafka.table(run).splitlines()
    assert lines[2] == f"| {kafka.WRITE} | 2 | 5 | 3 |"
    assert lines[3] == f"| {kafka.ARROW} | – | 7 | – |"
    assert len(lines) == 2 + len(kafka.ROWS)
    kafka.judge(run)
    assert [str(target) for target in run.targets] == [
        f"reached: {kafka.WRITE}, ours : Kafka: 3, wanted ≥ 1.2"
    ]


def test_each_path_is_measured_at_shares_of_its_own_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float]] = []

    def path(task: Task) -> dict[str, float]:
        asked.append((task.n_events, task.rate))
        return {"p50_ms": 1.5, "p99_ms": 4.0, "rate": 2_000.0}

    def task_of(kind: str, address: str, n_events: int, rate: float, segments: int) -> Task:
        return Task(kind, address, "a", n_events, rate)

    monkeypatch.setattr(latency, "new_task", task_of)
    run = Run("a title")
    options = Namespace(events=700, seconds=2.0, segments=4)
    latency.measure(run, "client", path, "tcp://ours", options)
    latency.measure(None, "client", path, "tcp://ours", options)
    assert asked == [(700, float("inf")), (400, 200.0), (2000, 1000.0), (3600, 1800.0)] * 2
    assert run.of("maximum rate, events/s", "client") == [2000.0]
    assert run.of("90 % of the maximum rate, p99, ms", "client") == [4.0]


def test_the_p99_at_half_of_the_maximum_is_compared_with_the_disk() -> None:
    run = Run("a title")
    run.add(latency.SYNC_99, latency.STORE, 0.5)
    run.add("50 % of the maximum rate, p99, ms", latency.STORE, 3.0)
    latency.judge(run)
    assert [(target.found, target.is_reached) for target in run.targets] == [(6.0, False)]

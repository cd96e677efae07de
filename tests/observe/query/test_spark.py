"""Watching real queries: a driver that is killed in the middle of a batch, and a query of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab import observe
from pravega_lab.client import Client, connect
from pravega_lab.connector.spark.session.driver import submit
from pravega_lab.observe.query.fold import fold_batches
from pravega_lab.observe.stream.fold import fold_segments
from pravega_lab.widgets import QueryTimeline, show

pytestmark = pytest.mark.spark
SCRIPT = Path(__file__).parent / "jobs" / "held_up.py"
LIMIT_S = 120


@pytest.fixture
def client(store: str) -> Iterator[Client]:
    with connect(store) as client:
        yield client


def wait_for(what: Callable[[], bool], driver: Any = None) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < deadline, driver and driver.log()[-2000:]
        time.sleep(0.05)


def test_a_kill_in_a_batch_and_its_replay_are_seen(
    store: str, client: Client, scope_name: Callable[[], str], tmp_path: Path
) -> None:
    stream = client.create_stream(f"{scope_name()}/in")
    stream.write([b"x" * 100] * 200, [f"k{i}" for i in range(200)])
    hold, checkpoint = tmp_path / "hold", tmp_path / "ck"
    hold.write_text("2")
    arguments = [stream.scoped_name, str(checkpoint), str(hold)]
    driver = submit(SCRIPT, *arguments, progress_file=tmp_path / "p.jsonl", env={"PRAVEGA_URI": store})
    with driver, observe(store, stream=stream.scoped_name, query=driver, checkpoint=checkpoint) as watch:

        def outcomes(batch_id: int) -> list[str]:
            return [r.outcome for r in fold_batches(watch.since()).rows if r.batch_id == batch_id]

        wait_for(hold.with_suffix(".reached").exists, driver)
        wait_for(lambda: outcomes(2) == ["running"], driver)
        driver.kill()
        wait_for(lambda: outcomes(2) == ["killed"])
        hold.unlink()
        driver.restart()
        assert driver.wait(LIMIT_S) == 0, driver.log()
        wait_for(lambda: outcomes(5) == ["done"])
    assert not watch.trouble
    frame = QueryTimeline(watch).frame
    attempts = frame[frame["batch_id"] == 2]
    assert list(attempts["attempt"]) == [1, 2]
    assert list(attempts["outcome"]) == ["killed", "done"]
    assert list(attempts["run"]) == [1, 2]
    assert attempts["replayed"].iloc[1]
    others = frame[frame["batch_id"] != 2]
    assert not others["replayed"].any()
    assert (others["offsets_ms"] > 0).all()
    assert frame["input_rows"].sum() == 200
    assert list(frame["query"].unique()) == ["held"]
    done = frame[frame["outcome"] == "done"]
    assert done["lag_bytes"].iloc[-1] == 0
    assert done["lag_bytes"].iloc[0] > 10_000
    row = fold_segments(watch.since()).rows[0]
    assert (row.read_offset, row.unread_bytes) == (200 * 108, 0)
    assert [type(v).__name__ for v in show(watch).views] == ["SegmentMap", "QueryTimeline"]


def test_a_query_of_this_process(spark: Any, tmp_path: Path) -> None:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    query = (
        rows.writeStream.format("noop").queryName("mine").option("checkpointLocation", str(tmp_path)).start()
    )
    try:
        with observe(query=query) as watch:
            wait_for(lambda: len(fold_batches(watch.since()).rows) >= 3)
            query.stop()
            wait_for(lambda: any(o.kind == "query_ended" for o in watch.since()))
    finally:
        query.stop()
    assert not watch.trouble
    assert watch.queries[0].sources == ["listener"]
    frame = QueryTimeline(watch).frame
    assert list(frame["query"].unique()) == ["mine"]
    assert frame["batch_id"].is_monotonic_increasing
    assert frame["batch_id"].is_unique
    assert frame["lag_bytes"].isna().all()
    assert frame["work_ms"].notna().all()

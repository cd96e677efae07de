"""What is Spark's own: slots, a session shared with others, and a job between two Pravega streams."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.connector.flow import PravegaConfig, PravegaSegmentSource, PravegaTransactionalSink
from pravega_lab.engine.cluster.errors import NotEnoughSlotsError, WorkersNotStartedError
from pravega_lab.engine.cluster.spark import SparkJob
from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from tests.connector.flow.jobs import EVENTS, FREE, ROWS, in_order, numbered, write
from tests.connector.flow.jobs import read as read_all
from tests.engine.cluster.jobs import config, tell_pid, told_pids, words
from tests.engine.flow.jobs import Told
from tests.waiting import wait_until

pytestmark = pytest.mark.spark


def test_more_workers_than_slots_are_refused_at_once(spark: Any, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(NotEnoughSlotsError, match=r"workers=64, and there are 2 slots"):
        SparkJob(words(tmp_path, 10), config(tmp_path), spark=spark, workers=64)
    assert time.monotonic() - began < 30
    assert SparkJob(words(tmp_path, 10, parallelism=8), config(tmp_path), spark=spark).workers_wanted == 2


def test_slots_that_others_hold_are_told_of(spark: Any, tmp_path: Path) -> None:
    flag = tmp_path / "let go"

    def hold(rows: Any) -> Any:
        while not flag.exists():
            time.sleep(0.05)
        return rows

    holder = threading.Thread(target=spark.sparkContext.parallelize([1], 1).mapPartitions(hold).collect)
    holder.start()
    try:
        wait_until(lambda: spark.sparkContext.statusTracker().getActiveStageIds(), "the other job")
        job = SparkJob(words(tmp_path, 10), config(tmp_path), spark=spark, workers=2, start_timeout_s=4)
        with pytest.raises(WorkersNotStartedError, match=r"of 2 workers came within 4 s: other jobs"):
            job.start()
    finally:
        flag.touch()
        holder.join()


def test_segments_into_transactions_through_a_kill(
    spark: Any, store: str, scope_name: Callable[[], str], tmp_path: Path
) -> None:
    scope, rows = scope_name(), numbered(0, 600)
    pravega = PravegaConfig(store, scope)

    async def with_stream(name: str, do: Callable[[Any], Any]) -> Any:
        async with AsyncClient(store) as client:
            return await do(client.stream(f"{scope}/{name}"))

    async def prepare() -> None:
        async with AsyncClient(store) as client:
            into = await client.create_stream(f"{scope}/in", scaling=FREE)
            await client.create_stream(f"{scope}/out")
            await write(into, rows[:300])
            await into.split(0)

    asyncio.run(prepare())
    env = StreamEnvironment("copy", parallelism=2)
    source = env.from_source(PravegaSegmentSource(pravega, "in", rows=ROWS), uid="in")
    copied = source.map(tell_pid(tmp_path)).key_by("k").map(lambda row: row)
    copied.sink_to(PravegaTransactionalSink(pravega, "out", events=EVENTS), uid="out")
    told = Told()
    with SparkJob(env.job_graph(), config(tmp_path, interval_ms=500), spark=spark, observer=told) as job:
        wait_until(lambda: len(asyncio.run(with_stream("out", read_all))) >= 300, "the first half")
        os.kill(told_pids(tmp_path)[0], signal.SIGKILL)
        asyncio.run(with_stream("in", lambda stream: write(stream, rows[300:])))
        wait_until(lambda: len(asyncio.run(with_stream("out", read_all))) >= 600, "the second half")
        assert job.epoch == 2
        job.stop_with_savepoint(str(tmp_path / "savepoint"))
    found = asyncio.run(with_stream("out", read_all))
    assert Counter(map(json.dumps, found)) == Counter(map(json.dumps, rows))
    assert in_order(found)
    assert [o.checkpoint_id is None for o in told.of(seen.Restored)] == [True, False]

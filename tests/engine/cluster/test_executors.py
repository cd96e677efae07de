"""`kill -9` of executors: a real Spark standalone cluster replaces them, and the job goes on exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.cluster.jobs import check_counts, committed
from tests.spark.cluster import environ_for_spark, one_worker

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
ROWS = 6000
RUN_S_MAX = 400.0


def test_executors_are_killed_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tests.engine.cluster.kill_executors"]
    with one_worker(2, tmp_path) as master:
        done = subprocess.run(
            [*script, master, str(tmp_path), str(ROWS)],
            env=environ_for_spark(),
            capture_output=True,
            text=True,
            timeout=RUN_S_MAX,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    check_counts(committed(tmp_path), ROWS)
    seen = json.loads(done.stdout.splitlines()[-1])
    one, both, at_last = [*seen["kills"], seen["at_last"]]
    assert seen["state"] == "finished"
    # Each was in the middle, behind a checkpoint that had committed some of the rows.
    assert 0 < one["rows"] <= both["rows"] <= at_last["rows"] < ROWS
    assert one["epoch"] < both["epoch"] < at_last["epoch"]
    for kill in (one, both, at_last):
        assert len(set(kill["executors"])) == len(set(kill["workers"])) == 2, "a worker in each executor"
    assert one["executors"][0] not in both["executors"]
    assert not set(both["executors"]) & set(at_last["executors"])
    # The job began, and went back twice at least, each time to the checkpoint that was the last one then.
    first, *others = seen["restarts"]
    assert first["to"] is None
    assert len(others) >= 2
    assert [back["to"] for back in others] == [back["last"] for back in others]
    assert others[0]["to"] >= one["checkpoint"]
    assert others[-1]["to"] >= both["checkpoint"] > others[0]["to"]
    assert "epoch 1 of 2 workers ends" in others[0]["reason"]

"""A driver for tests: a job on a Spark cluster whose executors are killed, first one, then all at once.

kill_executors.py MASTER FOLDER ROWS

It has to be a process of its own: there is one Spark session to a process. What was seen is its last line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pravega_lab.engine.cluster.spark import SparkJob
from pravega_lab.engine.flow import observer as seen
from tests.engine.cluster.jobs import committed, config, told_pids, words
from tests.engine.flow.jobs import Told
from tests.spark.jvm import QUICK_START
from tests.waiting import wait_until

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
SLOW_MS = 200  # behind each batch of 20 rows, until the last kill: so the end is far
START_S_MAX = 180.0
until = partial(wait_until, limit_s=START_S_MAX)


def session(master: str) -> Any:
    """Executors of one core, so that each worker of the job is in one of its own."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK_START,
    }
    builder = SparkSession.builder.master(master).appName("executors are killed")
    return builder.config(map=settings).getOrCreate()


@dataclass(frozen=True)
class Pause:
    """Between batches of the source."""

    folder: Path

    def __call__(self) -> int:
        return 0 if (self.folder / "hurry").exists() else SLOW_MS


def executor_of(pid: int) -> int:
    """The JVM under which a Python worker of Spark runs."""
    for ancestor in ancestors(pid):
        if EXECUTOR in ps(ancestor, "args"):
            return ancestor
    raise AssertionError(f"process {pid} is in no executor")


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = int(ps(pid, "ppid"))
        yield pid


def ps(pid: int, what: str) -> str:
    """A column of a process; empty when there is none."""
    command = ["ps", "-ww", "-o", f"{what}=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def lives(pid: int) -> bool:
    return ps(pid, "stat")[:1] not in ("", "Z")


def main(master: str, folder: Path, rows: int) -> dict[str, Any]:
    """What was seen."""
    spark, told = session(master), Told()
    graph = words(folder, rows, pause_ms=Pause(folder))
    options: dict[str, Any] = {"workers": 2, "observer": told, "start_timeout_s": START_S_MAX}
    with SparkJob(graph, config(folder), spark=spark, **options) as job:
        kills = [kill(job, told, folder, some) for some in (1, 2)]
        at_last = working(job, told, folder)
        (folder / "hurry").touch()
        job.wait()
    killed = {pid for kill in kills for pid in kill["workers"][: kill["killed"]]}
    until(lambda: not any(map(lives, killed)), "the workers in killed executors are gone")
    spark.stop()
    return {"state": job.state, "kills": kills, "at_last": at_last, "restarts": list(restarts(told))}


def working(job: SparkJob, told: Told, folder: Path) -> dict[str, Any]:
    """Wait until the present workers have run the job, completed a checkpoint and committed rows; who they
    are."""

    def check() -> bool:
        last, pids = job.latest_checkpoint, {worker.pid for worker in job.workers}
        restored = told.of(seen.Restored)
        if last is None or len(restored) < job.epoch or len(pids) < 2 or not pids <= set(told_pids(folder)):
            return False
        return bool(last.checkpoint_id > (restored[-1].checkpoint_id or 0) and committed(folder))

    until(check, "a checkpoint of the present workers")
    last, pids = job.latest_checkpoint, [worker.pid for worker in job.workers]
    assert last is not None
    return {
        "epoch": job.epoch,
        "checkpoint": last.checkpoint_id,
        "rows": len(committed(folder)),
        "workers": pids,
        "executors": [executor_of(pid) for pid in pids],
    }


def kill(job: SparkJob, told: Told, folder: Path, some: int) -> dict[str, Any]:
    """Kill the executors of the first ``some`` workers, and wait for the next epoch."""
    before = working(job, told, folder)
    for executor in before["executors"][:some]:
        os.kill(executor, signal.SIGKILL)
    until(lambda: job.epoch > before["epoch"], "new workers")
    return before | {"killed": some}


def restarts(told: Told) -> Iterator[dict[str, Any]]:
    """Why the job went back, to which checkpoint, and which was the last one then."""
    last, reason = None, ""
    for one in told.all:
        match one:
            case seen.CheckpointCompleted(checkpoint_id=number):
                last = number
            case seen.JobStateChanged(state="restarting"):
                reason = one.reason
            case seen.Restored(checkpoint_id=number):
                yield {"to": number, "last": last, "reason": reason}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))

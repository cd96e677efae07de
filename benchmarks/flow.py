"""The engine's speed, compared with a released Flink: python -m benchmarks.flow

One job: source, key by a word, rolling count, exactly-once sink into files of JSON lines, parallelism 2, a
checkpoint each second. Measured in turns: the engine on the asyncio home (one process, one core), on Spark
(two workers), and Flink 2.2.1 (Java and Maven; left out loudly without them); each also with one checkpoint
at its end, and with a failure half-way. Of every run it is checked that each record is committed once.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.flink.engine_job import PARALLELISM, Found, Task, check_lines, in_workers, on_asyncio
from benchmarks.flink.job import FlinkJob, NoFlinkError

RATE_WANTED = 1_000_000
CHECKPOINT_COST_MAX = 1.05
INTERVAL_MS = 1_000
FAR_MS = 86_400_000  # Flink takes one by itself when all data has ended
ONE = ", one checkpoint"

RATE, CPU = "records/s", "CPU seconds per million records"
MEDIAN, SLOWEST = "checkpoint, ms, median", "checkpoint, ms, 95 of 100"
RECOVERY = "failure to first record after the restore, ms"
ASYNCIO, SPARK, FLINK = "asyncio", "Spark", "Flink 2.2.1"

Runner = Callable[[Task, Path], Found]


def on_flink(flink: FlinkJob, task: Task, folder: Path) -> Found:
    told = flink.run(
        str(folder),
        records=task.n_records,
        keys=task.n_keys,
        parallelism=PARALLELISM,
        interval_ms=task.interval_ms or FAR_MS,
        fails=task.fails,
    )
    check_lines(folder / "out", task.n_records)
    return Found(told["seconds"], told["cpu_s"], told["checkpoints_ms"][:-1], told["recovery_ms"])


def homes(options: argparse.Namespace, stack: ExitStack) -> dict[str, Runner]:
    """Those that were asked for and are there."""
    found: dict[str, Runner] = {ASYNCIO: on_asyncio}
    if SPARK.lower() in options.homes:
        from pravega_lab.connector.spark import create_session
        from pravega_lab.engine.cluster.spark import SparkJob

        session = create_session("flow", conf={"spark.master": "local[2]"})
        stack.callback(session.stop)
        found[SPARK] = partial(in_workers, partial(SparkJob, spark=session))
    if "flink" in options.homes:
        try:
            found[FLINK] = partial(on_flink, stack.enter_context(FlinkJob()))
        except NoFlinkError as error:
            print(f"NO FLINK to compare with: {error}", file=sys.stderr)
    return found


def measure(run: Run | None, where: str, runner: Runner, options: argparse.Namespace) -> None:
    """All of one home in one round; ``run`` None: to warm up."""
    n_records = options.records if where != FLINK else options.records // 2  # it takes longer
    each_second = _in_folder(runner, Task(n_records, options.keys, INTERVAL_MS))
    bare = _in_folder(runner, Task(n_records, options.keys, None))
    failing = _in_folder(runner, Task(n_records // 2, options.keys, INTERVAL_MS // 4, fails=True))
    if run is None:
        return
    for name, found in ((where, each_second), (where + ONE, bare)):
        run.add(RATE, name, n_records / found.seconds)
        if found.cpu_s is not None:
            run.add(CPU, name, 1e6 * found.cpu_s / n_records)
    if each_second.checkpoints_ms:
        run.add(MEDIAN, where, statistics.median(each_second.checkpoints_ms))
        run.add(SLOWEST, where, float(np.percentile(each_second.checkpoints_ms, 95)))
    assert failing.recovery_ms is not None
    run.add(RECOVERY, where, failing.recovery_ms)


def _in_folder(runner: Runner, task: Task) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return runner(task, Path(folder))


def main() -> int:
    parser = parser_of(__doc__, rounds=3)
    parser.add_argument("--records", type=int, default=6_000_000, help="a run (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=1_000, help="distinct words (default: %(default)s)")
    parser.add_argument("--homes", default="spark,flink", help="beside asyncio (default: %(default)s)")
    options = parser.parse_args()
    run = Run(f"The engine: source, key by, count, exactly-once file sink; {options.keys:,} keys")
    with ExitStack() as stack:
        found = homes(options, stack)
        for turn in rounds_of(options):
            for where in in_turns(list(found), turn):
                measure(run if turn else None, where, found[where], options)
        run.measured()
    costs = {
        where: run.ratio(f"records/s{ONE} : each second, {where}", (RATE, where + ONE), (RATE, where))
        for where in found
    }
    run.ratio("CPU a record, each second : one checkpoint", (CPU, ASYNCIO), (CPU, ASYNCIO + ONE))
    for where in (ASYNCIO, SPARK):
        run.ratio(f"records/s, {where} : Flink", (RATE, where), (RATE, FLINK))
    for where in (ASYNCIO, SPARK):
        run.target(f"records/s, {where}", run.median(RATE, where), RATE_WANTED)
    cost = costs[ASYNCIO]
    run.target("checkpoints each second cost, asyncio", cost, CHECKPOINT_COST_MAX, at_least=False)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())

"""Latency at 10, 50 and 90 % of the maximum rate: python -m benchmarks.latency

An open-loop generator sends events of 100 bytes on a schedule, and a latency counts from the time at which
an event was due, so a pause delays every event that was due in it (`pipelines.open_loop`). Three paths on
a durable store: single appends until the store acknowledges them, events through the client from one
process to a tail reader in another, and events until Spark (trigger 0) has finished their micro-batch.
Each round first measures the maximum rate of each path, with all events due at once. ``--spark`` adds the
third path. Before each round the disk's own sync is measured, and the store's p99 at half of the maximum rate
is compared with its p99.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.common.run import Run, in_turns, parser_of, rounds_of
from benchmarks.common.stores import sync_ms
from benchmarks.kafka import new_task
from benchmarks.pipelines.child import Figures, Task
from benchmarks.pipelines.children import figures_of, producer_to_tail_reader
from benchmarks.pipelines.ends import LAB
from benchmarks.pipelines.spark_ages import ages
from pravega_lab.engine.server.store_process import StoreProcess

STORE, CLIENT, SPARK = "store", "client", "Spark"
SHARES = (10, 50, 90)  # % of the maximum rate
MAXIMUM = "maximum rate, events/s"
SYNC_99 = "the disk's own sync, p99, ms"
SYNCS_WANTED = 5.0
"""The p99 of the store at half of the maximum rate is to be at most so many times that of a sync."""
NAMES = {
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "p999_ms": "p99.9, ms",
    "mean_ms": "mean age when the batch is done, ms",
    "oldest_ms": "age of the oldest event of a batch, median, ms",
}

Path = Callable[[Task], Figures]


def paths(options: argparse.Namespace, stack: ExitStack) -> dict[str, Path]:
    """Return what is measured, by name."""
    found: dict[str, Path] = {STORE: partial(figures_of, "acknowledged"), CLIENT: producer_to_tail_reader}
    if options.spark:
        from pravega_lab.connector.spark import create_session

        conf = {"spark.sql.streaming.numRecentProgressUpdates": "10000"}
        session: Any = create_session("latency", memory="1g", conf=conf)
        stack.callback(session.stop)
        session.sparkContext.setLogLevel("OFF")  # a query that is stopped says so at length
        found[SPARK] = lambda task: ages(session, task)._asdict()
    return found


def measure(run: Run | None, name: str, path: Path, uri: str, options: argparse.Namespace) -> None:
    """Add the figures of one path in one round. ``run`` None: to warm up."""
    maximum = path(new_task(LAB, uri, options.events, float("inf"), options.segments))["rate"]
    if run is not None:
        run.add(MAXIMUM, name, maximum)
    for share in SHARES:
        rate = maximum * share / 100
        figures = path(new_task(LAB, uri, max(int(rate * options.seconds), 1), rate, options.segments))
        if run is not None:
            for key in NAMES.keys() & figures.keys():
                run.add(f"{share} % of the maximum rate, {NAMES[key]}", name, figures[key])


def judge(run: Run) -> None:
    """Compare the store's p99 at half of the maximum rate with the disk's."""
    name = "p99 at 50 % of the maximum rate : sync of the disk, store"
    ratio = run.ratio(name, (f"50 % of the maximum rate, {NAMES['p99_ms']}", STORE), (SYNC_99, STORE))
    run.target(name, ratio, SYNCS_WANTED, at_least=False)


def main() -> int:
    parser = parser_of(__doc__, rounds=3)
    shown = "(default: %(default)s)"
    parser.add_argument("--events", type=int, default=200_000, help=f"to find the maximum rate {shown}")
    parser.add_argument("--seconds", type=float, default=4.0, help=f"of each share of the rate {shown}")
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--data", metavar="DIR", help="the store keeps its log in a new folder in here")
    parser.add_argument("--spark", action="store_true", help="measure Spark, too")
    options = parser.parse_args()
    run = Run(f"Latency of 100-byte events at shares of the maximum rate, {options.segments} segments")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.data))
        uri = stack.enter_context(StoreProcess(f"{folder}/store")).uri
        found = paths(options, stack)
        for turn in rounds_of(options):
            if turn:
                run.add(SYNC_99, STORE, sync_ms(options.data)[1])
            for name in in_turns(list(found), turn):
                measure(run if turn else None, name, found[name], uri, options)
        run.measured()
    judge(run)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())

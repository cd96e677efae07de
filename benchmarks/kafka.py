"""The everyday path next to a real Kafka broker: python -m benchmarks.kafka

Writing in a loop, reading event by event, one event at a time, 10,000 events a second from a producer
process to a tail reader, and Spark, for our durable store and for Kafka 3.9 with confluent-kafka, in
turns. Events have 100 bytes and 1,000 keys, in 4 segments or partitions. Our store syncs each group before
it acknowledges; Kafka, as usual, does not. Latencies count from the time at which an event was due
(`pipelines.open_loop`). Maven and pip fetch Kafka once; without it, the run says so and measures ours
alone. All sockets are on the loopback address, every step has a limit, and no round begins after
--minutes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from uuid import uuid4

from benchmarks.client import input_of, seconds_to_write
from benchmarks.common.run import Run, in_turns, number, parser_of, rounds_of
from benchmarks.common.stores import sync_ms
from benchmarks.pipelines.broker import Broker, NoKafkaError, connector_jars
from benchmarks.pipelines.child import Task
from benchmarks.pipelines.children import figures_of, producer_to_tail_reader
from benchmarks.pipelines.ends import KAFKA, KAFKA_AT_ONCE, KAFKA_PLAIN, LAB, ends_of
from benchmarks.pipelines.spark_rows import SparkRows
from pravega_lab.client import ScalingPolicy, connect
from pravega_lab.engine.server.store_process import StoreProcess

WRITE, ARROW = "`write(event, key)` in a loop, then flush, events/s", "Arrow arrays, acknowledged, events/s"
READ = "event by event read in Python, events/s"
SINGLE, SINGLE_99 = "one event written, acknowledged, p50, ms", "one event written, acknowledged, p99, ms"
TAIL, TAIL_99 = "producer process to tail reader, p50, ms", "producer process to tail reader, p99, ms"
AGE = "Spark, trigger 0: mean age of an event when its batch is done, ms"
BATCH = "Spark batch read, rows/s"
ROWS = [WRITE, ARROW, READ, SINGLE, SINGLE_99, TAIL, TAIL_99, AGE, BATCH]
OURS, THEIRS = "ours", "Kafka"
PLACES = {
    LAB: OURS,
    KAFKA: THEIRS,
    KAFKA_PLAIN: "Kafka, not idempotent",
    KAFKA_AT_ONCE: "Kafka, linger.ms=0",
}
SYNC = "the disk's own sync"
MEMORY = "a source from memory"

TARGETS = [
    (WRITE, THEIRS, 1.2, True),
    (TAIL, THEIRS, 0.3, False),
    (TAIL_99, THEIRS, 0.5, False),
    (SINGLE, SYNC, 1.5, False),
    (AGE, THEIRS, 0.6, False),
    (BATCH, MEMORY, 0.75, True),
]
"""A row of ours, what it is divided by, the wanted ratio, and whether that is the least."""

READ_WANTED = 2_000_000


class Rows:
    """Measures the rows of one round that need no Spark. ``run`` None: to warm up."""

    def __init__(self, run: Run | None, addresses: dict[str, str], options: argparse.Namespace) -> None:
        self._run = run
        self._addresses = addresses
        self._options = options

    def measure(self, turn: int) -> None:
        """Add the figures of one round."""
        options = self._options
        n_at_tail = int(options.rate * options.seconds)
        for kind in self._in_turns(turn, LAB, KAFKA, KAFKA_PLAIN):
            self._add(kind, {WRITE: figures_of("write", self._task(kind, options.events))["rate"]})
        for kind in self._in_turns(turn, LAB, KAFKA):
            self._add(kind, {READ: figures_of("read", self._task(kind, options.events))["rate"]})
            found = figures_of("one_by_one", self._task(kind, options.single_events))
            self._add(kind, {SINGLE: found["p50_ms"], SINGLE_99: found["p99_ms"]})
        for kind in self._in_turns(turn, LAB, KAFKA, KAFKA_AT_ONCE):
            found = producer_to_tail_reader(self._task(kind, n_at_tail, options.rate))
            self._add(kind, {TAIL: found["p50_ms"], TAIL_99: found["p99_ms"]})
        self._add(LAB, {ARROW: options.events / self._seconds_to_write_arrays()})
        if self._run is not None:
            p50_ms, p99_ms = sync_ms(options.data)
            self._run.add(SINGLE, SYNC, p50_ms)
            self._run.add(SINGLE_99, SYNC, p99_ms)

    def _in_turns(self, turn: int, *kinds: str) -> list[str]:
        return in_turns([kind for kind in kinds if kind in self._addresses], turn)

    def _task(self, kind: str, n_events: int, rate: float = float("inf")) -> Task:
        return new_task(kind, self._addresses[kind], n_events, rate, self._options.segments)

    def _add(self, kind: str, figures: dict[str, float]) -> None:
        if self._run is not None:
            for what, value in figures.items():
                self._run.add(what, PLACES[kind], value)

    def _seconds_to_write_arrays(self) -> float:
        segments = ScalingPolicy.fixed(self._options.segments)
        with connect(self._addresses[LAB]) as client:
            stream = client.create_stream(f"bench/{_new_name()}", scaling=segments)
            stream.write(*input_of(10_000))  # connects
            return seconds_to_write(stream, *input_of(self._options.events))


def new_task(kind: str, address: str, n_events: int, rate: float, segments: int) -> Task:
    """Return a task on a new stream or topic."""
    name = _new_name()
    ends_of(kind, address).create(name, segments)
    return Task(kind, address, name, n_events, rate)


def _new_name() -> str:
    return f"t{uuid4().hex[:12]}"


def judge(run: Run) -> None:
    """Compare the ratios, each taken inside a round, with what was wanted."""
    for what, other, wanted, at_least in TARGETS:
        name = f"{what}, ours : {other}"
        run.target(name, run.ratio(name, (what, OURS), (what, other)), wanted, at_least=at_least)
    run.target(READ, run.median(READ, OURS), READ_WANTED)


def table(run: Run) -> str:
    """Return the rows as a Markdown table of medians, and the median of the ratios of each round."""
    lines = ["| | Kafka | ours | ours : Kafka |", "|---|--:|--:|--:|"]
    for what in ROWS:
        ours, theirs = run.of(what, OURS), run.of(what, THEIRS)
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)] if theirs else []
        lines.append(f"| {what} | {_cell(theirs)} | {_cell(ours)} | {_cell(ratios)} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    return number(statistics.median(values)) if values else "–"


def start(options: argparse.Namespace, stack: ExitStack) -> dict[str, str]:
    """Start the systems, and return the address of each kind."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.data))
    addresses = {LAB: stack.enter_context(StoreProcess(f"{folder}/store")).uri}
    if not options.no_kafka:
        try:
            servers = stack.enter_context(Broker(options.data))
            addresses.update(dict.fromkeys((KAFKA, KAFKA_PLAIN, KAFKA_AT_ONCE), servers))
        except NoKafkaError as error:
            print(f"NO KAFKA to compare with: {error}", file=sys.stderr)
    return addresses


def start_spark(addresses: dict[str, str], options: argparse.Namespace, stack: ExitStack) -> SparkRows | None:
    """Start Spark, with Kafka's connector if there is one. Return None if Spark is left out."""
    if options.no_spark:
        return None
    connector = ""
    if KAFKA in addresses:
        try:
            connector = connector_jars()
        except NoKafkaError as error:
            print(f"NO KAFKA IN SPARK to compare with: {error}", file=sys.stderr)
    kinds = [kind for kind in (LAB, KAFKA) if kind == LAB or connector]
    return stack.enter_context(SparkRows({kind: addresses[kind] for kind in kinds}, connector))


def measure_spark(spark: SparkRows, run: Run | None, turn: int, options: argparse.Namespace) -> None:
    """Add Spark's figures of one round. ``run`` None: to warm up."""
    n_events = int(options.rate * options.seconds)
    figures: list[tuple[str, str, float]] = []
    for kind in in_turns(list(spark.addresses), turn):
        task = new_task(kind, spark.addresses[kind], n_events, options.rate, options.segments)
        figures.append((AGE, PLACES[kind], spark.mean_age_ms(task)))
    for kind, rate in spark.batch_rates(options.events, options.segments, turn).items():
        figures.append((BATCH, PLACES.get(kind, MEMORY), rate))
    if run is not None:
        for what, place, value in figures:
            run.add(what, place, value)


def within(
    minutes: float, turns: Iterable[int], clock: Callable[[], float] = time.monotonic
) -> Iterator[int]:
    """Return the turns that begin within ``minutes``, and say so if that was not all of them."""
    until = clock() + minutes * 60
    for turn in turns:
        if clock() > until:
            print(f"STOPPED before round {turn}: --minutes {minutes:g} are over", file=sys.stderr)
            return
        yield turn


def main() -> int:
    parser = parser_of(__doc__, rounds=3)
    shown = "(default: %(default)s)"
    parser.add_argument("--events", type=int, default=500_000, help=f"written in a loop {shown}")
    parser.add_argument("--single-events", type=int, default=500, help=f"written one by one {shown}")
    parser.add_argument("--rate", type=float, default=10_000.0, help=f"events/s to a tail reader {shown}")
    parser.add_argument("--seconds", type=float, default=5.0, help=f"of that rate {shown}")
    parser.add_argument("--segments", type=int, default=4, help=f"or partitions {shown}")
    parser.add_argument("--minutes", type=float, default=20.0, help=f"after which no round begins {shown}")
    parser.add_argument(
        "--data", metavar="DIR", help="store and broker keep their logs in new folders in here"
    )
    parser.add_argument("--no-kafka", action="store_true", help="measure ours alone")
    parser.add_argument("--no-spark", action="store_true", help="leave out the rows of Spark")
    options = parser.parse_args()
    run = Run(
        f"The everyday path: {options.events:,} events in a loop, {options.rate:,.0f} events/s at the tail, "
        f"{options.segments} segments or partitions"
    )
    with ExitStack() as stack:
        addresses = start(options, stack)
        spark = start_spark(addresses, options, stack)
        for turn in within(options.minutes, rounds_of(options)):
            counted = run if turn else None
            Rows(counted, addresses, options).measure(turn)
            if spark is not None:
                measure_spark(spark, counted, turn, options)
        run.measured()
    judge(run)
    if not options.json:
        print(table(run), end="\n\n")
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())

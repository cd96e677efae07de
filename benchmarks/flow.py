"""The engine's speed, beside a released Flink: python -m benchmarks.flow

One job: source, key by a word, rolling count, exactly-once sink into files of JSON lines, parallelism 2, a
checkpoint each second. Measured in turns: the engine on the asyncio home, the same with one checkpoint at its
end, the same with a failure in its middle, and Flink 2.2.1 (Java and Maven; left out loudly without them).
Every run is checked: as many committed lines as records.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.flink_job import FlinkJob, NoFlinkError
from benchmarks.run import Run, in_turns, parser_of, rounds_of
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.config import JobConfig
from pravega_lab.engine.flow.coordinator import CheckpointConfig
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.functions import count
from pravega_lab.engine.flow.job import Job
from pravega_lab.engine.flow.observer import CheckpointCompleted, CheckpointPending, Observation
from pravega_lab.engine.flow.restart import FixedDelay
from pravega_lab.engine.flow.stream import StreamEnvironment

RATE_WANTED = 1_000_000
CHECKPOINT_COST_MAX = 1.05
PARALLELISM = 2
BLOCK = 1_000_000
BATCH_ROWS = 16_384
INTERVAL_MS = 1_000
FAR_MS = 86_400_000  # Flink takes one by itself when all data has ended
T = TypeVar("T")

RATE, CPU = "records/s", "CPU seconds per million records"
MEDIAN, SLOWEST = "checkpoint, ms, median", "checkpoint, ms, 95 of 100"
RECOVERY = "failure to first record after the restore, ms"
OURS, BARE, FLINK, BARE_FLINK = "asyncio", "asyncio, one checkpoint", "Flink 2.2.1", "Flink, one checkpoint"


@dataclass
class Found:
    """Of one run: from the start until the last record was written, and what its checkpoints took."""

    seconds: float
    cpu_s: float
    checkpoints_ms: list[float] = field(default_factory=list)
    recovery_ms: float | None = None


@dataclass
class Tally:
    """What the sinks of all subtasks, and of all attempts, have written."""

    n_wanted: int
    has_all: asyncio.Event = field(default_factory=asyncio.Event)
    n_written: int = 0
    last_s: float = 0.0
    recovered_s: float | None = None

    def wrote(self, n: int, is_restored: bool) -> None:
        self.n_written += n
        self.last_s = time.perf_counter()
        if is_restored and self.recovered_s is None:
            self.recovered_s = self.last_s
        if self.n_written >= self.n_wanted:
            self.has_all.set()


class TalliedSink(TwoPhaseFileSink):
    """Says what it has written, and when."""

    def __init__(self, folder: str, tally: Tally) -> None:
        super().__init__(folder)
        self._at, self._tally = folder, tally

    def __deepcopy__(self, memo: dict[int, Any]) -> TalliedSink:
        return TalliedSink(self._at, self._tally)

    def write(self, transaction: dict[str, Any], batch: Batch) -> None:
        super().write(transaction, batch)
        self._tally.wrote(batch.num_rows, not self._context.task_name.endswith("#0"))


class Durations:
    """An observer: how long checkpoints took, in ms."""

    def __init__(self) -> None:
        self._begun: dict[int, float] = {}
        self.found_ms: list[float] = []

    def observe(self, observation: Observation) -> None:
        if isinstance(observation, CheckpointPending):
            self._begun[observation.checkpoint_id] = time.perf_counter()
        elif isinstance(observation, CheckpointCompleted):
            began = self._begun.pop(observation.checkpoint_id)
            self.found_ms.append(1000 * (time.perf_counter() - began))


def words(n_records: int, n_keys: int) -> pa.Table:
    """A column ``word`` of texts in a scattered order; one block over and over."""
    numbers = np.random.default_rng(7).integers(0, n_keys, BLOCK)
    block = pa.table({"word": pa.array([f"key-{n:06d}" for n in range(n_keys)]).take(pa.array(numbers))})
    return pa.concat_tables([block] * -(-n_records // BLOCK)).slice(0, n_records)


def job_of(
    records: pa.Table, folder: str, tally: Tally, durations: Durations, interval_ms: int | None
) -> Job:
    env = StreamEnvironment("count", parallelism=PARALLELISM)
    stream = env.from_rows(records, splits=PARALLELISM, batch_rows=BATCH_ROWS)
    stream.key_by("word").aggregate(count(), column="n").sink_to(TalliedSink(f"{folder}/out", tally))
    config = JobConfig(
        CheckpointConfig(interval_ms=interval_ms),
        restart=FixedDelay(wait_ms=0),
        channel_capacity=BATCH_ROWS,
        folder=f"{folder}/checkpoints",
    )
    return Job(env.job_graph(), config, observer=durations)


async def run_ours(records: pa.Table, folder: str, interval_ms: int | None) -> Found:
    """``interval_ms`` None: one checkpoint, when everything is written."""
    tally, durations = Tally(len(records)), Durations()
    job = job_of(records, folder, tally, durations, interval_ms)
    began, cpu = time.perf_counter(), time.process_time()
    await job.start()
    await tally.has_all.wait()
    found = Found(tally.last_s - began, time.process_time() - cpu, list(durations.found_ms))
    if interval_ms is None:
        await job.trigger_checkpoint()
    await job.wait()
    check_lines(Path(folder) / "out", len(records))
    return found


async def recover_ours(records: pa.Table, folder: str) -> float:
    """A subtask fails half-way; ms until a restored sink writes."""
    tally = Tally(len(records))
    job = job_of(records, folder, tally, Durations(), INTERVAL_MS // 4)
    await job.start()
    while tally.n_written < len(records) // 2 or job.latest_checkpoint is None:
        await asyncio.sleep(0.01)
    failed_s = time.perf_counter()
    job.fail_subtask(SubtaskId("aggregate → sink", 0), RuntimeError("the failure that was planned"))
    await job.wait()
    check_lines(Path(folder) / "out", len(records))
    assert tally.recovered_s is not None
    return 1000 * (tally.recovered_s - failed_s)


def check_lines(folder: Path, n_wanted: int) -> None:
    """Is every record committed, once?"""
    n_lines = sum(path.read_bytes().count(b"\n") for path in folder.rglob("part-*"))
    assert n_lines == n_wanted, f"{n_lines} lines are committed, {n_wanted} were to be"


class Turns:
    """The runs of a round, by where they run. ``add`` takes what a run found."""

    def __init__(self, options: argparse.Namespace, flink: FlinkJob | None) -> None:
        self._keys, self._flink = options.keys, flink
        self._records = words(options.records, options.keys)
        self.of = {OURS: self.ours, BARE: self.bare}
        if flink is not None:
            self.of |= {FLINK: self.flink, BARE_FLINK: self.bare_flink}

    def ours(self) -> Found:
        found = self._asyncio(lambda folder: run_ours(self._records, folder, INTERVAL_MS))
        failing = self._records.slice(0, len(self._records) // 3)
        found.recovery_ms = self._asyncio(lambda folder: recover_ours(failing, folder))
        return found

    def bare(self) -> Found:
        return self._asyncio(lambda folder: run_ours(self._records, folder, None))

    def _asyncio(self, make: Callable[[str], Coroutine[Any, Any, T]]) -> T:
        with tempfile.TemporaryDirectory() as folder:
            return asyncio.run(make(folder))

    def flink(self) -> Found:
        found = self._on_flink(2, INTERVAL_MS)
        found.recovery_ms = self._on_flink(6, INTERVAL_MS // 4, fails=True).recovery_ms
        return found

    def bare_flink(self) -> Found:
        return self._on_flink(2, FAR_MS)

    def _on_flink(self, part: int, interval_ms: int, *, fails: bool = False) -> Found:
        """A ``part`` of the records, for it takes longer."""
        assert self._flink is not None
        n_records = len(self._records) // part
        with tempfile.TemporaryDirectory() as folder:
            told = self._flink.run(
                folder,
                records=n_records,
                keys=self._keys,
                parallelism=PARALLELISM,
                interval_ms=interval_ms,
                fails=fails,
            )
            check_lines(Path(folder) / "out", n_records)
        per_record = len(self._records) / n_records
        seconds, cpu_s = told["seconds"] * per_record, told["cpu_s"] * per_record
        return Found(seconds, cpu_s, told["checkpoints_ms"][:-1], told["recovery_ms"])  # not the final one


def add(run: Run, where: str, found: Found, n_records: int) -> None:
    """What one run found, into the figures of its round."""
    run.add(RATE, where, n_records / found.seconds)
    run.add(CPU, where, 1e6 * found.cpu_s / n_records)
    if where in (OURS, FLINK) and found.checkpoints_ms:
        run.add(MEDIAN, where, statistics.median(found.checkpoints_ms))
        run.add(SLOWEST, where, float(np.percentile(found.checkpoints_ms, 95)))
    if found.recovery_ms:
        run.add(RECOVERY, where, found.recovery_ms)


def flink_of(stack: ExitStack) -> FlinkJob | None:
    try:
        return stack.enter_context(FlinkJob())
    except NoFlinkError as error:
        print(f"NO FLINK to compare with: {error}", file=sys.stderr)
        return None


def main() -> int:
    parser = parser_of(__doc__, rounds=3)
    parser.add_argument("--records", type=int, default=6_000_000, help="a run (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=1_000, help="distinct words (default: %(default)s)")
    options = parser.parse_args()
    run = Run(f"The engine: source, key by, count, exactly-once file sink; {options.keys:,} keys")
    with ExitStack() as stack:
        turns = Turns(options, flink_of(stack))
        for turn in rounds_of(options):
            for where in in_turns(list(turns.of), turn):
                found = turns.of[where]()
                if turn:
                    add(run, where, found, options.records)
    cost = run.ratio("records/s with one checkpoint : with one each second", (RATE, BARE), (RATE, OURS))
    run.ratio("CPU a record with one each second : with one checkpoint", (CPU, OURS), (CPU, BARE))
    run.ratio(
        "records/s with one checkpoint : with one each second, Flink", (RATE, BARE_FLINK), (RATE, FLINK)
    )
    run.ratio("records/s, asyncio : Flink", (RATE, OURS), (RATE, FLINK))
    run.ratio("CPU a record, asyncio : Flink", (CPU, OURS), (CPU, FLINK))
    run.target("records/s", run.median(RATE, OURS), RATE_WANTED)
    run.target("what checkpoints cost, ratio", cost, CHECKPOINT_COST_MAX, at_least=False)
    return run.finish(options)


if __name__ == "__main__":
    sys.exit(main())

"""Small jobs for workers, and what must come of them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.restart import FixedDelay, RestartStrategy
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsSource

KEYS = 7


def config(folder: Path, restart: RestartStrategy | None = None, interval_ms: int = 100) -> JobConfig:
    """Checkpoints often; restarts soon and without end unless it is said otherwise."""
    checkpoints = CheckpointConfig(interval_ms=interval_ms, tolerable_failures=1000)
    return JobConfig(
        checkpoints,
        restart=restart or FixedDelay(wait_ms=50),
        folder=str(folder / "chk"),
        channel_capacity=64,
    )


def tell_pid(folder: Path) -> Callable[[Row], Row]:
    """A map that lets everything through, and tells in files of ``folder`` which processes run it."""

    def tell(row: Row) -> Row:
        told = folder / f"pid-{os.getpid()}"
        if not told.exists():
            told.touch()
        return row

    return tell


def told_pids(folder: Path) -> list[int]:
    """Of processes in which a subtask has run."""
    return sorted(int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*"))


def words(
    folder: Path,
    rows: int,
    *,
    parallelism: int = 2,
    pause_ms: int | Callable[[], int] = 0,
    look: Callable[[Row], Row] | None = None,
) -> JobGraph:
    """rows → map → key by → count → two-phase files. ``pause_ms``: behind each batch of a source."""
    env = StreamEnvironment("words", parallelism=parallelism)
    given = [{"word": f"w{n % KEYS}"} for n in range(rows)]
    pause = pause_ms if callable(pause_ms) else lambda: pause_ms
    source = RowsSource(given, splits=4, batch_rows=20, pause_ms=pause)
    counted = (
        env.from_source(source, uid="rows")
        .map(look or tell_pid(folder))
        .key_by("word")
        .aggregate(count())
        .uid("counts")
    )
    counted.sink_to(TwoPhaseFileSink(str(folder / "out")), uid="files")
    return env.job_graph()


def committed(folder: Path) -> list[Row]:
    return asyncio.run(committed_rows(str(folder / "out")))


def check_counts(found: list[Row], rows: int) -> None:
    """Every count of every word, once: what is lost is missing, what is doubled comes twice."""
    wanted: Counter[Any] = Counter()
    sizes: Counter[str] = Counter()
    for n in range(rows):
        word = f"w{n % KEYS}"
        sizes[word] += 1
        wanted[word, sizes[word]] += 1
    came = Counter((row["word"], row["value"]) for row in found)
    lost, doubled = wanted - came, came - wanted
    assert (sum(lost.values()), sum(doubled.values())) == (0, 0), (lost, doubled)

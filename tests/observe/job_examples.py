"""Jobs of the engine under virtual time, and what their observers wrote down. Equal on every machine."""

from __future__ import annotations

from functools import cache

from pravega_lab.engine.flow.collections import RowsSource
from pravega_lab.engine.flow.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.files import Files, MemoryFiles
from pravega_lab.engine.flow.functions import count
from pravega_lab.engine.flow.graph import JobGraph
from pravega_lab.engine.flow.stream import StreamEnvironment
from pravega_lab.engine.simulation.flow_steps import SteppedJob
from pravega_lab.observe import JobObserver, Journal

LINE = "to be or not to be that is the question whether tis nobler in the mind to suffer"
WORDS = LINE.split(" ")


FAILS_AT = 250  # steps: between checkpoint 1 and 2


def words_job(files: Files, *, parallelism: int = 2, rounds: int = 8) -> JobGraph:
    """Words of two splits, one longer than the other, counted by word into a two-phase file sink."""
    env = StreamEnvironment("words", parallelism=parallelism)
    rows = [{"word": word} for word in WORDS * rounds]
    short = [{"word": word} for word in WORDS]
    pause = {"batch_rows": 2, "pause_ms": lambda: 12}
    source = env.from_source(RowsSource(rows, splits=2, **pause), name="lines").set_parallelism(2)
    once = env.from_source(RowsSource(short, splits=1, **pause), name="once").set_parallelism(1)
    counted = source.union(once).key_by("word").aggregate(count())
    counted.rebalance().sink_to(TwoPhaseFileSink("out", files)).set_parallelism(2)
    return env.job_graph()


def stepped(seed: int = 3) -> tuple[JobObserver, SteppedJob]:
    """A run of it that waits for its first step."""
    observer = JobObserver(words_job(MemoryFiles()), seed=seed, simulated=True)
    return observer, SteppedJob(words_job, seed=seed, observer=observer)


@cache
def whole_run() -> Journal:
    """From start to end, with a task that fails and comes back from checkpoint 1."""
    observer, run = stepped()
    while run.step():
        if run.steps == FAILS_AT:
            run.act("fail", "aggregate[1]")
    observer.close()
    assert run.errors == []
    return observer.journal


@cache
def half_run(steps: int = 110) -> Journal:
    """As it stands in the middle: checkpoint 1 is on its way."""
    observer, run = stepped()
    while run.steps < steps:
        run.step()
    observer.close()
    return observer.journal

"""The jobs of tutorial 09: a mixed job and a chain of two-phase-commit operators, and what is counted.

They run under virtual time from a seed, so the numbers are the same on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.history import Finishing, History, LastPiece
from pravega_lab.engine.flow.elements import Watermark
from pravega_lab.engine.flow.files import Files
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.operators.functions import CoProcessFunction, KeyedContext
from pravega_lab.engine.flow.operators.operator import MaybeAwaitable, Operator
from pravega_lab.engine.flow.sink.file_sink import PENDING, TwoPhaseFileSink
from pravega_lab.engine.flow.sink.two_phase import TwoPhaseCommitOperator
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.lab.stepping import StepByStep

INTERVAL_MS = 200
CUSTOMERS, CUSTOMER_EVERY_MS = 10, 50
ORDERS, ORDER_EVERY_MS = 400, 20
CHAIN_ROWS = 20


class _Bills(CoProcessFunction):
    """Adds to an order the city of its customer, if it is known, and passes its number to ``note``."""

    def __init__(self, note: Callable[[int], None]) -> None:
        self._note = note

    def open(self, context: KeyedContext) -> None:
        self._city = context.value_state("city")

    def process_1(self, row: Row, context: KeyedContext) -> None:
        self._note(row["order"])
        context.emit({**row, "city": self._city.get() or "?"})

    def process_2(self, row: Row, context: KeyedContext) -> None:
        self._city.update(row["city"])


@dataclass
class MixedJob:
    """Ten customers, which are read once, beside endless orders: a run of this job, step by step.

    Both meet in ``bills``. ``known`` stores the customers and ``billed`` the bills, both through a two-phase
    sink into files. ``seen`` has the virtual ms and the number of every processed order, each time it was
    processed.
    """

    finishing: Finishing
    last_piece: LastPiece = LastPiece.DISCARDED
    seed: int = 1
    name: str = "run"
    seen: list[tuple[int, int]] = field(default_factory=list)
    run: StepByStep = field(init=False)

    def __post_init__(self) -> None:
        history = History(finishing=self.finishing, last_piece=self.last_piece)
        config = JobConfig(
            CheckpointConfig(interval_ms=INTERVAL_MS, timeout_ms=2_000),
            restart=FixedDelay(wait_ms=10),
            history=history,
            channel_capacity=8,
        )
        self.run = StepByStep(self._make, config, seed=self.seed, name=self.name)

    def _make(self, files: Files) -> JobGraph:
        env = StreamEnvironment("mixed", chaining=False)
        people = [{"customer": n, "city": "ABC"[n % 3]} for n in range(CUSTOMERS)]
        bought = [{"order": n, "customer": n % CUSTOMERS} for n in range(ORDERS)]
        customers = env.from_source(
            RowsSource(people, batch_rows=1, pause_ms=lambda: CUSTOMER_EVERY_MS), name="customers"
        )
        forever = Boundedness.CONTINUOUS_UNBOUNDED
        orders = env.from_source(
            RowsSource(bought, batch_rows=1, pause_ms=lambda: ORDER_EVERY_MS, boundedness=forever),
            name="orders",
        )
        customers.sink_to(TwoPhaseFileSink("known", files), name="known")
        bills = (
            orders.key_by("customer")
            .connect(customers.key_by("customer"))
            .process(_Bills(lambda number: self.seen.append((self.run.now_ms, number))), name="bills")
        )
        bills.sink_to(TwoPhaseFileSink("billed", files), name="billed")
        return env.job_graph()

    def to(self, at_ms: int) -> MixedJob:
        """Advance to this virtual millisecond, or to the end."""
        while self.run.now_ms < at_ms and not self.run.is_over:
            self.run.step()
        return self

    @property
    def taken_twice(self) -> int:
        """The number of orders that were processed again."""
        return len(self.seen) - len({number for _, number in self.seen})

    def files(self, sink: str) -> list[tuple[str, str, list[Row]]]:
        """Return (tray, name of the file, its rows) of a sink, as the files are now."""
        return listing(self.run, sink)

    def committed(self, sink: str) -> list[Row]:
        """The committed rows of a sink."""
        return [row for tray, _, rows in self.files(sink) if tray == "committed" for row in rows]

    def completed(self) -> list[tuple[int, int]]:
        """Return (id, virtual ms since the start) of the completed checkpoints."""
        return _completed(self.run)


def _completed(run: StepByStep) -> list[tuple[int, int]]:
    done, start_ms = run.journal.to_pandas("checkpoint_completed"), run.journal.start_ms or 0
    return [(int(n), int(ms) - start_ms) for n, ms in zip(done.checkpoint_id, done.time_ms, strict=True)]


def listing(run: StepByStep, sink: str) -> list[tuple[str, str, list[Row]]]:
    found = []
    for path, data in sorted(run.files.data.items()):
        folder, _, rest = path.partition("/")
        if folder == sink:
            tray = "pre-committed" if rest.startswith(PENDING) else "committed"
            found.append((tray, rest, [json.loads(line) for line in data.decode().splitlines()]))
    return found


class _Passing(TwoPhaseCommitOperator):
    """A two-phase-commit operator that also passes its records on, so that a chain can have several."""

    def process_batch(self, batch: Batch, input: int) -> MaybeAwaitable:
        self.context.output.emit(batch)
        return super().process_batch(batch, input)

    def process_watermark(self, watermark: Watermark) -> None:
        Operator.process_watermark(self, watermark)


def chain(length: int, finishing: Finishing, *, seed: int = 1) -> StepByStep:
    """Return a job with a bounded source and a row of two-phase-commit operators, one task each."""

    def make(files: Files) -> JobGraph:
        env = StreamEnvironment("chain", chaining=False)
        stream = env.from_source(
            RowsSource([{"n": n} for n in range(CHAIN_ROWS)], batch_rows=2, pause_ms=lambda: 10)
        )
        for n in range(1, length + 1):
            stream = stream.transform(f"sink {n}", _maker(n, files))
        return env.job_graph()

    config = JobConfig(CheckpointConfig(interval_ms=INTERVAL_MS), history=History(finishing=finishing))
    return StepByStep(make, config, seed=seed)


def checkpoints_after_the_end(run: StepByStep) -> tuple[int, int]:
    """Run a `chain` to its end.

    Return how many checkpoints completed after its source had no more data, and how many virtual ms the job
    continued after that.
    """
    run.until("end")
    calls = run.journal.to_pandas("operator_called")
    ended_ms = int(calls[calls.what == "finish"].time_ms.min()) - (run.journal.start_ms or 0)
    return sum(at_ms >= ended_ms for _, at_ms in _completed(run)), run.now_ms - ended_ms


def _maker(n: int, files: Files) -> Callable[[], Operator]:
    return lambda: _Passing(TwoPhaseFileSink(f"out-{n}", files))

"""A job of the engine, step by step: ten customers, which end soon, join a longer row of orders."""

from __future__ import annotations

import json

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.history import Finishing, History
from pravega_lab.engine.flow.files import Files, MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.operators.functions import CoProcessFunction, KeyedContext
from pravega_lab.engine.flow.sink.file_sink import PENDING, TwoPhaseFileSink
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.simulation.flow.steps import SteppedJob
from pravega_lab.engine.simulation.kernel.loop import START_US
from pravega_lab.errors import PravegaError
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.observe.ledger.observations import Acted
from pravega_lab.tutorials.play.catalogue import Scenario
from pravega_lab.tutorials.play.spec import Act, RunSpec
from pravega_lab.tutorials.play.worlds.played import EXACT, NOT_DONE, Played, numbered_views
from pravega_lab.widgets.checkpoint_timeline.view import CheckpointTimeline
from pravega_lab.widgets.job_graph.view import JobGraph as JobGraphView
from pravega_lab.widgets.ledger.view import LedgerView
from pravega_lab.widgets.live.view import View

CUSTOMERS, CUSTOMER_EVERY_MS = 10, 50
ORDERS, ORDER_EVERY_MS = 150, 20
SINKS = {"known": "customer", "billed": "order"}
ZERO_MS = START_US // 1000
LIMIT_MS = 10_000
FINISHING = {"flip-147": Finishing.FLIP_147, "before": Finishing.BEFORE_FLIP_147}


class _Bills(CoProcessFunction):
    """Adds to an order the city of its customer, if it is known."""

    def open(self, context: KeyedContext) -> None:
        self._city = context.value_state("city")

    def process_1(self, row: Row, context: KeyedContext) -> None:
        context.emit({**row, "city": self._city.get() or "?"})

    def process_2(self, row: Row, context: KeyedContext) -> None:
        self._city.update(row["city"])


def _graph(files: Files) -> JobGraph:
    env = StreamEnvironment("bills", chaining=False)
    people = [{"customer": n, "city": "ABC"[n % 3]} for n in range(CUSTOMERS)]
    bought = [{"order": n, "customer": n % CUSTOMERS} for n in range(ORDERS)]
    customers = env.from_source(
        RowsSource(people, batch_rows=1, pause_ms=lambda: CUSTOMER_EVERY_MS), name="customers"
    )
    orders = env.from_source(RowsSource(bought, batch_rows=1, pause_ms=lambda: ORDER_EVERY_MS), name="orders")
    customers.sink_to(TwoPhaseFileSink("known", files), name="known")
    bills = orders.key_by("customer").connect(customers.key_by("customer")).process(_Bills(), name="bills")
    bills.sink_to(TwoPhaseFileSink("billed", files), name="billed")
    return env.job_graph()


def play(scenario: Scenario, spec: RunSpec) -> Played:
    """Run a scenario of this world."""
    acts = spec.acts if spec.acts is not None else scenario.acts
    return _PlayedJob(_JobWorld(FINISHING[scenario.chosen(spec, "finishing")], spec.seed, acts))


class _JobWorld:
    """One run, which is over when it has been constructed."""

    def __init__(self, finishing: Finishing, seed: int, acts: tuple[Act, ...]) -> None:
        config = JobConfig(
            CheckpointConfig(interval_ms=200, timeout_ms=2_000),
            restart=FixedDelay(wait_ms=10),
            history=History(finishing=finishing),
            channel_capacity=8,
        )
        self.observer = JobObserver(_graph(MemoryFiles()), seed=seed, simulated=True)
        self.job = SteppedJob(_graph, config, seed=seed, observer=self.observer)
        self.ledger = Ledger(self.observer.journal, name="rows", now_ms=lambda: self.job.now_ms)
        self.problems: list[str] = []
        self.channels: dict[str, None] = {}
        self._taken: dict[str, None] = {}
        rows = [
            f"{kind} {n}"
            for kind, count in (("customer", CUSTOMERS), ("order", ORDERS))
            for n in range(count)
        ]
        self.ledger.expected(rows, witness="the rows of both sources")
        try:
            self._run(list(acts))
        except PravegaError as error:
            self.problems.append(str(error).splitlines()[0])
        self._look_at_files()
        self.problems += self.job.errors
        if not self.problems:
            self.ledger.settled("committed")
        self.job.close()
        self.observer.close()

    def _run(self, acts: list[Act]) -> None:
        job = self.job
        while not job.is_over:
            while acts and job.now_ms >= ZERO_MS + 1000 * acts[0].at_s:
                self._try(acts.pop(0))
            if job.now_ms > ZERO_MS + LIMIT_MS:
                self.problems.append(
                    f"The job is still {job.job.state} after {LIMIT_MS / 1000:g} virtual seconds."
                )
                return
            job.step()
            self.channels.update(dict.fromkeys(job.channels()))
            self._look_at_files()

    def _try(self, act: Act) -> None:
        verb, *words = act.text.split()
        try:
            if verb == "fork":
                self.job.loop.reseed(f"{self.job.seed}/fork/{' '.join(words)}")
                self._note(f"other chances from here: {' '.join(words)}", is_fault=False)
            else:
                self._note(self.job.act(verb, *(int(word) if word.isdecimal() else word for word in words)))
        except (PravegaError, TypeError) as error:
            self._note(f"{NOT_DONE}{act.text}: {error}".splitlines()[0], is_fault=False)

    def _note(self, text: str, *, is_fault: bool = True) -> None:
        if is_fault:
            self.ledger.fault(text)
        else:
            self.observer.journal.append(Acted(time_ms=self.job.now_ms, text=text, target="bills"))

    def _look_at_files(self) -> None:
        """Take what was committed since the last look."""
        for path in [path for path in self.job.files.data if path not in self._taken]:
            folder, _, rest = path.partition("/")
            if folder not in SINKS or rest.startswith(PENDING):
                continue
            self._taken[path] = None
            rows = [json.loads(line) for line in self.job.files.data[path].decode().splitlines()]
            kind = SINKS[folder]
            self.ledger.committed([f"{kind} {row[kind]}" for row in rows], where=folder)


class _PlayedJob(Played):
    """The result of a run of `_JobWorld`."""

    def __init__(self, world: _JobWorld) -> None:
        found = world.ledger.verdict()
        super().__init__(
            journals=[world.observer.journal],
            verdict=found.sentence,
            first="" if found.sentence == EXACT else found.first,
            problems=world.problems,
            zero_ms=ZERO_MS,
            targets={
                "tasks": [str(id) for id in world.job.graph.subtasks()],
                "channels": list(world.channels),
                "chances": [str(n) for n in range(1, 10)],
            },
            steps=world.job.loop.steps,
            virtual_s=(world.job.now_ms - ZERO_MS) / 1000,
        )

    def views(self) -> list[View]:
        """Return job graph, checkpoint timeline and ledger."""
        [journal] = self.journals
        return numbered_views(
            [JobGraphView(journal), CheckpointTimeline(journal, job=True), LedgerView(journal)]
        )

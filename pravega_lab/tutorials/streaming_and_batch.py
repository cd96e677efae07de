"""The jobs of tutorial 13: Figure 1, a changelog, a year before a live stream, a side input; in either mode.

They run under virtual time. The functions of the jobs themselves record what happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pravega_lab.engine.flow.batch import Batch, Row, RowKind
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.master.batch_mode import BatchRunner, resolve_mode
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.operators.functions import (
    AggregateFunction,
    CoProcessFunction,
    KeyedContext,
    count,
)
from pravega_lab.engine.flow.operators.operator import Operator, RuntimeMode
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.engine.simulation.flow.steps import apart
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop

STREAMING, BATCH = RuntimeMode.STREAMING, RuntimeMode.BATCH
DAY_MS = 86_400_000
DAYS, PER_DAY, LIVE_DAYS = 365, 4, 10
MONTHS = {
    "jan": 31, "feb": 28, "mar": 31, "apr": 30, "may": 31, "jun": 30,
    "jul": 31, "aug": 31, "sep": 30, "oct": 31, "nov": 30, "dec": 31,
}  # fmt: skip
BY_TIME, BY_NAME = tuple(MONTHS), tuple(sorted(MONTHS))
KINDS = {kind.short: kind for kind in RowKind}


def run(env: StreamEnvironment, mode: RuntimeMode, *, for_ms: int | None = None) -> RuntimeMode:
    """Run a program in a mode (AUTOMATIC chooses), and return the mode.

    An endless program runs for ``for_ms`` virtual milliseconds.

    Raises:
        BadInputError: Batch execution was asked for, and a source never ends.
        JobFailedError: The program failed.
    """
    graph = env.job_graph()
    found = resolve_mode(graph, mode)
    apart(lambda: _run(graph, found, for_ms))
    return found


def _run(graph: JobGraph, mode: RuntimeMode, for_ms: int | None) -> None:
    loop = SimulationLoop("modes")  # type: ignore[abstract]  # no outside in here
    story = BatchRunner(graph).run() if mode is BATCH else _stream(graph, loop, for_ms)
    try:
        loop.run_until_complete(story)
    finally:
        loop.dispose()


async def _stream(graph: JobGraph, loop: SimulationLoop, for_ms: int | None) -> None:
    names = iter(range(1_000_000))
    job = Job(
        graph,
        JobConfig(CheckpointConfig(interval_ms=200)),
        files=MemoryFiles(),
        now_ms=lambda: loop.now_us // 1000,
        unique_id=lambda: f"{next(names):012d}",
    )
    await job.start()
    if for_ms is None:
        await job.wait()
    else:
        await asyncio.sleep(for_ms / 1000)
        await job.cancel()


class _Tell(Operator):
    """Reports each row and its kind, and emits nothing."""

    def __init__(self, told: Callable[[Row, str], None]) -> None:
        self._told = told

    def process_batch(self, batch: Batch, input: int) -> None:
        for row, _, kind in batch.records():
            self._told(row, kind.short)


def tell(stream: DataStream, told: Callable[[Row, str], None]) -> None:
    """End a stream in a function of (row, kind)."""
    stream.transform("told", lambda: _Tell(told))


# Figure 1.


@dataclass
class Touch:
    """The state of a key was read and written, with the rows that were emitted because of it."""

    key: str
    old: int
    new: int
    emitted: list[tuple[str, int]] = field(default_factory=list)


def figure_1(mode: RuntimeMode, words: str = "aba") -> list[Touch]:
    """Count words; the state already contains a = 5 and b = 4."""
    touches: list[Touch] = []

    def add(n: int, row: Row) -> int:
        touches.append(Touch(row["word"], n, n + 1))
        return n + 1

    env = StreamEnvironment("figure 1")
    rows = env.from_rows([{"word": word} for word in words], batch_rows=1).key_by("word")
    counted = rows.aggregate(AggregateFunction(lambda: 0, add, lambda n: n), initial={"a": 5, "b": 4})
    tell(counted, lambda row, _: touches[-1].emitted.append((row["word"], row["value"])))
    run(env, mode)
    return touches


# A changelog.

MOVES = [
    {"kind": kind, "name": name, "city": city}
    for kind, name, city in (
        ("+I", "ann", "Rome"), ("+I", "bob", "Rome"), ("+I", "cem", "Oslo"), ("-U", "bob", "Rome"),
        ("+U", "bob", "Oslo"), ("+I", "dot", "Rome"), ("-D", "cem", "Oslo"),
    )
]  # fmt: skip


class _Changelog(Operator):
    """Turns a row's column ``kind`` into its kind."""

    def process_batch(self, batch: Batch, input: int) -> None:
        rows = list(batch.rows)
        kinds = [KINDS[row["kind"]] for row in rows]
        self.context.output.emit(Batch.of_rows(rows, None, kinds))


def people_per_city(mode: RuntimeMode, *, as_changelog: bool = True) -> list[tuple[str, str, int]]:
    """Return (kind, city, people), as emitted. Without ``as_changelog`` every row counts."""
    told: list[tuple[str, str, int]] = []
    env = StreamEnvironment("people")
    rows = env.from_rows(MOVES, batch_rows=1)
    if as_changelog:
        rows = rows.transform("changelog", _Changelog)
    counted = rows.key_by("city").aggregate(count(), column="people", changelog=as_changelog)
    tell(counted, lambda row, kind: told.append((kind, row["city"], row["people"])))
    run(env, mode)
    return told


# A year, and then the live stream.


@dataclass
class Year:
    """The result of a year and a live stream.

    ``read`` is the day of each event of the year, as it was read; ``taken`` how many of them came into a
    window; ``days`` events by day, as emitted; ``open_most`` the most windows that were open at once.
    """

    read: list[int] = field(default_factory=list)
    taken: int = 0
    days: dict[int, int] = field(default_factory=dict)
    open_now: int = 0
    open_most: int = 0

    @property
    def late(self) -> int:
        """The number of events of the year that came too late for their window."""
        return len(self.read) - self.taken

    @property
    def counted(self) -> int:
        """The number of events of the year that are in some result."""
        return sum(n for day, n in self.days.items() if day < DAYS)

    @property
    def live_days(self) -> int:
        """The days of the live stream that were emitted."""
        return sum(day >= DAYS for day in self.days)

    def watermarks(self, bound_days: int) -> list[int]:
        """Return the day up to which event time had come, after each event of the year."""
        found, newest = [], -bound_days
        for day in self.read:
            newest = max(newest, day - bound_days)
            found.append(max(0, newest))
        return found


def year_file(name: str) -> list[Row]:
    """Return four events of every day of a month, in order."""
    first = sum(list(MONTHS.values())[: BY_TIME.index(name)])
    return _events(first, MONTHS[name])


def _events(first: int, days: int) -> list[Row]:
    step = DAY_MS // PER_DAY
    return [
        {"at": day * DAY_MS + n * step, "station": "north"}
        for day in range(first, first + days)
        for n in range(PER_DAY)
    ]


def year_then_live(files: Sequence[str], bound_days: int = 1) -> Year:
    """Count events per day: a file per month in the order given, and a live stream from the day after."""
    year = Year()
    env = StreamEnvironment("year")
    strategy = WatermarkStrategy("at", out_of_orderness_ms=bound_days * DAY_MS)
    stored = [row for name in files for row in year_file(name)]
    history = env.from_source(RowsSource(stored, batch_rows=PER_DAY), strategy, name="history")
    forever = Boundedness.CONTINUOUS_UNBOUNDED
    coming = RowsSource(_events(DAYS, LIVE_DAYS + 2), batch_rows=1, pause_ms=lambda: 20, boundedness=forever)
    live = env.from_source(coming, strategy, name="live")
    both = history.map(lambda row: _noted(row, year)).union(live).key_by("station")
    counted = both.window(TumblingWindows(DAY_MS)).aggregate(_watched_count(year), column="n")
    tell(counted, lambda row, _: _closed(row, year))
    run(env, STREAMING, for_ms=3_000)
    return year


def _noted(row: Row, year: Year) -> Row:
    year.read.append(row["at"] // DAY_MS)
    return row


def _watched_count(year: Year) -> AggregateFunction:
    def create() -> int:
        year.open_now += 1
        year.open_most = max(year.open_most, year.open_now)
        return 0

    def add(n: int, row: Row) -> int:
        year.taken += row["at"] < DAYS * DAY_MS
        return n + 1

    return AggregateFunction(create, add, lambda n: n)


def _closed(row: Row, year: Year) -> None:
    day = row["window_start"] // DAY_MS
    year.days[day] = year.days.get(day, 0) + row["n"]
    year.open_now -= 1


def year_in_batch() -> dict[int, int]:
    """Count the year alone, in batch execution, with its files in order of their names: events by day."""
    days: dict[int, int] = {}
    env = StreamEnvironment("year")
    stored = [row for name in BY_NAME for row in year_file(name)]
    counted = env.from_rows(stored, WatermarkStrategy("at")).key_by("station")
    told = counted.window(TumblingWindows(DAY_MS)).aggregate(count(), column="n")
    tell(told, lambda row, _: days.__setitem__(row["window_start"] // DAY_MS, row["n"]))
    run(env, BATCH)
    return days


# A live stream with a bounded side input.


class _Priced(CoProcessFunction):
    """Orders are in the first input, prices in the second. With ``waits`` orders wait for all prices."""

    def __init__(self, waits: bool) -> None:
        self._waits = waits

    def open(self, context: KeyedContext) -> None:
        self._listed = context.list_state("prices")
        self._prices: dict[str, int] = {row["item"]: row["price"] for row in self._listed}
        self._kept = context.list_state("kept")
        self._is_complete = False

    def process_1(self, row: Row, context: KeyedContext) -> None:
        if self._waits and not self._is_complete:
            self._kept.append(row)
        else:
            self._emit(row, context)

    def process_2(self, row: Row, context: KeyedContext) -> None:
        self._listed.append(row)
        self._prices[row["item"]] = row["price"]

    def end_input_2(self, context: KeyedContext) -> None:
        self._is_complete = True
        for row in self._kept:
            self._emit(row, context)
        self._kept.clear()

    def _emit(self, row: Row, context: KeyedContext) -> None:
        context.emit({**row, "price": self._prices.get(row["item"], 0)})


def priced_orders(mode: RuntimeMode, *, waits: bool) -> tuple[RuntimeMode, list[Row]]:
    """Run forty orders, one every 10 ms, without end, and twelve prices, one every 10 ms, with an end.

    Return the mode in which the program ran, and the orders.
    """
    items = [f"item {n}" for n in range(12)]
    bought = [{"order": n, "item": items[n * 7 % 12]} for n in range(40)]
    forever = Boundedness.CONTINUOUS_UNBOUNDED
    told: list[Row] = []
    env = StreamEnvironment("prices", chaining=False)
    orders = env.from_source(
        RowsSource(bought, batch_rows=1, pause_ms=lambda: 10, boundedness=forever), name="orders"
    )
    listed = [{"item": item, "price": 100 + n} for n, item in enumerate(items)]
    prices = env.from_source(RowsSource(listed, batch_rows=1, pause_ms=lambda: 10), name="prices")
    tell(orders.connect(prices).process(_Priced(waits)), lambda row, _: told.append(row))
    return run(env, mode, for_ms=1_000), told

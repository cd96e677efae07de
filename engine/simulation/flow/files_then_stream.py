"""Runs of random jobs whose sources are files and then a stream: those of `scenario`, with a `HybridSource`.

The files are Parquet in the simulated file store, so reads of them are slow and fail. The stream is a feed
that ends when the run does. For the command line:
``python -m pravega_lab.engine.simulation.flow.files_then_stream 0 49``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from pravega_lab.portable.columns import pa

from ...flow.batch import Row
from ...flow.graph.stream import DataStream, StreamEnvironment
from ...flow.source.hybrid import HybridSource
from ...flow.source.parquet import ParquetSource
from ...flow.source.sources import Boundedness
from ...flow.time.watermarks import WatermarkStrategy
from ..kernel.faults import EVERYTHING, Plan
from ..kernel.run import Result
from ..kernel.traffic import RULE, Size
from .feed import KEYS, Feed, FeedSource
from .program import Node, Program
from .scenario import FlowWorld, run_flow

FOLDER = "history"
ROWS_OF_GROUPS = (1, 7, 20, 40)


class HistoryProgram(Program):
    """A program each of whose sources is a folder of files and then an endless feed."""

    def _draw_source(self, n: int) -> Node:
        chance = self._chance
        self.is_endless = True
        feed = Feed(n, [None] * chance.choice((1, 2, 3)), chance, self._wants_more)
        self.feeds.append(feed)
        folder = f"{FOLDER}-{n}"
        history: list[Row] = []
        for number in range(chance.choice((1, 2, 4))):
            rows = [
                {
                    "k": chance.randrange(KEYS),
                    "v": n * 100_000 - len(history) - 1 - at,
                    "t": number * 1_000 + at,
                }
                for at in range(chance.choice((5, 60, 150)))
            ]
            history += rows
            self._store(f"{folder}/{number}.parquet", rows, chance.choice(ROWS_OF_GROUPS))
        params: dict[str, Any] = {"feed": feed, "batch": chance.choice((1, 2, 3)), "history": history}
        return self._add("history", **params, folder=folder, order_by=chance.choice((None, "t")))

    def _store(self, path: str, rows: list[Row], group_rows: int) -> None:
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=group_rows)
        self._files.data[path] = buffer.getvalue()  # type: ignore[attr-defined]  # before the run begins

    def _source(self, env: StreamEnvironment, node: Node, pause_ms: Callable[[], int]) -> DataStream:
        params = node.params
        files = ParquetSource(
            params["folder"],
            order_by=params["order_by"],
            batch_rows=params["batch"],
            pause_ms=pause_ms,
            files=self._files,
        )
        endless = Boundedness.CONTINUOUS_UNBOUNDED
        live = FeedSource(params["feed"], params["batch"], pause_ms, endless, self._oddities)
        return env.from_source(
            HybridSource(files, live), WatermarkStrategy("t", out_of_orderness_ms=1_000_000)
        )

    def _model(self, node: Node, inputs: list[list[Row]]) -> list[Row]:
        if node.kind == "history":
            return [*node.params["history"], *node.params["feed"].all_rows()]
        return super()._model(node, inputs)


class HistoryWorld(FlowWorld):
    """Is the world of such a job."""

    make_program = HistoryProgram


def run_history(seed: int, bug: str | None = None, plan: Plan = EVERYTHING, size: Size = RULE) -> Result:
    """Run one seed and return its result; see `scenario.run_flow`."""
    return run_flow(seed, bug, plan, size=size, scenario="files", make_world=HistoryWorld)


if __name__ == "__main__":
    first, last, *bugs = sys.argv[1:]
    for seed in range(int(first), int(last) + 1):
        found = run_history(seed, bugs[0] if bugs else None)
        print(seed, found.problems[:2] or "no problems", flush=True)

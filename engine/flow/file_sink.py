"""A two-phase sink into files, so that a learner can list what is open, pre-committed and committed.

::

    out/.pending/<transaction>.jsonl     pre-committed
    out/part-<transaction>.jsonl         committed

The open transaction is in memory. A row is a line of JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.errors import JobError
from pravega_lab.engine.flow.files import Files, FsspecFiles, join
from pravega_lab.engine.flow.json_lines import json_lines
from pravega_lab.engine.flow.sinks import SinkContext, TwoPhaseCommitSink

PENDING = ".pending"


class LostTransactionError(JobError):
    """What was pre-committed is not there any more: its rows are lost."""


@dataclass
class _Open:
    """What a transaction has so far."""

    n_rows: int = 0
    lines: list[bytes] = field(default_factory=list)


class TwoPhaseFileSink(TwoPhaseCommitSink):
    """``files``: in memory for the simulation; else any file system of fsspec."""

    def __init__(self, folder: str, files: Files | None = None) -> None:
        self._folder = folder
        self._files = files or FsspecFiles()
        self._open: dict[str, _Open] = {}
        self._context: SinkContext

    def __deepcopy__(self, memo: dict[int, Any]) -> TwoPhaseFileSink:
        return TwoPhaseFileSink(self._folder, self._files)

    def open(self, context: SinkContext) -> None:
        self._context = context

    def begin(self) -> dict[str, Any]:
        name = f"{self._context.subtask_index}-{self._context.unique_id()[:12]}"
        self._open[name] = _Open()
        return {"name": name, "rows": 0}

    def write(self, transaction: dict[str, Any], batch: Batch) -> None:
        content = self._open[transaction["name"]]
        content.n_rows += batch.num_rows
        content.lines.append(json_lines(batch))

    async def pre_commit(self, transaction: dict[str, Any]) -> None:
        content = self._open.pop(transaction["name"])
        transaction["rows"] = content.n_rows
        if content.n_rows:
            await self._files.write(self._pending(transaction), b"".join(content.lines))

    async def commit(self, transaction: dict[str, Any]) -> None:
        """Also when it is committed already."""
        if transaction["rows"] == 0:
            return
        try:
            await self._files.rename(self._pending(transaction), self._part(transaction))
        except FileNotFoundError:
            if f"part-{transaction['name']}.jsonl" not in await self._files.names(self._folder):
                raise LostTransactionError(
                    f"{self._pending(transaction)} was pre-committed with {transaction['rows']} "
                    f"rows and is gone"
                ) from None

    async def abort(self, transaction: dict[str, Any]) -> None:
        self._open.pop(transaction["name"], None)
        await self._files.delete(self._pending(transaction))

    def _pending(self, transaction: dict[str, Any]) -> str:
        return join(self._folder, PENDING, f"{transaction['name']}.jsonl")

    def _part(self, transaction: dict[str, Any]) -> str:
        return join(self._folder, f"part-{transaction['name']}.jsonl")


async def committed_rows(folder: str, files: Files | None = None) -> list[Row]:
    """All committed rows, part by part."""
    at = files or FsspecFiles()
    rows: list[Row] = []
    for name in await at.names(folder):
        if name.startswith("part-"):
            data = await at.read(join(folder, name))
            rows += [json.loads(line) for line in data.decode().splitlines()]
    return rows

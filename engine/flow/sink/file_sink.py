"""A two-phase sink into files, so that a learner can list what is pre-committed and committed.

::

    out/.pending/<transaction>.jsonl     pre-committed
    out/part-<transaction>.jsonl         committed

The open transaction is in memory. Each row is a line of JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..batch import Batch, Row
from ..errors import JobError
from ..files import Files, FsspecFiles, join
from .json_lines import json_lines
from .sinks import SinkContext, TwoPhaseCommitSink

PENDING = ".pending"


class LostTransactionError(JobError):
    """Raised when the file of a pre-committed transaction is missing, so its rows are lost."""


@dataclass
class _Open:
    """The rows of an open transaction."""

    n_rows: int = 0
    lines: list[bytes] = field(default_factory=list)


class TwoPhaseFileSink(TwoPhaseCommitSink):
    """Write rows into files of ``folder``.

    ``files`` is in memory in the simulation; its default is fsspec.
    """

    def __init__(self, folder: str, files: Files | None = None) -> None:
        self._folder = folder
        self._files = files or FsspecFiles()
        self._open: dict[str, _Open] = {}
        self._context: SinkContext

    def __deepcopy__(self, memo: dict[int, Any]) -> TwoPhaseFileSink:
        return TwoPhaseFileSink(self._folder, self._files)

    def open(self, context: SinkContext) -> None:
        """Receive the context."""
        self._context = context

    def begin(self) -> dict[str, Any]:
        """Return a new transaction, whose rows are kept in memory."""
        name = f"{self._context.subtask_index}-{self._context.unique_id()[:12]}"
        self._open[name] = _Open()
        return {"name": name, "rows": 0}

    def write(self, transaction: dict[str, Any], batch: Batch) -> None:
        """Add the rows to the transaction."""
        content = self._open[transaction["name"]]
        content.n_rows += batch.num_rows
        content.lines.append(json_lines(batch))

    async def pre_commit(self, transaction: dict[str, Any]) -> None:
        """Write the rows of the transaction into a pending file."""
        content = self._open.pop(transaction["name"])
        transaction["rows"] = content.n_rows
        if content.n_rows:
            await self._files.write(self._pending(transaction), b"".join(content.lines))

    async def commit(self, transaction: dict[str, Any]) -> None:
        """Rename the pending file. A transaction that is committed already stays so.

        Raises:
            LostTransactionError: there is neither a pending nor a committed file.
        """
        if transaction["rows"] == 0:
            return
        try:
            await self._files.rename(self._pending(transaction), self._part(transaction))
        except FileNotFoundError:
            if f"part-{transaction['name']}.jsonl" not in await self._files.names(self._folder):
                raise LostTransactionError(
                    f"{self._pending(transaction)} was pre-committed with {transaction['rows']} rows, "
                    "but the file does not exist any more"
                ) from None

    async def abort(self, transaction: dict[str, Any]) -> None:
        """Delete the pending file if there is one."""
        self._open.pop(transaction["name"], None)
        await self._files.delete(self._pending(transaction))

    def _pending(self, transaction: dict[str, Any]) -> str:
        return join(self._folder, PENDING, f"{transaction['name']}.jsonl")

    def _part(self, transaction: dict[str, Any]) -> str:
        return join(self._folder, f"part-{transaction['name']}.jsonl")


async def committed_rows(folder: str, files: Files | None = None) -> list[Row]:
    """Return all committed rows, file by file."""
    at = files or FsspecFiles()
    rows: list[Row] = []
    for name in await at.names(folder):
        if name.startswith("part-"):
            data = await at.read(join(folder, name))
            rows += [json.loads(line) for line in data.decode().splitlines()]
    return rows

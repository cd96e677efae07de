"""A two-phase sink into files, so that a learner can list what is pre-committed and committed.

::

    out/.pending/<transaction>.jsonl     pre-committed
    out/part-<transaction>.jsonl         committed

Each row is a line of JSON. The rows of the open transaction are in memory, but megabyte by megabyte they are
written to ``out/.pending/<transaction>.jsonl.tmp`` while the subtask continues, so that a checkpoint is
short.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.portable.waiting import gather, shield

from ..batch import Batch, Row
from ..errors import LostTransactionError
from ..files import Files, Folder, FsspecFiles, GrowingFile, join
from .json_lines import json_lines
from .sinks import MaybeAwaitable, SinkContext, TwoPhaseCommitSink

PENDING = ".pending"
BLOCK_BYTES = 1024 * 1024
WAITING_BYTES_MAX = 16 * BLOCK_BYTES


@dataclass
class _Open:
    """The rows of an open transaction: those in ``lines``, and before them those in ``file``."""

    n_rows: int = 0
    n_bytes: int = 0
    lines: list[bytes] = field(default_factory=list)
    file: GrowingFile | None = None
    writing: asyncio.Task[None] | None = None

    @property
    def is_writing(self) -> bool:
        """Return whether a block is being written."""
        return self.writing is not None and not self.writing.done()

    async def written(self) -> None:
        """Return when no block is being written. Raises what the write raised."""
        if self.writing is not None:
            await shield(self.writing)


class TwoPhaseFileSink(TwoPhaseCommitSink):
    """Write rows into files of ``folder``.

    ``files`` is in memory in the simulation; its default is fsspec.
    """

    def __init__(self, folder: Folder, files: Files | None = None) -> None:
        self._folder = join(folder)
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

    def write(self, transaction: dict[str, Any], batch: Batch) -> MaybeAwaitable:
        """Add the rows to the transaction. Wait if the disk is many blocks behind."""
        content = self._open[transaction["name"]]
        lines = json_lines(batch)
        content.n_rows += batch.num_rows
        content.n_bytes += len(lines)
        content.lines.append(lines)
        is_due = content.n_bytes >= (WAITING_BYTES_MAX if content.is_writing else BLOCK_BYTES)
        return self._pass_on(transaction, content) if is_due else None

    async def _pass_on(self, transaction: dict[str, Any], content: _Open) -> None:
        await content.written()
        if content.file is None:
            content.file = await self._files.begin(self._pending(transaction))
        lines, content.lines, content.n_bytes = content.lines, [], 0
        content.writing = asyncio.get_running_loop().create_task(content.file.append(lines))

    async def pre_commit(self, transaction: dict[str, Any]) -> None:
        """Write the rows of the transaction into a pending file."""
        content = self._open[transaction["name"]]
        transaction["rows"] = content.n_rows
        if content.file is not None:
            await content.written()
            await content.file.append(content.lines)
            await content.file.complete()
        elif content.n_rows:
            await self._files.write(self._pending(transaction), b"".join(content.lines))
        del self._open[transaction["name"]]

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
        content = self._open.pop(transaction["name"], None)
        if content is not None and content.file is not None:
            if content.writing is not None:
                await gather(content.writing, return_exceptions=True)
            await content.file.discard()
        await self._files.delete(self._pending(transaction))

    def _pending(self, transaction: dict[str, Any]) -> str:
        return join(self._folder, PENDING, f"{transaction['name']}.jsonl")

    def _part(self, transaction: dict[str, Any]) -> str:
        return join(self._folder, f"part-{transaction['name']}.jsonl")


async def committed_rows(folder: Folder, files: Files | None = None) -> list[Row]:
    """Return all committed rows, file by file."""
    at, folder = files or FsspecFiles(), join(folder)
    rows: list[Row] = []
    for name in await at.names(folder):
        if name.startswith("part-"):
            data = await at.read(join(folder, name))
            rows += [json.loads(line) for line in data.decode().splitlines()]
    return rows

"""A sink of FLIP-191 for simulated jobs: a table of the committed rows, by committable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from ...flow.batch import Batch
from ...flow.sink.sinks import CommitRequest, Committer, Sink, SinkContext, SinkWriter
from ..kernel.faults import Faults


class CommittedTable:
    """The committed rows by sink and committable. A committable counts once, however often it is
    committed.
    """

    def __init__(self, chance: Random, switch: Faults) -> None:
        self.committed: dict[str, dict[str, list[tuple[int, int]]]] = {}
        self.retry_chance = 0.0
        self._chance, self._switch = chance, switch

    def commit(self, sink: str, request: CommitRequest) -> None:
        """Commit a request, or ask for a retry if a drawn fault says so."""
        is_drawn = self.retry_chance and self._chance.random() < self.retry_chance
        if is_drawn and self._switch.happens("table", "retried commit", sink):
            request.retry_later()
            return
        name, rows = request.committable
        table = self.committed.setdefault(sink, {})
        if name in table:
            request.signal_already_committed()
        table[name] = rows

    def rows(self, sink: str) -> Counter[tuple[int, int]]:
        """Return the committed rows of a sink."""
        return Counter(row for rows in self.committed.get(sink, {}).values() for row in rows)


class TableSink(Sink):
    """A sink that commits its rows to a `CommittedTable`."""

    def __init__(self, table: CommittedTable, name: str) -> None:
        self._table, self._name = table, name

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return _Writer(context)

    def create_committer(self, context: SinkContext) -> Committer:
        return _Committer(self._table, self._name)


class _Writer(SinkWriter):
    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._rows: list[tuple[int, int]] = []

    def write(self, batch: Batch) -> None:
        self._rows += [(row["k"], row["v"]) for row in batch.rows]

    def prepare_commit(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return [(self._context.unique_id(), rows)] if rows else []


class _Committer(Committer):
    def __init__(self, table: CommittedTable, name: str) -> None:
        self._table, self._name = table, name

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            self._table.commit(self._name, request)

"""The operator around a `sinks.TwoPhaseCommitSink`: it begins, pre-commits and commits transactions.

Its state is a split list. An element is (current transaction, pending transactions with their begin, user
context). Source: Flink's `TwoPhaseCommitSinkFunction`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ..batch import Batch
from ..calling import value_of
from ..elements import Watermark
from ..errors import IllegalStateError
from ..observer import SinkTrays
from ..operators.operator import MaybeAwaitable, Operator
from ..state.handles import ListMode
from .sinks import TwoPhaseCommitSink

STATE = "two-phase"
_log = logging.getLogger(__name__)


class TwoPhaseCommitOperator(Operator):
    """Run a two-phase sink. It is the last operator of its chain."""

    def __init__(self, sink: TwoPhaseCommitSink) -> None:
        self.sink = sink
        self._current: tuple[Any, int] | None = None  # transaction, begun at ms
        self._pending: dict[int, tuple[Any, int]] = {}
        self._is_finished = False
        self._committed = 0

    async def initialize_state(self) -> None:
        """Commit the restored pending transactions, abort the open one, and begin a new one."""
        await value_of(self.sink.open(_SinkContext(self)))
        self._state = self.context.lists.of(STATE, ListMode.SPLIT)
        for current, pending, user_context in self._state:
            for transaction, begun_ms in pending:
                await self._recover(transaction, begun_ms)
            if current is not None:
                await value_of(self.sink.recover_and_abort(current[0]))
            if user_context is not None:
                self.sink.restore_user_context(user_context)
        await self._begin()

    async def _recover(self, transaction: Any, begun_ms: int) -> None:
        self._warn_of_timeout(transaction, begun_ms)
        try:
            await value_of(self.sink.recover_and_commit(transaction))
            self._committed += 1
        except Exception:
            timeout_ms = self.sink.transaction_timeout_ms
            age_ms = self.context.now_ms() - begun_ms
            is_over = timeout_ms is not None and age_ms > timeout_ms
            if not (self.sink.ignore_failures_after_timeout and is_over):
                raise
            _log.error("transaction %r is %d ms old and cannot be committed any more", transaction, age_ms)

    async def _begin(self) -> None:
        self._current = (await value_of(self.sink.begin()), self.context.now_ms())
        self._tell()

    def process_batch(self, batch: Batch, input: int) -> MaybeAwaitable:
        """Write the records into the current transaction."""
        if self._current is None:
            raise IllegalStateError(f"{self.context.name} received records after it had finished")
        return self.sink.write(self._current[0], batch)

    def process_watermark(self, watermark: Watermark) -> None:
        """Pass the watermark to the sink."""
        self.sink.write_watermark(watermark)

    async def finish(self) -> None:
        """Finish the current transaction: no record follows."""
        self._is_finished = True
        if self._current is not None:
            await value_of(self.sink.finish_processing(self._current[0]))

    async def snapshot_state(self, checkpoint_id: int) -> None:
        """Pre-commit the current transaction, begin the next one, and store both."""
        if self._current is not None:
            await value_of(self.sink.pre_commit(self._current[0]))
            self._pending[checkpoint_id] = self._current
            self._current = None
        if not self._is_finished:
            await self._begin()
        self._state[:] = [(self._current, list(self._pending.values()), self.sink.user_context())]
        self._tell()

    async def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commit all transactions of this checkpoint and earlier ones.

        All are tried. A transaction whose commit fails is forgotten, and the first failure is raised
        afterwards.
        """
        first: Exception | None = None
        for number in sorted(n for n in self._pending if n <= checkpoint_id):
            transaction, begun_ms = self._pending.pop(number)
            self._warn_of_timeout(transaction, begun_ms)
            try:
                await value_of(self.sink.commit(transaction))
                self._committed += 1
            except Exception as error:
                first = first or error
        self._tell()
        if first is not None:
            raise first

    def _warn_of_timeout(self, transaction: Any, begun_ms: int) -> None:
        timeout_ms = self.sink.transaction_timeout_ms
        age_ms = self.context.now_ms() - begun_ms
        if timeout_ms is not None and age_ms >= timeout_ms * self.sink.warning_ratio:
            _log.warning("transaction %r is %d ms old; its lease is %d ms", transaction, age_ms, timeout_ms)

    async def close(self) -> None:
        """Abort the current transaction, and close the sink."""
        if self._is_finished and self.context.commits_at_close:
            await self._commit_everything()
        if self._current is not None:
            current, self._current = self._current, None
            await value_of(self.sink.abort(current[0]))
        await value_of(self.sink.close())

    async def _commit_everything(self) -> None:
        if self._current is not None:
            await value_of(self.sink.pre_commit(self._current[0]))
        for transaction, _ in [*self._pending.values(), *([self._current] if self._current else [])]:
            await value_of(self.sink.commit(transaction))
        self._pending.clear()
        self._current = None

    def _tell(self) -> None:
        context = self.context
        context.observer.observe(
            SinkTrays(
                context.now_ms(),
                context.subtask,
                context.attempt,
                context.operator_id,
                () if self._current is None else (str(self._current[0]),),
                tuple((number, str(pending[0])) for number, pending in self._pending.items()),
                self._committed,
            )
        )


class _SinkContext:
    """A `sinks.SinkContext`."""

    def __init__(self, operator: Operator) -> None:
        self._context = operator.context

    @property
    def subtask_index(self) -> int:
        return self._context.subtask.index

    @property
    def parallelism(self) -> int:
        return self._context.parallelism

    @property
    def task_name(self) -> str:
        return self._context.task_name

    @property
    def is_checkpointing(self) -> bool:
        return self._context.is_checkpointing

    def now_ms(self) -> int:
        return self._context.now_ms()

    def unique_id(self) -> str:
        return self._context.unique_id()


SinkContextOf: Callable[[Operator], _SinkContext] = _SinkContext

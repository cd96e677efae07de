"""Sinks: two-phase commit in the legacy form, and writer, committer, global committer of FLIP-143 and 191.

Interfaces only; `two_phase` and `committers` are the operators that call them. Handles of transactions and
committables are plain values: None, bool, int, float, str, bytes, tuples, lists, dicts. They go into
checkpoints. Every method may be a coroutine or return an awaitable; the subtask does nothing else meanwhile.

Source: `TwoPhaseCommitSinkFunction`; FLIP-143 (Sink V1), FLIP-191 (Sink V2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import Watermark

MaybeAwaitable = Awaitable[None] | None


class SinkContext(Protocol):
    """Whose sink it is."""

    @property
    def subtask_index(self) -> int: ...

    @property
    def parallelism(self) -> int: ...

    @property
    def task_name(self) -> str:
        """``vertex[index]#attempt``; unique among the attempts of a job."""

    @property
    def is_checkpointing(self) -> bool:
        """Are there checkpoints? Without them nothing would ever be committed."""

    def now_ms(self) -> int: ...

    def unique_id(self) -> str:
        """A fresh name, seeded in simulation, for a transaction."""


# -- legacy: one object with transactions --------------------------------------------------------------------


class TwoPhaseCommitSink(ABC):
    """Data goes into a transaction; pre-committed at a checkpoint, committed when that is complete.

    A copy is made for each subtask. ``commit`` and ``abort`` come again after failures, for a transaction
    that is committed or gone: both have to be harmless then. A commit has to succeed in the end.

    ``transaction_timeout_ms``: the lease of the external system; a warning is logged at ``warning_ratio``.
    ``ignore_failures_after_timeout``: let `recover_and_commit` of an older one fail, with data lost.
    """

    transaction_timeout_ms: int | None = None
    warning_ratio: float = 0.8
    ignore_failures_after_timeout: bool = False

    def open(self, context: SinkContext) -> MaybeAwaitable:
        """Before anything else, restores included."""
        return None

    @abstractmethod
    def begin(self) -> Any:
        """A new transaction's handle (or an awaitable of it)."""

    @abstractmethod
    def write(self, transaction: Any, batch: Batch) -> MaybeAwaitable: ...

    def write_watermark(self, watermark: Watermark) -> None:
        """Event time has come this far."""
        return

    def finish_processing(self, transaction: Any) -> MaybeAwaitable:
        """No record will follow."""
        return None

    @abstractmethod
    def pre_commit(self, transaction: Any) -> MaybeAwaitable:
        """Make it durable; after this `commit` must be able to succeed, in another process too."""

    @abstractmethod
    def commit(self, transaction: Any) -> MaybeAwaitable: ...

    @abstractmethod
    def abort(self, transaction: Any) -> MaybeAwaitable: ...

    def recover_and_commit(self, transaction: Any) -> MaybeAwaitable:
        return self.commit(transaction)

    def recover_and_abort(self, transaction: Any) -> MaybeAwaitable:
        return self.abort(transaction)

    def user_context(self) -> Any:
        """A plain value kept beside the transactions, or None."""
        return None

    def restore_user_context(self, context: Any) -> None:
        return

    def close(self) -> MaybeAwaitable:
        """After the current transaction was aborted."""
        return None


# -- FLIP-143 and FLIP-191: writer, committer, global committer ----------------------------------------------


class SinkWriter(ABC):
    """Writes inside of a subtask. Without `prepare_commit` of its own it is at least once."""

    @abstractmethod
    def write(self, batch: Batch) -> MaybeAwaitable: ...

    def write_watermark(self, watermark: Watermark) -> None:
        return

    def flush(self, end_of_input: bool) -> MaybeAwaitable:
        """At each checkpoint, and at the end."""
        return None

    def prepare_commit(self) -> Any:
        """The committables since the last call, or an awaitable of them. After `flush`, before
        `snapshot_state`."""
        return []

    def snapshot_state(self, checkpoint_id: int) -> Sequence[Any]:
        """Plain values, each of which may come back in another subtask."""
        return []

    def close(self) -> MaybeAwaitable:
        return None


class CommitOutcome(Enum):
    """What became of one committable."""

    OK = "ok"
    RETRY_LATER = "retry later"
    ALREADY_COMMITTED = "already committed"
    FAILED_WITH_KNOWN_REASON = "failed, known reason"  # logged and dropped
    FAILED_WITH_UNKNOWN_REASON = "failed, unknown reason"  # fails the job


@dataclass
class CommitRequest:
    """One committable to commit; the committer says what became of it."""

    committable: Any
    retries: int = 0
    outcome: CommitOutcome = CommitOutcome.OK
    reason: str = field(default="")

    def retry_later(self) -> None:
        self.outcome = CommitOutcome.RETRY_LATER

    def update_and_retry_later(self, committable: Any) -> None:
        self.committable, self.outcome = committable, CommitOutcome.RETRY_LATER

    def signal_already_committed(self) -> None:
        self.outcome = CommitOutcome.ALREADY_COMMITTED

    def signal_failed_with_known_reason(self, reason: str) -> None:
        self.outcome, self.reason = CommitOutcome.FAILED_WITH_KNOWN_REASON, reason

    def signal_failed_with_unknown_reason(self, reason: str) -> None:
        self.outcome, self.reason = CommitOutcome.FAILED_WITH_UNKNOWN_REASON, reason


class Committer(ABC):
    """Commits what writers prepared; must be harmless for what is committed already."""

    @abstractmethod
    def commit(self, requests: Sequence[CommitRequest]) -> MaybeAwaitable:
        """Nothing said about a request means that it is committed."""

    def close(self) -> MaybeAwaitable:
        return None


class GlobalCommitter(ABC):
    """FLIP-143's last step, at parallelism 1: many committables become one."""

    def filter_recovered(self, combined: Sequence[Any]) -> Any:
        """Of what was restored, what is not committed yet (or an awaitable of it)."""
        return combined

    @abstractmethod
    def combine(self, committables: Sequence[Any]) -> Any:
        """One plain value for all committables of a checkpoint."""

    @abstractmethod
    def commit(self, combined: Sequence[Any]) -> Any:
        """Returns those to try again (or an awaitable of them)."""

    def end_of_input(self) -> MaybeAwaitable:
        return None

    def close(self) -> MaybeAwaitable:
        return None


class Sink(ABC):
    """The factory that ``sink_to`` takes; shared by all subtasks."""

    @abstractmethod
    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> Any:
        """A `SinkWriter` (or an awaitable of it); ``restored``: what snapshots of writers gave."""

    def create_committer(self, context: SinkContext) -> Committer | None:
        """None: a sink of at-least-once."""
        return None

    def create_global_committer(self) -> GlobalCommitter | None:
        return None

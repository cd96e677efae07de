"""The interfaces of sinks: two-phase commit in the legacy form, and the writer, committer and global
committer.

`two_phase` and `committers` have the operators that call them. Handles of transactions and committables are
plain values (None, bool, int, float, str, bytes, tuples, lists, dicts), because checkpoints contain them.
Every method may be a coroutine or return an awaitable. The subtask does nothing else until it is done.

Source: `TwoPhaseCommitSinkFunction`; FLIP-143 (Sink V1), FLIP-191 (Sink V2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from ..batch import Batch
from ..elements import Watermark

MaybeAwaitable = Awaitable[None] | None


class SinkContext(Protocol):
    """A context has what a sink may know of its subtask."""

    @property
    def subtask_index(self) -> int:
        """Return the index of the subtask, from 0."""

    @property
    def parallelism(self) -> int:
        """Return the number of subtasks."""

    @property
    def task_name(self) -> str:
        """Return ``vertex[index]#attempt``, which is unique among the attempts of a job."""

    @property
    def is_checkpointing(self) -> bool:
        """Return whether the job takes checkpoints. Without them, nothing is ever committed."""

    def now_ms(self) -> int:
        """Return the job's time in ms."""

    def unique_id(self) -> str:
        """Return a new name for a transaction. In a simulation it depends on the seed."""


# -- legacy: one object with transactions --------------------------------------------------------------------


class TwoPhaseCommitSink(ABC):
    """A sink that writes into transactions, pre-commits at a checkpoint, and commits when that is complete.

    Each subtask gets a copy. After a failure, ``commit`` and ``abort`` are called again for a transaction
    that may be committed or gone, and must then do nothing. A commit must succeed eventually.

    ``transaction_timeout_ms`` is the lease in the external system, or None. A transaction that is older than
    ``warning_ratio`` of it logs a warning. With ``ignore_failures_after_timeout``, a `recover_and_commit` of
    a transaction older than the lease may fail, and its data is lost.
    """

    transaction_timeout_ms: int | None = None
    warning_ratio: float = 0.8
    ignore_failures_after_timeout: bool = False

    def open(self, context: SinkContext) -> MaybeAwaitable:
        """Receive the context. Called before everything else, also before a restore."""
        return None

    @abstractmethod
    def begin(self) -> Any:
        """Return the handle of a new transaction, or an awaitable of it."""

    @abstractmethod
    def write(self, transaction: Any, batch: Batch) -> MaybeAwaitable:
        """Write records into the transaction."""

    def write_watermark(self, watermark: Watermark) -> None:
        """Note that event time has advanced."""
        return

    def finish_processing(self, transaction: Any) -> MaybeAwaitable:
        """Flush the last transaction: no record follows."""
        return None

    @abstractmethod
    def pre_commit(self, transaction: Any) -> MaybeAwaitable:
        """Make the transaction durable.

        After this call, `commit` must be able to succeed, also in another process.
        """

    @abstractmethod
    def commit(self, transaction: Any) -> MaybeAwaitable:
        """Commit a pre-committed transaction. Must do nothing if it is committed already."""

    @abstractmethod
    def abort(self, transaction: Any) -> MaybeAwaitable:
        """Abort a transaction. Must do nothing if it is gone already."""

    def recover_and_commit(self, transaction: Any) -> MaybeAwaitable:
        """Commit a pre-committed transaction after a restore."""
        return self.commit(transaction)

    def recover_and_abort(self, transaction: Any) -> MaybeAwaitable:
        """Abort after a restore the transaction that was open."""
        return self.abort(transaction)

    def user_context(self) -> Any:
        """Return a plain value that is stored with the transactions, or None."""
        return None

    def restore_user_context(self, context: Any) -> None:
        """Take the stored user context."""
        return

    def close(self) -> MaybeAwaitable:
        """Release everything. The open transaction was aborted before."""
        return None


# -- FLIP-143 and FLIP-191: writer, committer, global committer ----------------------------------------------


class SinkWriter(ABC):
    """A writer writes in a subtask. Without `prepare_commit`, its sink is at-least-once."""

    @abstractmethod
    def write(self, batch: Batch) -> MaybeAwaitable:
        """Write records."""

    def write_watermark(self, watermark: Watermark) -> None:
        """Note that event time has advanced."""
        return

    def flush(self, end_of_input: bool) -> MaybeAwaitable:
        """Flush what was written. Called at each checkpoint and at the end of the input."""
        return None

    def prepare_commit(self) -> Any:
        """Return the committables since the last call, or an awaitable of them.

        Called after `flush` and before `snapshot_state`.
        """
        return []

    def snapshot_state(self, checkpoint_id: int) -> Sequence[Any]:
        """Return plain values. A restore may give each to another subtask."""
        return []

    def close(self) -> MaybeAwaitable:
        """Release everything."""
        return None


class CommitOutcome(Enum):
    """Say what happened to one committable."""

    OK = "ok"
    RETRY_LATER = "retry later"
    ALREADY_COMMITTED = "already committed"
    FAILED_WITH_KNOWN_REASON = "failed, known reason"  # logged and dropped
    FAILED_WITH_UNKNOWN_REASON = "failed, unknown reason"  # fails the job


@dataclass
class CommitRequest:
    """A request asks to commit one committable.

    The committer calls at most one of its methods to report the outcome.
    """

    committable: Any
    retries: int = 0
    outcome: CommitOutcome = CommitOutcome.OK
    reason: str = field(default="")

    def retry_later(self) -> None:
        """Ask for another commit of the same committable later."""
        self.outcome = CommitOutcome.RETRY_LATER

    def update_and_retry_later(self, committable: Any) -> None:
        """Replace the committable, and ask for a commit of the new one later."""
        self.committable, self.outcome = committable, CommitOutcome.RETRY_LATER

    def signal_already_committed(self) -> None:
        """Report that an earlier attempt has committed it."""
        self.outcome = CommitOutcome.ALREADY_COMMITTED

    def signal_failed_with_known_reason(self, reason: str) -> None:
        """Report that it cannot be committed. The reason is logged, and the committable is dropped."""
        self.outcome, self.reason = CommitOutcome.FAILED_WITH_KNOWN_REASON, reason

    def signal_failed_with_unknown_reason(self, reason: str) -> None:
        """Report that it cannot be committed. The job fails."""
        self.outcome, self.reason = CommitOutcome.FAILED_WITH_UNKNOWN_REASON, reason


class Committer(ABC):
    """A committer commits the committables of writers.

    It must do nothing for those that are committed already.
    """

    @abstractmethod
    def commit(self, requests: Sequence[CommitRequest]) -> MaybeAwaitable:
        """Commit each request. A request without a reported outcome counts as committed."""

    def close(self) -> MaybeAwaitable:
        """Release everything."""
        return None


class GlobalCommitter(ABC):
    """A global committer is the last step of FLIP-143. It has one subtask, and combines many committables."""

    def filter_recovered(self, combined: Sequence[Any]) -> Any:
        """Return what is not committed yet of the restored values, or an awaitable of it."""
        return combined

    @abstractmethod
    def combine(self, committables: Sequence[Any]) -> Any:
        """Return one plain value for all committables of a checkpoint."""

    @abstractmethod
    def commit(self, combined: Sequence[Any]) -> Any:
        """Commit the values, and return those to try again, or an awaitable of them."""

    def end_of_input(self) -> MaybeAwaitable:
        """Note that everything is committed."""
        return None

    def close(self) -> MaybeAwaitable:
        """Release everything."""
        return None


class Sink(ABC):
    """A sink is the factory that ``sink_to`` takes. All subtasks share it."""

    @abstractmethod
    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> Any:
        """Return a `SinkWriter`, or an awaitable of it.

        ``restored`` has what the snapshots of writers returned.
        """

    def create_committer(self, context: SinkContext) -> Committer | None:
        """Return a committer, or None for a sink that is at-least-once."""
        return None

    def create_global_committer(self) -> GlobalCommitter | None:
        """Return a global committer, or None."""
        return None

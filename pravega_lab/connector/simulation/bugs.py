"""Planted bugs of the connector, by name, with the form in which the comparison must find each.

Production code never reaches this module.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.flow.reader_group import legacy_reader
from pravega_lab.connector.flow.reader_group.fetcher import GroupFetcher
from pravega_lab.connector.flow.reader_group.legacy_reader import ReaderCheckpointHook
from pravega_lab.connector.flow.reader_group.settings import JobGroup
from pravega_lab.connector.flow.segments.plan import SegmentPlan, at_offset
from pravega_lab.connector.flow.segments.split_reader import SplitReader
from pravega_lab.connector.flow.segments.splits import SegmentSplit
from pravega_lab.connector.flow.sinks.transactional_sink import PravegaWriter, Transactions
from pravega_lab.engine.simulation.kernel.planted import Bug, Registering, Replacement, registering

ONCE, ORDER, ENDS = "exactly once", "in order", "nothing waits for ever"
CONNECTOR_BUGS: dict[str, Bug] = {}
FORM_OF: dict[str, str] = {}


def _bug(name: str, letter: str, checker: str) -> Registering:
    FORM_OF[name] = letter
    return registering(CONNECTOR_BUGS, name, "connector", checker)


# -- (c) -----------------------------------------------------------------------------------------------------


@_bug("successor-before-predecessor", "c", ORDER)
def _before_predecessor() -> list[Replacement]:
    """A segment is read without waiting for its predecessors."""

    def reader_for(self: SegmentPlan, split: SegmentSplit, readers: Any) -> int | None:
        return min(readers, key=lambda reader: (self._load(reader), reader), default=None)

    return [(SegmentPlan, "_reader_for", reader_for)]


@_bug("offset-not-kept", "c", ONCE)
def _offset_not_kept() -> list[Replacement]:
    """A reader's snapshot has its splits without their offsets."""

    def snapshot_state(self: SplitReader, checkpoint_id: int) -> list[SegmentSplit]:
        return [split if split.is_read else at_offset(split, 0) for split in self.splits.values()]

    return [(SplitReader, "snapshot_state", snapshot_state)]


@_bug("returned-from-its-beginning", "c", ONCE)
def _returned_from_beginning() -> list[Replacement]:
    """A segment that moves to another reader is read from its beginning."""
    right = SegmentPlan.returned

    def returned(self: SegmentPlan, split: SegmentSplit) -> None:
        right(self, at_offset(split, 0))

    return [(SegmentPlan, "returned", returned)]


@_bug("sealed-stream-never-ends", "c", ENDS)
def _sealed_never_ends() -> list[Replacement]:
    """A source without end cuts goes on after its streams are sealed and read."""
    return [(SegmentPlan, "is_read", property(lambda self: False))]


# -- reader groups -------------------------------------------------------------------------------------------


@_bug("group-not-reset", "a", ONCE)
def _group_not_reset() -> list[Replacement]:
    """A restored job uses the group as it is, with dead readers in it."""

    async def reset(self: JobGroup, checkpoint: Any) -> None:
        return

    return [(JobGroup, "_reset", reset)]


@_bug("hook-without-state", "a", ONCE)
def _hook_without_state() -> list[Replacement]:
    """A hook that fails counts as one without state, and the checkpoint completes (flink-connectors)."""
    right = ReaderCheckpointHook.trigger_checkpoint

    async def trigger_checkpoint(self: ReaderCheckpointHook, checkpoint_id: int, timestamp_ms: int) -> Any:
        await right(self, checkpoint_id, timestamp_ms)

    return [(ReaderCheckpointHook, "trigger_checkpoint", trigger_checkpoint)]


@_bug("uid-without-streams", "a", ONCE)
def _uid_without_streams() -> list[Replacement]:
    """A source has the name of its group as its uid, so that state of other streams is restored into it."""
    return [(legacy_reader, "default_uid", lambda settings: settings.scoped_group)]


@_bug("reader-stays-at-the-end", "b3", ENDS)
def _reader_stays() -> list[Replacement]:
    """A reader does not leave the group at the end of the data, so checkpoints of the group wait for it."""

    async def leave(self: GroupFetcher) -> None:
        return

    return [(GroupFetcher, "_leave", leave)]


# -- the sink ------------------------------------------------------------------------------------------------


@_bug("pre-commit-without-flush", "c", ONCE)
def _without_flush() -> list[Replacement]:
    """A transaction is pre-committed while some of its events are in transit."""

    async def pre_commit(self: PravegaWriter, transaction: Any) -> None:
        return

    async def commit(self: Transactions, handle: Any) -> None:
        transaction = self._open.pop(handle[0], None)
        if transaction is not None:
            await transaction.close()
        await right(self, handle)

    right = Transactions.commit
    return [(PravegaWriter, "pre_commit", pre_commit), (Transactions, "commit", commit)]


@_bug("recovered-not-committed", "c", ONCE)
def _recovered_not_committed() -> list[Replacement]:
    """Transactions that were pre-committed before a failure are not committed after it."""

    async def recover_and_commit(self: PravegaWriter, transaction: Any) -> None:
        return

    return [(PravegaWriter, "recover_and_commit", recover_and_commit)]

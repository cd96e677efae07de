"""Implement reader groups with Java's semantics and state log: Python and Java readers can share a group.

The folder `core` holds the rules and what one reader decides. The other modules talk to the store. Importing
this package opens no connection and imports neither grpc nor pyarrow. The synchronous client, connectors,
observers and simulations import it.
"""

from pravega_lab.client.reader_group.core.state import GroupState, fold
from pravega_lab.client.reader_group.errors import (
    CheckpointFailedError,
    CheckpointTimeoutError,
    ConfigMismatchError,
    ReaderExistsError,
    ReaderGroupNotFoundError,
    ReinitializationRequiredError,
    StateLogError,
    TooManyCheckpointsError,
)
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.opening import (
    async_reader_group,
    async_revisioned_stream,
    reader_group,
    reading,
    revisioned_stream,
    state_synchronizer,
)
from pravega_lab.client.reader_group.sync import PendingCheckpoint, Reader, ReaderGroup
from pravega_lab.client.reader_group.values import (
    BatchRead,
    Checkpoint,
    EventRead,
    GroupMetrics,
    Position,
    TimeWindow,
)
from pravega_lab.client.shared_state.errors import NoStateYetError
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.client.shared_state.sync import RevisionedStream, StateSynchronizer
from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer, StateFormat
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig, RetentionType, StateEvent

__all__ = [
    "AsyncReaderGroup",
    "AsyncRevisionedStream",
    "AsyncStateSynchronizer",
    "BatchRead",
    "Checkpoint",
    "CheckpointFailedError",
    "CheckpointTimeoutError",
    "ConfigMismatchError",
    "EventRead",
    "GroupMetrics",
    "GroupState",
    "NoStateYetError",
    "PendingCheckpoint",
    "Position",
    "Reader",
    "ReaderExistsError",
    "ReaderGroup",
    "ReaderGroupConfig",
    "ReaderGroupNotFoundError",
    "ReinitializationRequiredError",
    "RetentionType",
    "Revision",
    "RevisionedStream",
    "StateEvent",
    "StateFormat",
    "StateLogError",
    "StateSynchronizer",
    "TimeWindow",
    "TooManyCheckpointsError",
    "async_reader_group",
    "async_revisioned_stream",
    "fold",
    "reader_group",
    "reading",
    "revisioned_stream",
    "state_synchronizer",
]

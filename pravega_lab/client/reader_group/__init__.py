"""Reader groups with Java's semantics in Java's state log, so Python and Java readers can share a group.

`state` and `assignment` are the rules, `reader` what one reader decides; the rest talks to the store.
Importing this package opens nothing and imports neither grpc nor pyarrow.
"""

from pravega_lab.client.reader_group.errors import (
    CheckpointFailedError,
    ConfigMismatchError,
    NoStateYetError,
    ReaderExistsError,
    ReaderGroupNotFoundError,
    ReinitializationRequiredError,
    StateLogError,
    TooManyCheckpointsError,
)
from pravega_lab.client.reader_group.face import PendingCheckpoint, Reader, ReaderGroup
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.opening import async_reader_group, reader_group
from pravega_lab.client.reader_group.state import GroupState, fold
from pravega_lab.client.reader_group.values import (
    BatchRead,
    Checkpoint,
    EventRead,
    GroupMetrics,
    Position,
)
from pravega_lab.protocol.reader_group import ReaderGroupConfig, RetentionType

__all__ = [
    "AsyncReaderGroup",
    "BatchRead",
    "Checkpoint",
    "CheckpointFailedError",
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
    "StateLogError",
    "TooManyCheckpointsError",
    "async_reader_group",
    "fold",
    "reader_group",
]

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
from pravega_lab.client.reader_group.face_state import RevisionedStream, StateSynchronizer
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.opening import (
    async_reader_group,
    async_revisioned_stream,
    reader_group,
    reading,
    revisioned_stream,
    state_synchronizer,
)
from pravega_lab.client.reader_group.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.client.reader_group.state import GroupState, fold
from pravega_lab.client.reader_group.synchronizer import AsyncStateSynchronizer, StateFormat
from pravega_lab.client.reader_group.values import (
    BatchRead,
    Checkpoint,
    EventRead,
    GroupMetrics,
    Position,
    TimeWindow,
)
from pravega_lab.protocol.reader_group import ReaderGroupConfig, RetentionType

__all__ = [
    "AsyncReaderGroup",
    "AsyncRevisionedStream",
    "AsyncStateSynchronizer",
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
    "Revision",
    "RevisionedStream",
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

"""The client of a Pravega store: an asyncio core and its synchronous face.

Importing this package opens nothing and imports neither grpc, pyarrow nor numba.
"""

from pravega_lab.client.access import AccessOptions
from pravega_lab.client.client import AsyncClient
from pravega_lab.client.credentials import Credentials
from pravega_lab.client.face import (
    Batches,
    Client,
    EventWriter,
    OrderedSegmentReader,
    Stream,
    Table,
    Transaction,
    connect,
)
from pravega_lab.client.values import (
    HEAD,
    LEASE_MS_MAX,
    NO_VERSION,
    NOT_EXISTS,
    TAIL,
    RetentionPolicy,
    ScalingPolicy,
    SegmentInfo,
    StreamConfiguration,
    Successor,
    TableValue,
    TransactionState,
)

__all__ = [
    "HEAD",
    "LEASE_MS_MAX",
    "NOT_EXISTS",
    "NO_VERSION",
    "TAIL",
    "AccessOptions",
    "AsyncClient",
    "Batches",
    "Client",
    "Credentials",
    "EventWriter",
    "OrderedSegmentReader",
    "RetentionPolicy",
    "ScalingPolicy",
    "SegmentInfo",
    "Stream",
    "StreamConfiguration",
    "Successor",
    "Table",
    "TableValue",
    "Transaction",
    "TransactionState",
    "connect",
]

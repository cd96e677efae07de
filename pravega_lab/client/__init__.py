"""Provide the client of a Pravega store: an asyncio core, and the same objects for other programs in `sync`.

Importing this package opens nothing and imports neither grpc, pyarrow, numpy nor numba. Its folders and
modules form an order, from the lowest to the highest, in which each imports earlier ones only (a test checks
it): values, loop_thread, framing, connection, controller, segment_stores, context, scaling, tables, reading,
writing, shared_state, reader_group, stream, client, sync.
"""

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.connection.access import AccessOptions
from pravega_lab.client.connection.credentials import Credentials
from pravega_lab.client.sync import (
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

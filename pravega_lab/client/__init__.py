"""Provide the client of a Pravega store: an asyncio core, and the same objects for other programs in `sync`.

Importing this package opens nothing and imports neither grpc, pyarrow, numpy nor numba. Its folders and
modules form an order, from the lowest to the highest, in which each imports earlier ones only (a test checks
it): values, loop_thread, framing, connection, definite, controller, segment_stores, context, scaling, tables,
reading, byte_streams, writing, shared_state, reader_group, stream, client, sync, registry.

User programs, connectors, observers and the lab import it. It imports the protocol.
"""

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.connection.access import AccessOptions
from pravega_lab.client.connection.credentials import Credentials
from pravega_lab.client.shared_state.json_format import JsonFormat, Whole
from pravega_lab.client.shared_state.revisioned import Entry, Revision
from pravega_lab.client.shared_state.sync import RevisionedStream, StateSynchronizer
from pravega_lab.client.shared_state.synchronizer import StateFormat
from pravega_lab.client.sync import (
    Batches,
    ByteReader,
    ByteWriter,
    Client,
    EventWriter,
    KeyValueTable,
    OrderedSegmentReader,
    Stream,
    Table,
    Transaction,
    connect,
)
from pravega_lab.client.tables.values import (
    KeyValueEntry,
    KeyValueTableConfiguration,
    KeyVersion,
    Put,
    Remove,
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
from pravega_lab.protocol.hashing import key_position
from pravega_lab.protocol.metadata.event_pointer import EventPointer
from pravega_lab.protocol.names import number_of

__all__ = [
    "HEAD",
    "LEASE_MS_MAX",
    "NOT_EXISTS",
    "NO_VERSION",
    "TAIL",
    "AccessOptions",
    "AsyncClient",
    "Batches",
    "ByteReader",
    "ByteWriter",
    "Client",
    "Credentials",
    "Entry",
    "EventPointer",
    "EventWriter",
    "JsonFormat",
    "KeyValueEntry",
    "KeyValueTable",
    "KeyValueTableConfiguration",
    "KeyVersion",
    "OrderedSegmentReader",
    "Put",
    "Remove",
    "RetentionPolicy",
    "Revision",
    "RevisionedStream",
    "ScalingPolicy",
    "SegmentInfo",
    "StateFormat",
    "StateSynchronizer",
    "Stream",
    "StreamConfiguration",
    "Successor",
    "Table",
    "TableValue",
    "Transaction",
    "TransactionState",
    "Whole",
    "connect",
    "key_position",
    "number_of",
]

"""The synchronous client, for notebooks, Spark's workers and programs without an event loop.

It decides nothing: every call goes to the object of the same name in the asyncio core (``AsyncClient``,
``AsyncStream``, …; same methods, same arguments), on the loop thread of this process. Any thread may use the
objects. After ``fork``, a `Client`, `Stream` or table of the parent opens new connections in the child.
Writers, readers and transactions that the parent has opened raise `PravegaError` there. Importing this folder
starts nothing.

The docstrings here are the contract of both. This folder may import every other one of the client.
"""

from pravega_lab.client.sync.byte_streams import ByteReader, ByteWriter
from pravega_lab.client.sync.client import Client, connect
from pravega_lab.client.sync.key_value_tables import Entries, KeyValueTable
from pravega_lab.client.sync.reading import Batches, OrderedSegmentReader
from pravega_lab.client.sync.stream import Stream
from pravega_lab.client.sync.tables import Table
from pravega_lab.client.sync.transactions import Transaction
from pravega_lab.client.sync.writer import EventWriter, segment_writer

__all__ = [
    "Batches",
    "ByteReader",
    "ByteWriter",
    "Client",
    "Entries",
    "EventWriter",
    "KeyValueTable",
    "OrderedSegmentReader",
    "Stream",
    "Table",
    "Transaction",
    "connect",
    "segment_writer",
]

"""The engine's connector: sources and sinks with which jobs of `pravega_lab.engine.flow` read and write
streams.

User programs, tables, the simulation of the connectors and the tutorials import this folder. It imports the
client and the engine.
"""

from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows, RowEvents
from pravega_lab.connector.flow.metrics import reader_metrics
from pravega_lab.connector.flow.reader_group.failed_attempts import EnumeratorSnapshotSource, PositionSource
from pravega_lab.connector.flow.reader_group.induced_source import PravegaSource
from pravega_lab.connector.flow.reader_group.legacy_reader import PravegaReader, ReaderCheckpointHook
from pravega_lab.connector.flow.reader_group.settings import GroupSettings
from pravega_lab.connector.flow.segments.batch_source import PravegaBatchSource
from pravega_lab.connector.flow.segments.partition_source import PravegaPartitionSource
from pravega_lab.connector.flow.segments.source import PravegaSegmentSource
from pravega_lab.connector.flow.sinks.event_sink import Delivery, PravegaEventSink
from pravega_lab.connector.flow.sinks.event_time_order import EventTimeOrder, write_in_event_time_order
from pravega_lab.connector.flow.sinks.transactional_sink import PravegaTransactionalSink, PravegaWriter

__all__ = [
    "Delivery",
    "EnumeratorSnapshotSource",
    "EventRows",
    "EventTimeOrder",
    "GroupSettings",
    "PositionSource",
    "PravegaBatchSource",
    "PravegaConfig",
    "PravegaEventSink",
    "PravegaPartitionSource",
    "PravegaReader",
    "PravegaSegmentSource",
    "PravegaSource",
    "PravegaTransactionalSink",
    "PravegaWriter",
    "ReaderCheckpointHook",
    "RowEvents",
    "reader_metrics",
    "write_in_event_time_order",
]

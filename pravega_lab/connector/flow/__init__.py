"""The engine's connector: Pravega streams as sources and sinks of `pravega_lab.engine.flow` jobs."""

from pravega_lab.connector.flow.batch_source import PravegaBatchSource
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.event_sink import Delivery, PravegaEventSink
from pravega_lab.connector.flow.event_time_order import EventTimeOrder, write_in_event_time_order
from pravega_lab.connector.flow.events import EventRows, RowEvents
from pravega_lab.connector.flow.first_attempts import EnumeratorSnapshotSource, PositionSource
from pravega_lab.connector.flow.induced_source import PravegaSource
from pravega_lab.connector.flow.legacy_reader import PravegaReader, ReaderCheckpointHook
from pravega_lab.connector.flow.metrics import reader_metrics
from pravega_lab.connector.flow.partition_source import PravegaPartitionSource
from pravega_lab.connector.flow.reader_groups import GroupSettings
from pravega_lab.connector.flow.segment_source import PravegaSegmentSource
from pravega_lab.connector.flow.transactional_sink import PravegaTransactionalSink, PravegaWriter

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

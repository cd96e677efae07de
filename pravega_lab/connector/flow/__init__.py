"""The engine's connector: Pravega streams as sources and sinks of `pravega_lab.engine.flow` jobs."""

from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows, RowEvents
from pravega_lab.connector.flow.first_attempts import EnumeratorSnapshotSource, PositionSource
from pravega_lab.connector.flow.induced_source import PravegaSource
from pravega_lab.connector.flow.legacy_reader import PravegaReader, ReaderCheckpointHook
from pravega_lab.connector.flow.reader_groups import GroupSettings
from pravega_lab.connector.flow.segment_source import PravegaSegmentSource
from pravega_lab.connector.flow.transactional_sink import PravegaTransactionalSink, PravegaWriter

__all__ = [
    "EnumeratorSnapshotSource",
    "EventRows",
    "GroupSettings",
    "PositionSource",
    "PravegaConfig",
    "PravegaReader",
    "PravegaSegmentSource",
    "PravegaSource",
    "PravegaTransactionalSink",
    "PravegaWriter",
    "ReaderCheckpointHook",
    "RowEvents",
]

"""The engine's connector: Pravega streams as sources and sinks of `pravega_lab.engine.flow` jobs."""

from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import EventRows, RowEvents
from pravega_lab.connector.flow.segment_source import PravegaSegmentSource
from pravega_lab.connector.flow.transactional_sink import PravegaTransactionalSink, PravegaWriter

__all__ = [
    "EventRows",
    "PravegaConfig",
    "PravegaSegmentSource",
    "PravegaTransactionalSink",
    "PravegaWriter",
    "RowEvents",
]

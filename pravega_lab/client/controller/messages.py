"""Values of the client as messages of the controller, and messages as values."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pravega_lab.client.values import (
    RetentionKind,
    RetentionPolicy,
    ScalingKind,
    ScalingPolicy,
    StreamConfiguration,
)
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import SegmentRange, split_scoped_name


def stream_info(stream: str) -> pb.StreamInfo:
    """Return the name of a stream, ``scope/stream``, for a call."""
    scope, name = split_scoped_name(stream)
    return pb.StreamInfo(scope=scope, stream=name)


def stream_info_only(stream: str) -> pb.StreamInfo:
    """Return a stream's name for a call without a token in its answer: then reading permission is enough.

    That is so in the released 0.13.0.
    """
    info = stream_info(stream)
    info.accessOperation = pb.StreamInfo.NONE
    return info


def segment_range(message: pb.SegmentRange) -> SegmentRange:
    """Return the segment of a message, with its key range."""
    return SegmentRange(message.segmentId.segmentId, message.minKey, message.maxKey)


def segment_ranges(messages: Sequence[pb.SegmentRange]) -> list[SegmentRange]:
    """Return the segments of messages, in the order of their keys."""
    return sorted((segment_range(message) for message in messages), key=lambda segment: segment.low)


def config_message(stream: str, configuration: StreamConfiguration) -> pb.StreamConfig:
    """Return the message of a configuration."""
    scaling, retention = configuration.scaling, configuration.retention
    return pb.StreamConfig(
        streamInfo=stream_info(stream),
        scalingPolicy=pb.ScalingPolicy(
            scaleType=pb.ScalingPolicy.ScalingPolicyType.Name(scaling.kind.value),
            targetRate=scaling.target_rate,
            scaleFactor=scaling.scale_factor,
            minNumSegments=scaling.min_segments,
        ),
        retentionPolicy=pb.RetentionPolicy(
            retentionType=pb.RetentionPolicy.RetentionPolicyType.Name(retention.kind.value),
            retentionParam=retention.minimum,
            retentionMax=retention.maximum,
        ),
        tags=pb.Tags(tag=configuration.tags),
    )


def configuration_of(message: pb.StreamConfig) -> StreamConfiguration:
    """Return the configuration in a message."""
    scaling, retention = message.scalingPolicy, message.retentionPolicy
    kept = RetentionPolicy.none()
    if retention.retentionType:
        kept = RetentionPolicy(
            RetentionKind(retention.retentionType), retention.retentionParam, retention.retentionMax
        )
    return StreamConfiguration(
        ScalingPolicy(
            ScalingKind(scaling.scaleType), scaling.targetRate, scaling.scaleFactor, scaling.minNumSegments
        ),
        kept,
        tuple(message.tags.tag),
    )


def txn_uuid(message: pb.TxnId) -> UUID:
    """Return the id of a transaction in a message: two signed words."""
    return UUID(int=(message.highBits % 2**64) << 64 | message.lowBits % 2**64)


def txn_message(txn_id: UUID) -> pb.TxnId:
    """Return the message of a transaction id."""

    def signed(word: int) -> int:
        return word - 2**64 if word >= 2**63 else word

    return pb.TxnId(highBits=signed(txn_id.int >> 64), lowBits=signed(txn_id.int & (2**64 - 1)))

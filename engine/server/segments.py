"""The handlers of requests that create, change and describe stream segments (pravega.md D2, D5)."""

from __future__ import annotations

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.attributes import NO_VALUE, TIERED_OFFSET
from pravega_lab.protocol.names import transient_segment_name
from pravega_lab.protocol.wire import commands as c

from ..store.log import operations as ops
from .handlers import Connection, Handlers

REPLACE, REPLACE_IF_EQUALS = 1, 4
"""Kinds of attribute updates that a merge may carry (Java's AttributeUpdateType). Other kinds are refused."""


def get_info(connection: Connection, command: c.GetStreamSegmentInfo) -> None:
    """Handle GetStreamSegmentInfo: report the synced state of a segment."""
    found = connection.store.storage.info(command.segment)
    reply = c.StreamSegmentInfo(
        command.request_id,
        command.segment,
        exists=True,
        is_sealed=found.is_sealed,
        is_deleted=False,
        last_modified=found.last_modified_ms,
        write_offset=found.length,
        start_offset=found.start_offset,
    )
    connection.send(reply)


def create(connection: Connection, command: c.CreateSegment) -> None:
    """Handle CreateSegment: create a segment under the name that the client chose."""
    operation = ops.CreateSegment(
        command.segment, scale_type=command.scale_type, target_rate=command.target_rate
    )
    reply = c.SegmentCreated(command.request_id, command.segment)
    connection.change([operation], lambda _: reply)


def create_transient(connection: Connection, command: c.CreateTransientSegment) -> None:
    """Handle CreateTransientSegment: create a segment for one large event. As upstream, its parent need not
    exist.
    """
    name = transient_segment_name(command.parent, command.writer_id, connection.store.new_id())
    reply = c.SegmentCreated(command.request_id, name)
    connection.change([ops.CreateSegment(name)], lambda _: reply)


def seal(connection: Connection, command: c.SealSegment) -> None:
    """Handle SealSegment: no later append succeeds."""
    reply = c.SegmentSealed(command.request_id, command.segment)
    connection.change([ops.Seal(command.segment)], lambda _: reply)


def delete(connection: Connection, command: c.DeleteSegment) -> None:
    """Handle DeleteSegment."""
    reply = c.SegmentDeleted(command.request_id, command.segment)
    connection.change([ops.Delete(command.segment)], lambda _: reply)


def truncate(connection: Connection, command: c.TruncateSegment) -> None:
    """Handle TruncateSegment: drop the bytes below the offset."""
    reply = c.SegmentTruncated(command.request_id, command.segment)
    operation = ops.Truncate(command.segment, command.offset)
    connection.change([operation], lambda _: reply)


def update_policy(connection: Connection, command: c.UpdateSegmentPolicy) -> None:
    """Handle UpdateSegmentPolicy: set the rate with which the auto-scaler compares the segment."""
    reply = c.SegmentPolicyUpdated(command.request_id, command.segment)
    operation = ops.SetPolicy(command.segment, command.scale_type, command.target_rate)
    connection.change([operation], lambda _: reply)


def get_attribute(connection: Connection, command: c.GetSegmentAttribute) -> None:
    """Handle GetSegmentAttribute: report the synced value."""
    storage = connection.store.storage
    if command.attribute_id == TIERED_OFFSET:
        offset = storage.tiered_offset(command.segment)
        value = NO_VALUE if offset is None else offset
    else:
        value = storage.attribute(command.segment, command.attribute_id)
    connection.send(c.SegmentAttribute(command.request_id, value))


def update_attribute(connection: Connection, command: c.UpdateSegmentAttribute) -> None:
    """Handle UpdateSegmentAttribute: compare and set."""
    operation = ops.SetAttribute(
        command.segment, command.attribute_id, command.new_value, command.expected_value
    )
    reply = c.SegmentAttributeUpdated(command.request_id, True)
    connection.change([operation], lambda _: reply)


def merge(connection: Connection, command: c.MergeSegments) -> None:
    """Handle MergeSegments: append the source to its parent, and set attributes in the same step."""
    updates = [_attribute(command.target, update) for update in command.attribute_updates or ()]
    request_id, target, source = command.request_id, command.target, command.source
    connection.change(
        [*updates, ops.Merge(target, source)],
        lambda results: c.SegmentsMerged(request_id, target, source, results[-1]),
    )


def _attribute(segment: str, update: c.AttributeUpdate) -> ops.SetAttribute:
    if update.kind not in (REPLACE, REPLACE_IF_EQUALS):
        raise ProtocolError(f"a merge carries an attribute update of kind {update.kind}; 1 and 4 are known")
    expected = update.old_value if update.kind == REPLACE_IF_EQUALS else None
    return ops.SetAttribute(segment, update.attribute_id, update.new_value, expected)


def merge_batch(connection: Connection, command: c.MergeSegmentsBatch) -> None:
    """Handle MergeSegmentsBatch: merge several sources into one target in order, all or none."""

    def reply(lengths: list[int]) -> c.Command:
        merged = tuple(zip(command.sources, lengths, strict=True))
        return c.SegmentsBatchMerged(command.request_id, command.target, merged)

    connection.change([ops.Merge(command.target, source) for source in command.sources], reply)


HANDLERS: Handlers = {
    c.GetStreamSegmentInfo: get_info,
    c.CreateSegment: create,
    c.CreateTransientSegment: create_transient,
    c.SealSegment: seal,
    c.DeleteSegment: delete,
    c.TruncateSegment: truncate,
    c.UpdateSegmentPolicy: update_policy,
    c.GetSegmentAttribute: get_attribute,
    c.UpdateSegmentAttribute: update_attribute,
    c.MergeSegments: merge,
    c.MergeSegmentsBatch: merge_batch,
}

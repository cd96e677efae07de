"""The wire commands of Pravega's segment store, declared once: type code, and fields in wire order.

Source: pravega.md D2 (field orders of the released 0.13.0 server and clients). The whole project uses the
field names declared here. ``codec.py`` turns fields into bytes.

The annotation of a field is its wire type: ``I32 I64 U8 Bool Utf Uuid`` have a fixed form, ``LpBytes`` has
an i32 length, and ``Rest`` runs to the end of the frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, ClassVar, NamedTuple
from uuid import UUID

I32 = Annotated[int, "i32"]
I64 = Annotated[int, "i64"]
U8 = Annotated[int, "u8"]
Bool = Annotated[bool, "bool"]
Utf = Annotated[str, "utf"]
Uuid = Annotated[UUID, "uuid"]
LpBytes = Annotated[bytes, "lp"]
Rest = Annotated[bytes, "rest"]
OptI64 = Annotated[int | None, "i64?"]  # absent when the frame ends before it
Utfs = Annotated[tuple[str, ...], "utf*"]
MergedSources = Annotated[tuple[tuple[str, int], ...], "merged*"]  # source, target's length after it
Versions = Annotated[tuple[int, ...], "i64*"]
EventFrame = Annotated[bytes, "event"]  # i32 type 0, i32 length, payload; the field holds the payload


class TableKey(NamedTuple):
    """A key and its version: ``NO_VERSION`` means unconditional, ``NOT_EXISTS`` that the key must be
    absent.

    An empty key has no version on the wire, and is read with ``NO_VERSION``.

    Source: pravega.md A13.
    """

    key: bytes
    version: int


class TableEntry(NamedTuple):
    """Holds a key with its version, and its value."""

    key: TableKey
    value: bytes


@dataclass(frozen=True, slots=True)
class AttributeUpdate:
    """A change of the target's attributes in a Java merge.

    ``kind`` says how the old and new values are used.
    """

    attribute_id: UUID
    kind: int
    new_value: int
    old_value: int


@dataclass(frozen=True, slots=True)
class TableSegmentOptions:
    """What Java sends after the token of CreateTableSegment. Rust sends nothing there."""

    sorted: bool
    key_length: int
    rollover_size_bytes: int


TableKeys = Annotated[tuple[TableKey, ...], "key*"]
TableEntries = Annotated[tuple[TableEntry, ...], "entry*"]
AttributeUpdates = Annotated[tuple[AttributeUpdate, ...] | None, "attribute*?"]
TableOptions = Annotated[TableSegmentOptions | None, "table options?"]

NO_VERSION = -(2**63)
NOT_EXISTS = -1
NULL_ATTRIBUTE = -(2**63)
NO_EVENT_NUMBER = -(2**63)


@dataclass(frozen=True, slots=True)
class Command:
    """One frame. Subclasses add the fields in wire order."""

    code: ClassVar[int]


@dataclass(frozen=True, slots=True)
class Hello(Command):
    """The first frame in both directions: the highest and lowest version spoken. 0.13.0 sends 16 and 5."""

    code: ClassVar[int] = -127
    high: I32
    low: I32


@dataclass(frozen=True, slots=True)
class PartialEvent(Command):
    """The first part of an event that AppendBlockEnd completes. It occurs only inside an AppendBlock."""

    code: ClassVar[int] = -2
    data: Rest


@dataclass(frozen=True, slots=True)
class Padding(Command):
    """Fills what a client reserved and did not need. It occurs only inside an AppendBlock."""

    code: ClassVar[int] = -1
    data: Rest


@dataclass(frozen=True, slots=True)
class Event(Command):
    """An event as segments hold it. It is never a frame of its own on a connection."""

    code: ClassVar[int] = 0
    data: Rest


@dataclass(frozen=True, slots=True)
class SetupAppend(Command):
    """Opens a writer's session on a segment. It must precede the writer's first append on a connection."""

    code: ClassVar[int] = 1
    request_id: I64
    writer_id: Uuid
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class AppendSetup(Command):
    """Reports the last event number stored for the writer, ``NO_EVENT_NUMBER`` if there is none."""

    code: ClassVar[int] = 2
    request_id: I64
    segment: Utf
    writer_id: Uuid
    last_event_number: I64


@dataclass(frozen=True, slots=True)
class AppendBlock(Command):
    """Carries the writer id and a block of events. Its AppendBlockEnd follows (pravega.md D3)."""

    code: ClassVar[int] = 3
    writer_id: Uuid
    data: Rest


@dataclass(frozen=True, slots=True)
class AppendBlockEnd(Command):
    """Ends a block, or is a whole block. ``data`` holds event frames.

    Source: pravega.md D3; see ``frames.join_append_block``.
    """

    code: ClassVar[int] = 4
    writer_id: Uuid
    size_of_whole_events: I32
    data: LpBytes
    num_events: I32
    last_event_number: I64
    request_id: I64


@dataclass(frozen=True, slots=True)
class ConditionalAppend(Command):
    """Appends one event if the segment is ``expected_offset`` bytes long."""

    code: ClassVar[int] = 5
    writer_id: Uuid
    event_number: I64
    expected_offset: I64
    event: EventFrame
    request_id: I64


@dataclass(frozen=True, slots=True)
class DataAppended(Command):
    """Reports that all events up to ``event_number`` are durable.

    ``previous_event_number`` is the number in the previous such report.
    """

    code: ClassVar[int] = 7
    writer_id: Uuid
    event_number: I64
    previous_event_number: I64
    request_id: I64
    current_segment_write_offset: I64


@dataclass(frozen=True, slots=True)
class ConditionalCheckFailed(Command):
    """Reports that the segment had another length, and that nothing was written."""

    code: ClassVar[int] = 8
    writer_id: Uuid
    event_number: I64
    request_id: I64


@dataclass(frozen=True, slots=True)
class ReadSegment(Command):
    """Asks for bytes from ``offset`` on. At the tail, the reply waits for new data (pravega.md D4)."""

    code: ClassVar[int] = 9
    segment: Utf
    offset: I64
    suggested_length: I32
    token: Utf
    request_id: I64


@dataclass(frozen=True, slots=True)
class SegmentRead(Command):
    """Carries bytes from the requested ``offset`` on. A sealed end has none, and ``end_of_segment``."""

    code: ClassVar[int] = 10
    segment: Utf
    offset: I64
    at_tail: Bool
    end_of_segment: Bool
    data: LpBytes
    request_id: I64


@dataclass(frozen=True, slots=True)
class GetStreamSegmentInfo(Command):
    """Asks for a segment's bounds and state."""

    code: ClassVar[int] = 11
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class StreamSegmentInfo(Command):
    """Reports a segment: ``write_offset`` is its length, ``start_offset`` its truncation point.

    ``last_modified`` is in ms.
    """

    code: ClassVar[int] = 12
    request_id: I64
    segment: Utf
    exists: Bool
    is_sealed: Bool
    is_deleted: Bool
    last_modified: I64
    write_offset: I64
    start_offset: I64


@dataclass(frozen=True, slots=True)
class CreateSegment(Command):
    """Creates a segment. ``scale_type`` is 0 fixed, 1 KB/s or 2 events/s, the unit of ``target_rate``."""

    code: ClassVar[int] = 20
    request_id: I64
    segment: Utf
    target_rate: I32
    scale_type: U8
    token: Utf
    rollover_size_bytes: OptI64 = None


@dataclass(frozen=True, slots=True)
class SegmentCreated(Command):
    """Reports that the segment exists. For CreateTransientSegment it has the name that the store chose."""

    code: ClassVar[int] = 21
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class SealSegment(Command):
    """Seals a segment: it accepts no more appends."""

    code: ClassVar[int] = 28
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentSealed(Command):
    """Reports that the segment was sealed."""

    code: ClassVar[int] = 29
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class DeleteSegment(Command):
    """Deletes a segment."""

    code: ClassVar[int] = 30
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentDeleted(Command):
    """Reports that the segment, or table segment, was deleted."""

    code: ClassVar[int] = 31
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class UpdateSegmentPolicy(Command):
    """Changes a segment's target rate, in the unit of ``scale_type``."""

    code: ClassVar[int] = 32
    request_id: I64
    segment: Utf
    target_rate: I32
    scale_type: U8
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentPolicyUpdated(Command):
    """Reports that the target rate was changed."""

    code: ClassVar[int] = 33
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class GetSegmentAttribute(Command):
    """Asks for one attribute of a segment."""

    code: ClassVar[int] = 34
    request_id: I64
    segment: Utf
    attribute_id: Uuid
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentAttribute(Command):
    """Reports the attribute's value, ``NULL_ATTRIBUTE`` if it has none."""

    code: ClassVar[int] = 35
    request_id: I64
    value: I64


@dataclass(frozen=True, slots=True)
class UpdateSegmentAttribute(Command):
    """Sets an attribute if it has the expected value."""

    code: ClassVar[int] = 36
    request_id: I64
    segment: Utf
    attribute_id: Uuid
    new_value: I64
    expected_value: I64
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentAttributeUpdated(Command):
    """Reports whether the attribute had the expected value and was set."""

    code: ClassVar[int] = 37
    request_id: I64
    success: Bool


@dataclass(frozen=True, slots=True)
class TruncateSegment(Command):
    """Drops all bytes before ``offset``."""

    code: ClassVar[int] = 38
    request_id: I64
    segment: Utf
    offset: I64
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentTruncated(Command):
    """Reports that the segment was truncated."""

    code: ClassVar[int] = 39
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class CreateTransientSegment(Command):
    """Creates a segment in which a writer assembles a large event. The store chooses its name."""

    code: ClassVar[int] = 40
    request_id: I64
    writer_id: Uuid
    parent: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class LocateOffset(Command):
    """Asks for the event boundary at or after ``target``.

    Only servers from protocol version 17 on answer it, so no client here sends it. It is declared so that
    the store closes the connection of a newer client with a reason, and does not take the frame for damaged
    bytes.
    """

    code: ClassVar[int] = 41
    request_id: I64
    segment: Utf
    target: I64
    token: Utf


@dataclass(frozen=True, slots=True)
class OffsetLocated(Command):
    """Reports the event boundary that LocateOffset asked for (protocol version 17 and later)."""

    code: ClassVar[int] = 42
    request_id: I64
    segment: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class WrongHost(Command):
    """Reports that another store serves the segment. The client asks the controller again."""

    code: ClassVar[int] = 50
    request_id: I64
    segment: Utf
    correct_host: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class SegmentIsSealed(Command):
    """Reports that the request is impossible on a sealed segment."""

    code: ClassVar[int] = 51
    request_id: I64
    segment: Utf
    stack: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class SegmentAlreadyExists(Command):
    """Reports that the segment exists."""

    code: ClassVar[int] = 52
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class NoSuchSegment(Command):
    """Reports that the segment, or the source of a merge, does not exist."""

    code: ClassVar[int] = 53
    request_id: I64
    segment: Utf
    stack: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class InvalidEventNumber(Command):
    """Reports that another connection advanced the writer's event number. This connection is closed."""

    code: ClassVar[int] = 55
    writer_id: Uuid
    request_id: I64
    stack: Utf
    event_number: I64


@dataclass(frozen=True, slots=True)
class SegmentIsTruncated(Command):
    """Reports that the segment begins at ``start_offset``, after the requested offset.

    For a table, it reports that the length is not the expected one.
    """

    code: ClassVar[int] = 56
    request_id: I64
    segment: Utf
    start_offset: I64
    stack: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class OperationUnsupported(Command):
    """Reports that the store does not support the request."""

    code: ClassVar[int] = 57
    request_id: I64
    operation: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class MergeSegments(Command):
    """Appends all of ``source`` to ``target``, and deletes it. Java sends attribute updates with it."""

    code: ClassVar[int] = 58
    request_id: I64
    target: Utf
    source: Utf
    token: Utf
    attribute_updates: AttributeUpdates = None


@dataclass(frozen=True, slots=True)
class SegmentsMerged(Command):
    """Reports the target's length after the merge, also if it was merged before."""

    code: ClassVar[int] = 59
    request_id: I64
    target: Utf
    source: Utf
    new_target_write_offset: I64


@dataclass(frozen=True, slots=True)
class AuthTokenCheckFailed(Command):
    """Reports a refused token. ``error_code``: -1 unspecified, 0 the token is wrong, 1 it has expired."""

    code: ClassVar[int] = 60
    request_id: I64
    stack: Utf
    error_code: I32


class ErrorCode(IntEnum):
    """The kinds of `ErrorMessage`. Released clients know the first two and read any other as UNSPECIFIED."""

    UNSPECIFIED = -1
    ILLEGAL_ARGUMENT = 0
    STORE_FULL = 507
    """Sent by the embedded store only: its disk is full, and the request may succeed later."""


@dataclass(frozen=True, slots=True)
class ErrorMessage(Command):
    """Reports a refusal that has no command of its own. ``error_code`` is an `ErrorCode`."""

    code: ClassVar[int] = 61
    request_id: I64
    segment: Utf
    message: Utf
    error_code: I32


@dataclass(frozen=True, slots=True)
class GetTableSegmentInfo(Command):
    """Asks for a table segment's bounds and size."""

    code: ClassVar[int] = 68
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class TableSegmentInfo(Command):
    """Reports ``entry_count`` keys. ``key_length`` is 0 if keys may differ in length."""

    code: ClassVar[int] = 69
    request_id: I64
    segment: Utf
    start_offset: I64
    length: I64
    entry_count: I64
    key_length: I32


@dataclass(frozen=True, slots=True)
class CreateTableSegment(Command):
    """Creates a table segment. The reply is SegmentCreated."""

    code: ClassVar[int] = 70
    request_id: I64
    segment: Utf
    token: Utf
    options: TableOptions = None


@dataclass(frozen=True, slots=True)
class DeleteTableSegment(Command):
    """Deletes a table segment, with ``must_be_empty`` only if it has no entries."""

    code: ClassVar[int] = 71
    request_id: I64
    segment: Utf
    must_be_empty: Bool
    token: Utf


@dataclass(frozen=True, slots=True)
class UpdateTableEntries(Command):
    """Puts entries, all or none.

    ``table_segment_offset`` is -1, or the length that the segment must have.
    """

    code: ClassVar[int] = 74
    request_id: I64
    segment: Utf
    token: Utf
    entries: TableEntries
    table_segment_offset: I64


@dataclass(frozen=True, slots=True)
class TableEntriesUpdated(Command):
    """Reports the new version of each entry, in the order of the request."""

    code: ClassVar[int] = 75
    request_id: I64
    versions: Versions


@dataclass(frozen=True, slots=True)
class RemoveTableKeys(Command):
    """Removes keys, all or none, under the conditions of UpdateTableEntries."""

    code: ClassVar[int] = 76
    request_id: I64
    segment: Utf
    token: Utf
    keys: TableKeys
    table_segment_offset: I64


@dataclass(frozen=True, slots=True)
class TableKeysRemoved(Command):
    """Reports that the keys were removed."""

    code: ClassVar[int] = 77
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class ReadTable(Command):
    """Asks for the values of keys."""

    code: ClassVar[int] = 78
    request_id: I64
    segment: Utf
    token: Utf
    keys: TableKeys


@dataclass(frozen=True, slots=True)
class TableRead(Command):
    """Carries an entry per requested key. A missing key has version ``NOT_EXISTS`` and no value."""

    code: ClassVar[int] = 79
    request_id: I64
    segment: Utf
    entries: TableEntries


@dataclass(frozen=True, slots=True)
class TableSegmentNotEmpty(Command):
    """Reports that the table has entries and was not deleted."""

    code: ClassVar[int] = 80
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class TableKeyDoesNotExist(Command):
    """Reports that a version was expected of a missing key, and that nothing was changed."""

    code: ClassVar[int] = 81
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class TableKeyBadVersion(Command):
    """Reports that a key has another version than expected, and that nothing was changed."""

    code: ClassVar[int] = 82
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class ReadTableKeys(Command):
    """Asks for a page of keys. ``range`` is what only Java sends after the token (prefix or bounds)."""

    code: ClassVar[int] = 83
    request_id: I64
    segment: Utf
    token: Utf
    suggested_key_count: I32
    continuation_token: LpBytes
    range: Rest = b""


@dataclass(frozen=True, slots=True)
class TableKeysRead(Command):
    """Carries a page of keys, and the token of the next page."""

    code: ClassVar[int] = 84
    request_id: I64
    segment: Utf
    keys: TableKeys
    continuation_token: LpBytes


@dataclass(frozen=True, slots=True)
class ReadTableEntries(Command):
    """Asks for a page of entries. ``range`` is as in ReadTableKeys."""

    code: ClassVar[int] = 85
    request_id: I64
    segment: Utf
    token: Utf
    suggested_entry_count: I32
    continuation_token: LpBytes
    range: Rest = b""


@dataclass(frozen=True, slots=True)
class TableEntriesRead(Command):
    """Carries a page of entries, and the token of the next page."""

    code: ClassVar[int] = 86
    request_id: I64
    segment: Utf
    entries: TableEntries
    continuation_token: LpBytes


@dataclass(frozen=True, slots=True)
class ReadTableEntriesDelta(Command):
    """Asks for what changed from a position of the table segment on."""

    code: ClassVar[int] = 88
    request_id: I64
    segment: Utf
    token: Utf
    from_position: I64
    suggested_entry_count: I32


@dataclass(frozen=True, slots=True)
class TableEntriesDeltaRead(Command):
    """Carries the newest entry per key of a page. ``last_position`` is where the next page begins."""

    code: ClassVar[int] = 87
    request_id: I64
    segment: Utf
    entries: TableEntries
    should_clear: Bool
    reached_end: Bool
    last_position: I64


@dataclass(frozen=True, slots=True)
class ConditionalBlockEnd(Command):
    """Appends ``data`` as it is, as one event, if the segment is ``expected_offset`` bytes long."""

    code: ClassVar[int] = 89
    writer_id: Uuid
    event_number: I64
    expected_offset: I64
    data: LpBytes
    request_id: I64


@dataclass(frozen=True, slots=True)
class MergeSegmentsBatch(Command):
    """Merges several segments into one, in order, all or none."""

    code: ClassVar[int] = 90
    request_id: I64
    target: Utf
    sources: Utfs
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentsBatchMerged(Command):
    """Reports the sources in order, each with the target's length after its merge."""

    code: ClassVar[int] = 91
    request_id: I64
    target: Utf
    merged: MergedSources


@dataclass(frozen=True, slots=True)
class KeepAlive(Command):
    """Has no fields. The server replies with the same command."""

    code: ClassVar[int] = 100

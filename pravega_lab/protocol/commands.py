"""The wire commands of Pravega's segment store, declared once: type code and fields in wire order.

Source: reference D2 (field orders of the released 0.13.0 server and clients). What a field is called
here is what it is called everywhere in the project. How fields become bytes is `codec.py`'s business.

A field's annotation is its wire type: ``I32 I64 U8 Bool Utf Uuid`` are fixed, ``LpBytes`` carries an
i32 length, ``Rest`` runs to the end of the frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar
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


@dataclass(frozen=True, slots=True)
class TableKey:
    """A key and its version: ``NO_VERSION`` = unconditional, ``NOT_EXISTS`` = must be absent (A13).

    An empty key has no version on the wire; it is read back with ``NO_VERSION``.
    """

    key: bytes
    version: int


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A key with its version, and its value."""

    key: TableKey
    value: bytes


@dataclass(frozen=True, slots=True)
class AttributeUpdate:
    """What a Java merge changes on the target; ``kind`` says how old and new value are used."""

    attribute_id: UUID
    kind: int
    new_value: int
    old_value: int


@dataclass(frozen=True, slots=True)
class TableSegmentOptions:
    """What Java sends behind the token of CreateTableSegment; Rust stops before it."""

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
    """First frame in both directions: the highest and lowest version spoken. 0.13.0 says 16 and 5."""

    code: ClassVar[int] = -127
    high: I32
    low: I32


@dataclass(frozen=True, slots=True)
class PartialEvent(Command):
    """Inside an AppendBlock only: the first part of an event that AppendBlockEnd completes."""

    code: ClassVar[int] = -2
    data: Rest


@dataclass(frozen=True, slots=True)
class Padding(Command):
    """Inside an AppendBlock only: fills what the client reserved and did not need."""

    code: ClassVar[int] = -1
    data: Rest


@dataclass(frozen=True, slots=True)
class Event(Command):
    """An event as segments hold it; never a frame of its own on a connection."""

    code: ClassVar[int] = 0
    data: Rest


@dataclass(frozen=True, slots=True)
class SetupAppend(Command):
    """Open a writer's session on a segment; needed before its first append on a connection."""

    code: ClassVar[int] = 1
    request_id: I64
    writer_id: Uuid
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class AppendSetup(Command):
    """The last event number stored for the writer; ``NO_EVENT_NUMBER`` if none."""

    code: ClassVar[int] = 2
    request_id: I64
    segment: Utf
    writer_id: Uuid
    last_event_number: I64


@dataclass(frozen=True, slots=True)
class AppendBlock(Command):
    """The writer id, then a block of events; its AppendBlockEnd follows (D3)."""

    code: ClassVar[int] = 3
    writer_id: Uuid
    data: Rest


@dataclass(frozen=True, slots=True)
class AppendBlockEnd(Command):
    """End of a block, or all of one: ``data`` holds event frames (D3, ``frames.join_append_block``)."""

    code: ClassVar[int] = 4
    writer_id: Uuid
    size_of_whole_events: I32
    data: LpBytes
    num_events: I32
    last_event_number: I64
    request_id: I64


@dataclass(frozen=True, slots=True)
class ConditionalAppend(Command):
    """Append one event if the segment is ``expected_offset`` bytes long."""

    code: ClassVar[int] = 5
    writer_id: Uuid
    event_number: I64
    expected_offset: I64
    event: EventFrame
    request_id: I64


@dataclass(frozen=True, slots=True)
class DataAppended(Command):
    """Everything up to ``event_number`` is durable; ``previous_event_number`` was the last one said so."""

    code: ClassVar[int] = 7
    writer_id: Uuid
    event_number: I64
    previous_event_number: I64
    request_id: I64
    current_segment_write_offset: I64


@dataclass(frozen=True, slots=True)
class ConditionalCheckFailed(Command):
    """The segment had another length; nothing was written."""

    code: ClassVar[int] = 8
    writer_id: Uuid
    event_number: I64
    request_id: I64


@dataclass(frozen=True, slots=True)
class ReadSegment(Command):
    """Read from ``offset``; at the tail the answer waits until there is something to say (D4)."""

    code: ClassVar[int] = 9
    segment: Utf
    offset: I64
    suggested_length: I32
    token: Utf
    request_id: I64


@dataclass(frozen=True, slots=True)
class SegmentRead(Command):
    """Bytes from ``offset``, the one asked for; none and ``end_of_segment`` at a sealed end."""

    code: ClassVar[int] = 10
    segment: Utf
    offset: I64
    at_tail: Bool
    end_of_segment: Bool
    data: LpBytes
    request_id: I64


@dataclass(frozen=True, slots=True)
class GetStreamSegmentInfo(Command):
    """Ask for a segment's bounds and state."""

    code: ClassVar[int] = 11
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class StreamSegmentInfo(Command):
    """``write_offset`` is the length, ``start_offset`` the truncation point; ``last_modified`` in ms."""

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
    """Create a segment; ``scale_type`` 0 fixed, 1 KB/s, 2 events/s, with ``target_rate``."""

    code: ClassVar[int] = 20
    request_id: I64
    segment: Utf
    target_rate: I32
    scale_type: U8
    token: Utf
    rollover_size_bytes: OptI64 = None


@dataclass(frozen=True, slots=True)
class SegmentCreated(Command):
    """Also the answer to CreateTransientSegment, with the name that the store chose."""

    code: ClassVar[int] = 21
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class SealSegment(Command):
    """Refuse appends from now on."""

    code: ClassVar[int] = 28
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentSealed(Command):
    """The segment is sealed now."""

    code: ClassVar[int] = 29
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class DeleteSegment(Command):
    """Delete a segment."""

    code: ClassVar[int] = 30
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentDeleted(Command):
    """The segment, or table segment, is gone."""

    code: ClassVar[int] = 31
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class UpdateSegmentPolicy(Command):
    """Change a segment's target rate, in the units of ``scale_type``."""

    code: ClassVar[int] = 32
    request_id: I64
    segment: Utf
    target_rate: I32
    scale_type: U8
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentPolicyUpdated(Command):
    """The new target rate holds."""

    code: ClassVar[int] = 33
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class GetSegmentAttribute(Command):
    """Ask for one attribute of a segment."""

    code: ClassVar[int] = 34
    request_id: I64
    segment: Utf
    attribute_id: Uuid
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentAttribute(Command):
    """The attribute's value; ``NULL_ATTRIBUTE`` if it has none."""

    code: ClassVar[int] = 35
    request_id: I64
    value: I64


@dataclass(frozen=True, slots=True)
class UpdateSegmentAttribute(Command):
    """Set an attribute if it has the expected value."""

    code: ClassVar[int] = 36
    request_id: I64
    segment: Utf
    attribute_id: Uuid
    new_value: I64
    expected_value: I64
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentAttributeUpdated(Command):
    """Whether the attribute had the expected value and was set."""

    code: ClassVar[int] = 37
    request_id: I64
    success: Bool


@dataclass(frozen=True, slots=True)
class TruncateSegment(Command):
    """Drop everything before ``offset``."""

    code: ClassVar[int] = 38
    request_id: I64
    segment: Utf
    offset: I64
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentTruncated(Command):
    """The segment begins at the wanted offset now."""

    code: ClassVar[int] = 39
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class CreateTransientSegment(Command):
    """Create a segment to put a large event together; the store chooses its name."""

    code: ClassVar[int] = 40
    request_id: I64
    writer_id: Uuid
    parent: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class LocateOffset(Command):
    """From protocol 17 on only: the event boundary at or after ``target``."""

    code: ClassVar[int] = 41
    request_id: I64
    segment: Utf
    target: I64
    token: Utf


@dataclass(frozen=True, slots=True)
class OffsetLocated(Command):
    """From protocol 17 on only: the boundary found."""

    code: ClassVar[int] = 42
    request_id: I64
    segment: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class WrongHost(Command):
    """The segment lives elsewhere; ask the controller again."""

    code: ClassVar[int] = 50
    request_id: I64
    segment: Utf
    correct_host: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class SegmentIsSealed(Command):
    """What was asked does not work on a sealed segment."""

    code: ClassVar[int] = 51
    request_id: I64
    segment: Utf
    stack: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class SegmentAlreadyExists(Command):
    """There is such a segment."""

    code: ClassVar[int] = 52
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class NoSuchSegment(Command):
    """There is no such segment, or no such source of a merge."""

    code: ClassVar[int] = 53
    request_id: I64
    segment: Utf
    stack: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class InvalidEventNumber(Command):
    """Another connection advanced the writer's event number; this connection is closed."""

    code: ClassVar[int] = 55
    writer_id: Uuid
    request_id: I64
    stack: Utf
    event_number: I64


@dataclass(frozen=True, slots=True)
class SegmentIsTruncated(Command):
    """The segment begins at ``start_offset``, after what was asked; or a table's length was another."""

    code: ClassVar[int] = 56
    request_id: I64
    segment: Utf
    start_offset: I64
    stack: Utf
    offset: I64


@dataclass(frozen=True, slots=True)
class OperationUnsupported(Command):
    """The store cannot do this."""

    code: ClassVar[int] = 57
    request_id: I64
    operation: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class MergeSegments(Command):
    """Append all of ``source`` to ``target``, and delete it. Java sends attribute updates along."""

    code: ClassVar[int] = 58
    request_id: I64
    target: Utf
    source: Utf
    token: Utf
    attribute_updates: AttributeUpdates = None


@dataclass(frozen=True, slots=True)
class SegmentsMerged(Command):
    """The target's length after the merge; also when it was merged before."""

    code: ClassVar[int] = 59
    request_id: I64
    target: Utf
    source: Utf
    new_target_write_offset: I64


@dataclass(frozen=True, slots=True)
class AuthTokenCheckFailed(Command):
    """``error_code``: -1 unspecified, 0 the token is wrong, 1 it expired."""

    code: ClassVar[int] = 60
    request_id: I64
    stack: Utf
    error_code: I32


@dataclass(frozen=True, slots=True)
class ErrorMessage(Command):
    """The store failed in a way that has no command of its own."""

    code: ClassVar[int] = 61
    request_id: I64
    segment: Utf
    message: Utf
    error_code: I32


@dataclass(frozen=True, slots=True)
class GetTableSegmentInfo(Command):
    """Ask for a table segment's bounds and size."""

    code: ClassVar[int] = 68
    request_id: I64
    segment: Utf
    token: Utf


@dataclass(frozen=True, slots=True)
class TableSegmentInfo(Command):
    """``entry_count`` keys; ``key_length`` 0 if keys differ in length."""

    code: ClassVar[int] = 69
    request_id: I64
    segment: Utf
    start_offset: I64
    length: I64
    entry_count: I64
    key_length: I32


@dataclass(frozen=True, slots=True)
class CreateTableSegment(Command):
    """Create a table segment; the answer is SegmentCreated."""

    code: ClassVar[int] = 70
    request_id: I64
    segment: Utf
    token: Utf
    options: TableOptions = None


@dataclass(frozen=True, slots=True)
class DeleteTableSegment(Command):
    """Delete a table segment, perhaps only if it has no entry."""

    code: ClassVar[int] = 71
    request_id: I64
    segment: Utf
    must_be_empty: Bool
    token: Utf


@dataclass(frozen=True, slots=True)
class UpdateTableEntries(Command):
    """Put entries, all or none; ``table_segment_offset`` -1, or the length that the segment must have."""

    code: ClassVar[int] = 74
    request_id: I64
    segment: Utf
    token: Utf
    entries: TableEntries
    table_segment_offset: I64


@dataclass(frozen=True, slots=True)
class TableEntriesUpdated(Command):
    """The new version of each entry, in the order of the request."""

    code: ClassVar[int] = 75
    request_id: I64
    versions: Versions


@dataclass(frozen=True, slots=True)
class RemoveTableKeys(Command):
    """Remove keys, all or none; conditions as in UpdateTableEntries."""

    code: ClassVar[int] = 76
    request_id: I64
    segment: Utf
    token: Utf
    keys: TableKeys
    table_segment_offset: I64


@dataclass(frozen=True, slots=True)
class TableKeysRemoved(Command):
    """The keys are gone."""

    code: ClassVar[int] = 77
    request_id: I64
    segment: Utf


@dataclass(frozen=True, slots=True)
class ReadTable(Command):
    """Ask for the values of keys."""

    code: ClassVar[int] = 78
    request_id: I64
    segment: Utf
    token: Utf
    keys: TableKeys


@dataclass(frozen=True, slots=True)
class TableRead(Command):
    """An entry per key asked; version ``NOT_EXISTS`` and no value for a missing one."""

    code: ClassVar[int] = 79
    request_id: I64
    segment: Utf
    entries: TableEntries


@dataclass(frozen=True, slots=True)
class TableSegmentNotEmpty(Command):
    """Not deleted: the table has entries."""

    code: ClassVar[int] = 80
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class TableKeyDoesNotExist(Command):
    """A version was expected of a key that is missing; nothing was changed."""

    code: ClassVar[int] = 81
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class TableKeyBadVersion(Command):
    """A key has another version than expected; nothing was changed."""

    code: ClassVar[int] = 82
    request_id: I64
    segment: Utf
    stack: Utf


@dataclass(frozen=True, slots=True)
class ReadTableKeys(Command):
    """A page of keys; ``range`` holds what only Java sends behind the token (prefix or bounds)."""

    code: ClassVar[int] = 83
    request_id: I64
    segment: Utf
    token: Utf
    suggested_key_count: I32
    continuation_token: LpBytes
    range: Rest = b""


@dataclass(frozen=True, slots=True)
class TableKeysRead(Command):
    """A page of keys, and the token for the next one."""

    code: ClassVar[int] = 84
    request_id: I64
    segment: Utf
    keys: TableKeys
    continuation_token: LpBytes


@dataclass(frozen=True, slots=True)
class ReadTableEntries(Command):
    """A page of entries; ``range`` as in ReadTableKeys."""

    code: ClassVar[int] = 85
    request_id: I64
    segment: Utf
    token: Utf
    suggested_entry_count: I32
    continuation_token: LpBytes
    range: Rest = b""


@dataclass(frozen=True, slots=True)
class TableEntriesRead(Command):
    """A page of entries, and the token for the next one."""

    code: ClassVar[int] = 86
    request_id: I64
    segment: Utf
    entries: TableEntries
    continuation_token: LpBytes


@dataclass(frozen=True, slots=True)
class ReadTableEntriesDelta(Command):
    """Ask for what changed from a position of the table segment on."""

    code: ClassVar[int] = 88
    request_id: I64
    segment: Utf
    token: Utf
    from_position: I64
    suggested_entry_count: I32


@dataclass(frozen=True, slots=True)
class TableEntriesDeltaRead(Command):
    """The newest entry per key in the page; ``last_position`` is where to go on."""

    code: ClassVar[int] = 87
    request_id: I64
    segment: Utf
    entries: TableEntries
    should_clear: Bool
    reached_end: Bool
    last_position: I64


@dataclass(frozen=True, slots=True)
class ConditionalBlockEnd(Command):
    """Append ``data`` as it is, as one event, if the segment is ``expected_offset`` bytes long."""

    code: ClassVar[int] = 89
    writer_id: Uuid
    event_number: I64
    expected_offset: I64
    data: LpBytes
    request_id: I64


@dataclass(frozen=True, slots=True)
class MergeSegmentsBatch(Command):
    """Merge several segments into one, in order, at once."""

    code: ClassVar[int] = 90
    request_id: I64
    target: Utf
    sources: Utfs
    token: Utf


@dataclass(frozen=True, slots=True)
class SegmentsBatchMerged(Command):
    """The target's length after each source."""

    code: ClassVar[int] = 91
    request_id: I64
    target: Utf
    merged: MergedSources

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(source for source, _ in self.merged)

    @property
    def new_target_write_offsets(self) -> tuple[int, ...]:
        return tuple(offset for _, offset in self.merged)


@dataclass(frozen=True, slots=True)
class KeepAlive(Command):
    """Says nothing; the server echoes it."""

    code: ClassVar[int] = 100

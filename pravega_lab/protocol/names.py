"""Names of scopes, streams and segments, and the meaning of a segment id (pravega.md A1, A2).

A segment id is ``epoch << 32 | number``, where the epoch is the one in which the segment was created. Ids
only grow, so a larger id is never older. Nothing here checks whether something exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from pravega_lab.errors import BadInputError

NAME_LENGTH_MAX = 255
USER_NAME_LENGTH_MAX = 250  # leaves room for the prefixes below
READER_GROUP_PREFIX = "_RG"
MARK_PREFIX = "_MARK"
TABLE_SUFFIX = "_kvtable"
TAGS_MAX = 127
TAG_LENGTH_MAX = 255

_TRANSACTION = "#transaction."
_TRANSIENT = "#transient."
_INDEX = "#index"
_EPOCH = ".#epoch."
_USER_NAME = re.compile(r"[A-Za-z0-9.\-]+")
_INTERNAL_NAME = re.compile(r"_?[A-Za-z0-9.\-]+")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)
_HEX_32 = re.compile(r"[0-9a-f]{32}")
_I32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, order=True)
class SegmentRange:
    """Holds a segment and the range of keys that it owns: (low, high]. The lowest segment also owns 0.0."""

    segment_id: int
    low: float
    high: float

    def owns(self, position: float) -> bool:
        """Return whether a key at ``position`` (``hashing.key_position``) belongs to this segment."""
        return self.low < position <= self.high or position == self.low == 0.0

    def overlaps(self, other: SegmentRange) -> bool:
        """Return whether some key is in both ranges. Ranges that only touch share none."""
        return self.low < other.high and other.low < self.high

    def follows(self, other: SegmentRange) -> bool:
        """Return whether this segment is newer than ``other``, and has a key of it."""
        return self.segment_id > other.segment_id and self.overlaps(other)


@dataclass(frozen=True, slots=True)
class SegmentName:
    """The parts of a stream segment's full name."""

    scope: str
    stream: str
    segment_id: int


# ---- ids ----------------------------------------------------------------------------------------


def segment_id(epoch: int, number: int) -> int:
    """Return the id of the segment ``number`` that was created in ``epoch``; both 0 to 2^31 - 1."""
    if not (0 <= epoch <= _I32_MAX and 0 <= number <= _I32_MAX):
        raise BadInputError(f"epoch {epoch}, number {number}: both must be 0 to {_I32_MAX}")
    return epoch << 32 | number


def epoch_of(segment_id: int) -> int:
    """Return the epoch in which the segment was created."""
    return segment_id >> 32


def number_of(segment_id: int) -> int:
    """Return the segment's number.

    In a stream, only duplicates made by rolling transactions share a number.
    """
    return segment_id & 0xFFFFFFFF


def short_name(segment_id: int) -> str:
    """Return the segment's name within its stream, ``<number>.#epoch.<epoch>``."""
    return f"{number_of(segment_id)}{_EPOCH}{epoch_of(segment_id)}"


# ---- names of segments --------------------------------------------------------------------------


def scoped_name(scope: str, stream: str) -> str:
    """Return ``scope/stream``."""
    return f"{scope}/{stream}"


def split_scoped_name(scoped: str) -> tuple[str, str]:
    """Return (scope, stream) of ``scope/stream``. Raises ``BadInputError``."""
    if not isinstance(scoped, str):
        raise BadInputError(f"{scoped!r} is not the name of a stream; write scope/stream")
    scope, slash, stream = scoped.partition("/")
    if not (scope and slash and stream) or "/" in stream:
        raise BadInputError(f"{scoped!r} is not the name of a stream; write scope/stream")
    return scope, stream


def segment_name(scope: str, stream: str, segment_id: int) -> str:
    """Return a segment's name at the segment store: ``scope/stream/<number>.#epoch.<epoch>``."""
    return f"{scope}/{stream}/{short_name(segment_id)}"


def parse_segment_name(name: str) -> SegmentName:
    """Return the parts of a stream segment's full name. A name without an epoch is of epoch 0.

    Raises:
        BadInputError: It is not the name of a stream segment (transaction, transient and index
            segments are not; see ``parent_of``).
    """
    parts = name.split("/")
    number, _, epoch = parts[-1].partition(_EPOCH)
    if len(parts) != 3 or not all(parts) or not _is_i32(number) or (_EPOCH in name and not _is_i32(epoch)):
        raise BadInputError(f"{name!r} is not the name of a segment; one looks like scope/stream/3.#epoch.2")
    return SegmentName(parts[0], parts[1], segment_id(int(epoch or 0), int(number)))


def transaction_segment_name(parent: str, txn_id: UUID) -> str:
    """Return the name of the segment with a transaction's events for ``parent``, until it commits."""
    return f"{parent}{_TRANSACTION}{txn_id.hex}"


def transient_segment_name(parent: str, writer_id: UUID, unique: UUID) -> str:
    """Return the name of the segment in which a writer assembles an event over 8 MiB.

    The store chooses ``unique``.
    """
    return f"{parent}{_TRANSIENT}{writer_id.hex}.{unique.hex}"


def table_segment_name(scope: str, table: str) -> str:
    """Return the name of a table's one segment, as the Rust client forms it (reader-groups.md C4)."""
    return kv_table_segment_name(scope, table, 0)


def kv_table_segment_name(scope: str, table: str, segment_id: int) -> str:
    """Return the name of a key-value table's segment: ``scope/table_kvtable/<number>.#epoch.<epoch>``."""
    return f"{scope}/{table}{TABLE_SUFFIX}/{short_name(segment_id)}"


def parent_of(name: str) -> str | None:
    """Return the stream segment of a transaction, transient or index segment, None for other segments."""
    parent, _, derived = name.partition(_TRANSACTION)
    if derived and _HEX_32.fullmatch(derived):
        return parent
    if is_transient(name):
        return name.partition(_TRANSIENT)[0]
    return name[: -len(_INDEX)] if name.endswith(_INDEX) else None


def is_transient(name: str) -> bool:
    """Return whether a writer assembles an event over 8 MiB in the segment."""
    if _TRANSIENT not in name:  # most names
        return False
    parts = name.partition(_TRANSIENT)[2].split(".")
    return len(parts) == 2 and all(map(_HEX_32.fullmatch, parts))


def transaction_id_of(name: str) -> UUID | None:
    """Return the transaction to which a segment belongs, None for other segments."""
    _, _, derived = name.partition(_TRANSACTION)
    return UUID(hex=derived) if _HEX_32.fullmatch(derived) else None


def _is_i32(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and int(text) <= _I32_MAX


# ---- validity -----------------------------------------------------------------------------------


def is_valid_scope(name: str) -> bool:
    """Return whether the controller accepts ``name`` as a scope.

    Letters, digits, ``.`` and ``-`` are legal, after at most one ``_``.
    """
    return len(name) <= NAME_LENGTH_MAX and _INTERNAL_NAME.fullmatch(name) is not None


def is_valid_stream(name: str) -> bool:
    """Return whether the controller accepts ``name`` as a stream. Internal streams begin with ``_``."""
    return is_valid_scope(name)


def is_valid_user_name(name: str) -> bool:
    """Return whether a user may give ``name`` to a stream, reader group, reader, writer or table."""
    return len(name) <= USER_NAME_LENGTH_MAX and _USER_NAME.fullmatch(name) is not None


def check_stream(name: str) -> str:
    """Return ``name``. Raises ``BadInputError``, which names the illegal character."""
    return _check("stream", name, USER_NAME_LENGTH_MAX)


def check_reader_group(name: str) -> str:
    """Return ``name``. Raises `BadInputError`, which names the illegal character."""
    return _check("reader group", name, USER_NAME_LENGTH_MAX)


def check_table(name: str) -> str:
    """Return ``name``. Raises `BadInputError`, which names the illegal character."""
    return _check("table", name, USER_NAME_LENGTH_MAX)


def check_scope(name: str) -> str:
    """Return ``name``. Raises ``BadInputError``, which names the illegal character."""
    return _check("scope", name, NAME_LENGTH_MAX)


def _check(what: str, name: str, length_max: int) -> str:
    if not isinstance(name, str):
        raise BadInputError(f"{what} {name!r}: its name is a text")
    wrong = _USER_NAME.sub("", name)
    if wrong:
        raise BadInputError(f"{what} {name!r}: {wrong[0]!r} is not allowed; use letters, digits, '.' and '-'")
    if not 0 < len(name) <= length_max:
        raise BadInputError(f"{what} name of {len(name)} characters; it must have 1 to {length_max}")
    return name

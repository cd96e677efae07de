"""The table of wire replies for the refusals of the storage (pravega.md D5).

A refusal that is not in the table (an operation on the wrong kind of segment, a failed store) has no reply:
the connection is closed, as the released server does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pravega_lab.protocol.wire import commands as c

from ..store import errors as e

NO_OFFSET = -1

Refusal = Callable[[Any, int], c.Command]

REFUSALS: dict[type[e.StorageError], Refusal] = {
    e.NoSuchSegment: lambda x, r: c.NoSuchSegment(r, x.segment, "", NO_OFFSET),
    e.SegmentExists: lambda x, r: c.SegmentAlreadyExists(r, x.segment, ""),
    e.SegmentSealed: lambda x, r: c.SegmentIsSealed(r, x.segment, "", NO_OFFSET),
    e.SegmentTruncated: lambda x, r: c.SegmentIsTruncated(r, x.segment, x.start_offset, "", x.offset),
    e.AttributeMismatch: lambda x, r: c.SegmentAttributeUpdated(r, False),
    e.KeyMissing: lambda x, r: c.TableKeyDoesNotExist(r, x.segment, ""),
    e.BadVersion: lambda x, r: c.TableKeyBadVersion(r, x.segment, ""),
    e.Unsupported: lambda x, r: c.OperationUnsupported(r, x.operation, ""),
    e.TableNotEmpty: lambda x, r: c.TableSegmentNotEmpty(r, x.segment, ""),
    e.BadTableEntry: lambda x, r: c.ErrorMessage(r, x.segment, str(x), c.ErrorCode.ILLEGAL_ARGUMENT),
    e.TooManySegments: lambda x, r: c.ErrorMessage(r, x.segment, str(x), c.ErrorCode.STORE_FULL),
    e.StoreFull: lambda x, r: c.ErrorMessage(r, x.segment, str(x), c.ErrorCode.STORE_FULL),
}


def refusal(error: e.StorageError, request_id: int) -> c.Command | None:
    """Return the reply to a request that the storage refused. None means that the connection is to be
    closed.
    """
    found = REFUSALS.get(type(error))
    return None if found is None else found(error, request_id)

"""Which wire reply tells which refusal of the storage (pravega.md D5). A table, and nothing else.

What is not in here (an operation on the wrong kind of segment, a failed store) has no reply: the connection
is closed, as the released server does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pravega_lab.engine.store import errors as e
from pravega_lab.protocol import commands as c

NO_OFFSET = -1
ILLEGAL_ARGUMENT, UNSPECIFIED = 0, -1
"""Codes of ErrorMessage: upstream's for a bad argument, and for everything else."""

Refusal = Callable[[Any, int], c.Command]

REFUSALS: dict[type[e.StorageError], Refusal] = {
    e.NoSuchSegment: lambda x, r: c.NoSuchSegment(r, x.segment, "", NO_OFFSET),
    e.SegmentExists: lambda x, r: c.SegmentAlreadyExists(r, x.segment, ""),
    e.SegmentSealed: lambda x, r: c.SegmentIsSealed(r, x.segment, "", NO_OFFSET),
    e.SegmentTruncated: lambda x, r: c.SegmentIsTruncated(r, x.segment, x.start_offset, "", x.offset),
    e.AttributeMismatch: lambda x, r: c.SegmentAttributeUpdated(r, False),
    e.KeyMissing: lambda x, r: c.TableKeyDoesNotExist(r, x.segment, ""),
    e.BadVersion: lambda x, r: c.TableKeyBadVersion(r, x.segment, ""),
    e.TableNotEmpty: lambda x, r: c.TableSegmentNotEmpty(r, x.segment, ""),
    e.BadTableEntry: lambda x, r: c.ErrorMessage(r, x.segment, str(x), ILLEGAL_ARGUMENT),
    e.StoreFull: lambda x, r: c.ErrorMessage(r, x.segment, str(x), UNSPECIFIED),
}


def refusal(error: e.StorageError, request_id: int) -> c.Command | None:
    """The reply to a request that the storage refused; None: close the connection."""
    found = REFUSALS.get(type(error))
    return None if found is None else found(error, request_id)

"""Which token each wire command needs: on which segments, and with which permission.

Unlike the released server, a command that changes a segment needs a token that allows writing (see
docs/differences.md). Appends need none: the set-up of their writer had one. Every other command that is not
in the tables is refused. Source: access.md A5.
"""

from __future__ import annotations

from pravega_lab.protocol.wire import commands as c

from ...store.security.access_control import AccessControl
from ...store.security.permissions import Permission
from ...store.security.tokens import BadTokenError

READ, UPDATE = Permission.READ, Permission.READ_UPDATE

WITHOUT_TOKEN = frozenset(
    (c.Hello, c.KeepAlive, c.AppendBlock, c.AppendBlockEnd, c.ConditionalAppend, c.ConditionalBlockEnd)
)

SEGMENTS_OF: dict[type[c.Command], tuple[Permission, tuple[str, ...]]] = {
    c.SetupAppend: (UPDATE, ("segment",)),
    c.ReadSegment: (READ, ("segment",)),
    c.GetStreamSegmentInfo: (READ, ("segment",)),
    c.CreateSegment: (UPDATE, ("segment",)),
    c.CreateTransientSegment: (UPDATE, ("parent",)),
    c.SealSegment: (UPDATE, ("segment",)),
    c.DeleteSegment: (UPDATE, ("segment",)),
    c.TruncateSegment: (UPDATE, ("segment",)),
    c.UpdateSegmentPolicy: (UPDATE, ("segment",)),
    c.GetSegmentAttribute: (READ, ("segment",)),
    c.UpdateSegmentAttribute: (UPDATE, ("segment",)),
    c.LocateOffset: (READ, ("segment",)),
    c.MergeSegments: (UPDATE, ("target", "source")),
    c.MergeSegmentsBatch: (UPDATE, ("target", "sources")),
    c.CreateTableSegment: (UPDATE, ("segment",)),
    c.DeleteTableSegment: (UPDATE, ("segment",)),
    c.GetTableSegmentInfo: (READ, ("segment",)),
    c.UpdateTableEntries: (UPDATE, ("segment",)),
    c.RemoveTableKeys: (UPDATE, ("segment",)),
    c.ReadTable: (READ, ("segment",)),
    c.ReadTableKeys: (READ, ("segment",)),
    c.ReadTableEntries: (READ, ("segment",)),
    c.ReadTableEntriesDelta: (READ, ("segment",)),
}
"""For each command the permission that its token has to give, and the fields with names of segments."""


def check_token(access: AccessControl, command: c.Command, now_ms: int) -> None:
    """Check the token of a command. Raises BadTokenError if it does not allow the command."""
    kind = type(command)
    if kind in WITHOUT_TOKEN:
        return
    if kind not in SEGMENTS_OF:
        raise BadTokenError(f"no token allows {kind.__name__}")
    wanted, fields = SEGMENTS_OF[kind]
    token: str = command.token  # type: ignore[attr-defined]
    for field in fields:
        names = getattr(command, field)
        for segment in (names,) if isinstance(names, str) else names:
            access.check_token(token, segment, wanted, now_ms)


def expiry(access: AccessControl | None, token: str) -> float | None:
    """Return when a token that was checked expires, in seconds since 1970."""
    return None if access is None else access.expires_s(token)

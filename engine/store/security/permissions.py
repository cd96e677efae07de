"""Pravega's permission strings: which resource they name, what they allow, and which of them applies.

``prn::/scope:a/stream:b,READ`` allows reading one stream. A ``*`` stands for any text, so
``prn::/scope:a/*`` names all streams, reader groups and tables of a scope, and ``prn::*`` everything. The
first entry of a user that names a resource decides. Everything but ``*`` stands for itself; see
docs/differences.md. Source: access.md A2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.names import READER_GROUP_PREFIX

DOMAIN = "prn::"
MARK_PREFIX = "_MARK"


class Permission(IntEnum):
    """What a user may do with a resource. Each level includes the lower ones."""

    NONE = 0
    READ = 1
    READ_UPDATE = 2


class Entry(NamedTuple):
    """A permission on all resources that a pattern names."""

    pattern: re.Pattern[str]
    permission: Permission


def parse_acl(text: str) -> list[Entry]:
    """Return the entries of ``resource,PERMISSION;resource,PERMISSION``.

    Raises:
        BadInputError: An entry is malformed. It would allow nothing, and no error would say so.
    """
    return [_entry(part.strip()) for part in text.split(";") if part.strip()]


def _entry(text: str) -> Entry:
    resource, _, level = (part.strip() for part in text.partition(","))
    if level not in Permission.__members__:
        raise BadInputError(
            f"the permission {text!r} has no level: write RESOURCE,READ or RESOURCE,READ_UPDATE"
        )
    if not resource.startswith(DOMAIN):
        raise BadInputError(
            f"the permission {text!r} names no resource: write prn::* for everything, prn::/scope:NAME, "
            "prn::/scope:NAME/* or prn::/scope:NAME/stream:NAME"
        )
    # Upstream turns each `*` into `.*` of a regular expression, also the one of a `.*`.
    wild = {"*": ".*", ".*": "..*"}
    parts = (wild.get(part) or re.escape(part) for part in re.split(r"(\.?\*)", resource))
    return Entry(re.compile("".join(parts), re.DOTALL), Permission[level])


def permission_on(acl: Sequence[Entry], resource: str) -> Permission:
    """Return what the first entry that names the resource allows, NONE if no entry does."""
    return next((e.permission for e in acl if e.pattern.fullmatch(resource)), Permission.NONE)


def of_scopes() -> str:
    """Return the resource of the list of scopes: to create and delete them too."""
    return f"{DOMAIN}/"


def of_scope(scope: str) -> str:
    """Return the resource of a scope: to create streams, groups and tables in it, and to list them."""
    return f"{DOMAIN}/scope:{scope}"


def of_stream(scope: str, stream: str) -> str:
    """Return the resource of a stream, also of one whose name begins with ``_``."""
    return f"{of_scope(scope)}/stream:{stream}"


def of_group(scope: str, group: str) -> str:
    """Return the resource of a reader group."""
    return f"{of_scope(scope)}/reader-group:{group}"


def of_table(scope: str, table: str) -> str:
    """Return the resource of a key-value table."""
    return f"{of_scope(scope)}/key-value-table:{table}"


def of_name(scope: str, stream: str) -> str:
    """Return the resource whose permission covers a stream.

    That is the reader group for a state stream, and the stream itself for a mark stream.
    """
    if stream.startswith(READER_GROUP_PREFIX):
        return of_group(scope, stream.removeprefix(READER_GROUP_PREFIX))
    return of_stream(scope, stream.removeprefix(MARK_PREFIX))

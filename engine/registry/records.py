"""What the registry keeps, as records: a key, and a value or None. State is built from records alone.

Every change is a list of records, applied the same way while the registry runs and when it starts again. The
keys begin with `PREFIX`. Groups have a number that is never used again, so a group that is deleted and
created again shares no record with the old one. A deleted group leaves a record of kind `ENDED`, because the
next group of its name continues its encoding ids: events of the old group are never read as ones of the new.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

PREFIX = "registry/"
KINDS = ("created", "group", "schema", "codec", "encoding", "ended")
CREATED, GROUP, SCHEMA, CODEC, ENCODING, ENDED = KINDS


class Record(NamedTuple):
    """A record to keep, or (with ``value`` None) to remove."""

    key: str
    value: bytes | None


def record(kind: str, *numbers: int, value: Any = None) -> Record:
    """Return the record of a kind and its numbers, group first. Without ``value`` it is to be removed."""
    key = PREFIX + "/".join((kind, *(f"{number:010d}" for number in numbers)))
    encoded = None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return Record(key, encoded)


def parse_key(key: str) -> tuple[str, tuple[int, ...]]:
    """Return the kind and the numbers of a key."""
    kind, *numbers = key.removeprefix(PREFIX).split("/")
    return kind, tuple(map(int, numbers))

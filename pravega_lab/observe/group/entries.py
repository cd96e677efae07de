"""`read_entry`: the updates in an entry of a group's state log. What cannot be read is kept as bytes.

A member of a group must stop at an update of an unknown type or version. An observer continues, and reports
what it could not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.metadata.reader_group import Update, update_from_bytes
from pravega_lab.protocol.serializer import I32, Input

_INITIAL = 1
_UPDATES = 2


@dataclass(frozen=True, slots=True)
class Unknown:
    """Bytes that are no known update: ``name`` says how they begin, and ``why`` why they cannot be read."""

    name: str
    why: str
    data: bytes


Entry: TypeAlias = Sequence[Update | Unknown]


def read_entry(data: bytes) -> Entry:
    """Return the updates of one entry, in order. Never raises."""
    try:
        return _updates(Input(data))
    except ProtocolError as error:
        return [Unknown("entry", str(error), data)]


def _updates(source: Input) -> Entry:
    kind = I32.read(source)
    if kind == _INITIAL:
        return [_update(source.rest())]
    if kind != _UPDATES:
        raise ProtocolError(f"an entry of type {kind}; {_INITIAL} and {_UPDATES} are known")
    found = []
    while source.left:
        found.append(_update(source.take(I32.read(source))))
    return found


def _update(data: bytes) -> Update | Unknown:
    try:
        return update_from_bytes(data)
    except ProtocolError as error:  # byte 1 is the type, byte 2 the version (pravega.md A14)
        name = f"type {data[1]} version {data[2]}" if len(data) > 2 else "update"
        return Unknown(name, str(error), data)
    except ValueError as error:  # bytes that are no text
        return Unknown("update", str(error), data)

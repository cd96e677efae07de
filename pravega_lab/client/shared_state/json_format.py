"""Provide `JsonFormat`: a shared state of JSON values, for `StateSynchronizer`.

An entry is framed as Java frames it: an ``i32`` 1 and the whole state, or an ``i32`` 2 and updates, each
after its ``i32`` length (reader-groups.md C2).
"""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError, ProtocolError

_NUMBER = struct.Struct(">i")
_WHOLE, _UPDATES = 1, 2


@dataclass(frozen=True, slots=True)
class Whole:
    """An update that replaces the whole state: the argument of `StateSynchronizer.initialize`."""

    state: Any


class JsonFormat:
    """Describes a state that is a dict or a list of JSON values, and updates that are JSON values.

    Args:
        apply: Changes the state, its first argument, by an update, its second one. Every program has to use
            the same function: the same updates make the same state everywhere. `StateSynchronizer.update`
            applies its updates to a copy before it writes them. What this function raises then reaches the
            caller, and nothing is written.
    """

    def __init__(self, apply: Callable[[Any, Any], None]) -> None:
        self._apply = apply

    def read(self, data: bytes) -> Sequence[Any]:
        """Return the updates of one entry. Raises `ProtocolError`."""
        try:
            (kind,) = _NUMBER.unpack_from(data)
            if kind == _WHOLE:
                return [Whole(json.loads(data[_NUMBER.size :]))]
            if kind != _UPDATES:
                raise ProtocolError(f"an entry of kind {kind}: neither a state (1) nor updates (2)")
            return [json.loads(part) for part in _parts(data)]
        except (struct.error, ValueError) as error:
            raise ProtocolError(f"an entry that is no JSON state: {error}") from error

    def is_whole(self, update: Any) -> bool:
        """Return whether the update replaces the whole state."""
        return isinstance(update, Whole)

    def begin(self, update: Any) -> Any:
        """Return the state that a whole update describes."""
        return copy.deepcopy(update.state)

    def apply(self, state: Any, update: Any) -> None:
        """Change the state by an update."""
        self._apply(state, update)

    def check(self, state: Any, updates: Sequence[Any]) -> None:
        """Raise what `apply` raises for the updates, without a change of the state."""
        tried = copy.deepcopy(state)
        for update in updates:
            self._apply(tried, update)

    def write_whole(self, update: Any) -> bytes:
        """Return an entry that begins a log."""
        if not isinstance(update, Whole) or not isinstance(update.state, (dict, list)):
            raise BadInputError("a whole state is Whole(state), where the state is a dict or a list")
        return _NUMBER.pack(_WHOLE) + _json(update.state)

    def write(self, updates: Sequence[Any]) -> bytes:
        """Return an entry of updates that take effect together."""
        encoded = [_json(update) for update in updates]
        return _NUMBER.pack(_UPDATES) + b"".join(_NUMBER.pack(len(part)) + part for part in encoded)

    def compact(self, state: Any) -> Whole:
        """Return the state as one whole update."""
        return Whole(state)


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{value!r:.80} is no JSON value: {error}") from error


def _parts(data: bytes) -> list[bytes]:
    parts, at = [], _NUMBER.size
    while at < len(data):
        (length,) = _NUMBER.unpack_from(data, at)
        at += _NUMBER.size
        if not 0 <= length <= len(data) - at:
            raise ProtocolError(f"an update claims {length} bytes; {len(data) - at} are left")
        parts.append(data[at : at + length])
        at += length
    return parts

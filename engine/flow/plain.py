"""Plain values to bytes and back: what state, transactions and committables are made of.

Pickle's format, but only for values that need no code to come back: None, bool, int, float, str, bytes,
tuple, list, dict, set. A savepoint from anywhere can thus be read without running anything in it.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.errors import BadInputError

VERSION = 1


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        raise BadInputError(
            f"a {type(value).__name__} ({value!r:.80}) cannot go into a checkpoint: keep None, "
            f"bool, int, float, str, "
            "bytes, tuples, lists, dicts or sets of them"
        )


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise DamagedCheckpointError(f"state that names code ({module}.{name}): this engine writes none")


def to_bytes(value: Any) -> bytes:
    """
    Raises:
        BadInputError: something in ``value`` is not plain; the message names it.
    """
    buffer = io.BytesIO()
    _Writer(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def from_bytes(data: bytes) -> Any:
    """
    Raises:
        DamagedCheckpointError: the bytes are no plain value.
    """
    try:
        return _Reader(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, TypeError) as error:
        raise DamagedCheckpointError(f"{len(data)} bytes of state are no plain value: {error}") from error


class PlainSerializer:
    """A `sources.Serializer` of plain values."""

    version = VERSION

    def to_bytes(self, value: Any) -> bytes:
        return to_bytes(value)

    def from_bytes(self, version: int, data: bytes) -> Any:
        if version != VERSION:
            raise DamagedCheckpointError(f"plain values of version {version}; this engine reads {VERSION}")
        return from_bytes(data)

"""Calls between driver and workers as bytes: plain values, and the engine's frozen values among them.

`plain`'s format, so nothing that comes can name code. Dataclasses and enums travel as their name and fields;
they come back only where their module is loaded already, and without a call of their own. Errors travel as
class, message and traceback.
"""

from __future__ import annotations

import io
import pickle
import sys
import traceback
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from pravega_lab.engine.cluster.errors import FrameError, RemoteError, RemoteTracebackError
from pravega_lab.errors import BadInputError

Told = tuple[str, str, str]  # an error: class, message, traceback


class _Writer(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return _name(type(value)), value.name
        if is_dataclass(value) and not isinstance(value, type):
            return _name(type(value)), {field.name: getattr(value, field.name) for field in fields(value)}
        return None

    def reducer_override(self, value: Any) -> Any:
        raise BadInputError(
            f"a {type(value).__name__} ({value!r:.80}) cannot go to another process: send plain values or "
            "dataclasses of them"
        )


class _Reader(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        name, content = pid
        found = _class(name)
        if issubclass(found, Enum):
            return found[content]
        value: Any = object.__new__(found)
        for field in fields(value):
            object.__setattr__(value, field.name, content[field.name])
        return value

    def find_class(self, module: str, name: str) -> Any:
        raise FrameError(f"a value that names code ({module}.{name})")


def to_bytes(value: Any) -> bytes:
    """
    Raises:
        BadInputError: something in ``value`` is neither plain nor a dataclass of plain values.
    """
    buffer = io.BytesIO()
    _Writer(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def from_bytes(data: bytes | memoryview) -> Any:
    """
    Raises:
        FrameError: the bytes are no such value.
    """
    try:
        return _Reader(io.BytesIO(data)).load()
    except FrameError:
        raise
    except Exception as error:  # pickle raises whatever the damage leads to
        raise FrameError(f"{len(data)} bytes that are no value: {type(error).__name__}: {error}") from error


def _name(found: type) -> str:
    return f"{found.__module__}:{found.__qualname__}"


_known: dict[str, type] = {}


def _class(name: str) -> type:
    found = _known.get(name)
    if found is None:
        made: Any
        module, _, path = name.partition(":")
        made = sys.modules.get(module)
        for part in path.split("."):
            made = getattr(made, part, None)
        if not isinstance(made, type) or not (is_dataclass(made) or issubclass(made, Enum)):
            raise FrameError(f"a value of {name}, which is no dataclass that is loaded here")
        found = _known[name] = made
    return found


def error_to_told(error: BaseException | None) -> Told | None:
    """An error as what travels."""
    if error is None:
        return None
    text = "".join(traceback.format_exception(error))
    return _name(type(error)), str(error), text


def error_from_told(told: Told | None) -> BaseException | None:
    """The error again: of its own class if that is loaded here, else a `RemoteError`. Its cause has the
    traceback in the worker."""
    if told is None:
        return None
    name, message, text = told
    module, _, path = name.partition(":")
    found = getattr(sys.modules.get(module), path, None)
    if isinstance(found, type) and issubclass(found, Exception):
        error = found.__new__(found, message)
        error.args = (message,)
    else:
        error = RemoteError(f"{path}: {message}")
    error.__cause__ = RemoteTracebackError(f"\n\n{text}")
    return error

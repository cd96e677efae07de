"""Calls between driver and workers as bytes: plain values, and frozen values of the engine.

The format is that of `plain_values`, so nothing that arrives can name code. Dataclasses and enums travel as
their name and fields. They are rebuilt only if their module is loaded already, and without calling them.
Errors travel as class, message and traceback.
"""

from __future__ import annotations

import io
import pickle
import sys
import traceback
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from pravega_lab.errors import BadInputError

from ...flow.cancelling import message_of
from ..errors import FrameError, RemoteError, RemoteTracebackError

Told = tuple[str, str, str]  # an error: class, message, traceback
TEXT_MAX = 100_000


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
    """Return the encoded value.

    Raises:
        BadInputError: something in ``value`` is neither plain nor a dataclass of plain values.
    """
    buffer = io.BytesIO()
    _Writer(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def from_bytes(data: bytes | memoryview) -> Any:
    """Return the decoded value.

    Raises:
        FrameError: the bytes are not such a value.
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
    """Return an error as a value that can be sent."""
    if error is None:
        return None
    text = "".join(traceback.format_exception(error))
    return _name(type(error)), _shortened(message_of(error)), _shortened(text)


def _shortened(text: str) -> str:
    """Return a text without its middle if it is very long, so that every error can be sent."""
    left_out = len(text) - TEXT_MAX
    if left_out <= 0:
        return text
    half = TEXT_MAX // 2
    return f"{text[:half]} [… {left_out} characters are left out …] {text[-half:]}"


def error_from_told(told: Told | None) -> BaseException | None:
    """Return the error of a received value, with the traceback in the worker as its cause.

    It has its own class if that is loaded here and needs a message only, and is a `RemoteError` otherwise.
    """
    if told is None:
        return None
    name, message, text = told
    module, _, path = name.partition(":")
    found = getattr(sys.modules.get(module), path, None)
    error = _rebuilt(found, message) or RemoteError(f"{path}: {message}")
    error.__cause__ = RemoteTracebackError(f"\n\n{text}")
    return error


def _rebuilt(found: Any, message: str) -> Exception | None:
    """Return an error of a class, or None if ``found`` is no such class or needs more than the message."""
    if not isinstance(found, type) or not issubclass(found, Exception):
        return None
    try:
        error = found.__new__(found, message)
        error.args = (message,)
        return error if str(error) == message else None
    except Exception:
        return None

"""Encode plain values as bytes and decode them: state, transactions and committables consist of them.

The format is pickle's, restricted to values that need no code to be rebuilt: None, bool, int, float, str,
bytes, tuple, list, dict and set. Reading a savepoint of unknown origin therefore runs nothing that is in it.
The bytes are checked before they are decoded, so that damaged ones cost neither memory nor depth.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from pravega_lab.errors import BadInputError

from ..errors import DamagedCheckpointError

VERSION = 1
DEPTH_MAX = 10_000  # hashing a tuple recurses without a limit of its own: deeper ones overflow the C stack
T = TypeVar("T")


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        raise BadInputError(
            f"a {type(value).__name__} ({value!r:.80}) cannot go into a checkpoint: keep None, "
            f"bool, int, float, str, "
            "bytes, tuples, lists, dicts or sets of them"
        )


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # `_Check` has refused such bytes already
        raise DamagedCheckpointError(f"state that names code ({module}.{name}): this engine writes none")


def to_bytes(value: Any) -> bytes:
    """Return the encoded ``value``.

    Raises:
        BadInputError: something in ``value`` is not plain (the message names it), or it is nested too deeply.
    """
    buffer = io.BytesIO()
    try:
        _Writer(buffer, protocol=5).dump(value)
    except RecursionError:
        raise BadInputError(
            f"a {type(value).__name__} cannot go into a checkpoint: it is nested too deeply; keep flatter "
            "values"
        ) from None
    data = buffer.getvalue()
    if _depth_at_most(data) > DEPTH_MAX and _Check(data).depth() > DEPTH_MAX:
        raise BadInputError(
            f"a {type(value).__name__} cannot go into a checkpoint: it is nested more than {DEPTH_MAX:,} "
            "levels deep; keep flatter values"
        )
    return data


def from_bytes(data: bytes) -> Any:
    """Return the value that `to_bytes` encoded as ``data``.

    Memory stays proportional to the length of ``data``, whatever the bytes are.

    Raises:
        DamagedCheckpointError: the bytes are no plain value, or its depth exceeds `DEPTH_MAX`.
    """
    check = _Check(data)
    try:
        if check.depth() > DEPTH_MAX:
            check.refuse(f"it is nested more than {DEPTH_MAX:,} levels deep")
        return _Reader(io.BytesIO(data)).load()
    except DamagedCheckpointError:
        raise
    except Exception as error:  # the unpickler raises many kinds, AttributeError and OverflowError among them
        raise DamagedCheckpointError(
            f"{len(data)} bytes of state are no plain value: {error or type(error).__name__}"
        ) from error


def read_as(data: bytes, what: str, make: Callable[[Any], T]) -> T:
    """Decode ``data`` and return what ``make`` builds from the value; ``what`` names it in errors.

    Raises:
        DamagedCheckpointError: the bytes are no plain value, or the value has a shape that ``make`` refuses.
    """
    value = from_bytes(data)
    try:
        return make(value)
    except DamagedCheckpointError:
        raise
    except Exception as error:
        raise DamagedCheckpointError(f"{value!r:.80} is not the state of {what}: {error}") from error


class PlainSerializer:
    """A `sources.Serializer` of plain values."""

    version = VERSION

    def to_bytes(self, value: Any) -> bytes:
        """See `to_bytes`."""
        return to_bytes(value)

    def from_bytes(self, version: int, data: bytes) -> Any:
        """See `from_bytes`.

        Raises:
            DamagedCheckpointError: the version is unknown, or the bytes are no plain value.
        """
        if version != VERSION:
            raise DamagedCheckpointError(f"plain values of version {version}; this engine reads {VERSION}")
        return from_bytes(data)


# -- checking before decoding ------------------------------------------------------------------------------

# Opcodes of values without parts: the length of their argument, or the width of the length in front of it.
_FIXED = dict.fromkeys(b"N\x88\x89)", 0) | {ord("K"): 1, ord("M"): 2, ord("J"): 4, ord("G"): 8}
_COUNTED = {0x8C: 1, 0x8A: 1, ord("C"): 1, ord("X"): 4, ord("B"): 4, 0x8B: 4, 0x8D: 8, 0x8E: 8, 0x96: 8}
_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
_NAMES_CODE = frozenset(b"ciRb\x81\x92\x93oPQ\x82\x83\x84")
_BUILDERS = [bytes([op]) for op in b"]}\x8f(\x85\x86\x87"]  # every level of nesting has one of these


def _depth_at_most(data: bytes) -> int:
    return sum(map(data.count, _BUILDERS))


class _Check:
    """Walks over an encoding without building it, and refuses every opcode that `to_bytes` does not write.

    The stack holds the depth of each value: 0 for a value without parts, otherwise one more than its deepest
    part. A list, dict or set that is being filled is a cell: a list of its depth. A container fetched from
    the memo is a number and cannot be filled, so no depth grows after it was used.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._stack: list[Any] = []
        self._marks: list[int] = []  # heights of the stack
        self._memo: list[Any] = []

    def refuse(self, why: str) -> NoReturn:
        """Raise `DamagedCheckpointError`."""
        raise DamagedCheckpointError(f"{len(self._data)} bytes of state are no plain value: {why}")

    def depth(self) -> int:
        """Return how deep the encoded value is nested.

        Raises:
            DamagedCheckpointError: the bytes do not encode one plain value.
        """
        data, stack = self._data, self._stack
        try:
            while (op := data[self._at]) != ord("."):
                self._at += 1
                if op in _COUNTED:
                    width = _COUNTED[op]
                    self._at += width + int.from_bytes(data[self._at : self._at + width], "little")
                    stack.append(0)
                elif op in _FIXED:
                    self._at += _FIXED[op]
                    stack.append(0)
                elif op == 0x94:
                    self._memo.append(stack[-1])
                else:
                    self._build(op)
        except IndexError:
            self.refuse("it ends early, or refers to a value that is not there")
        if len(stack) != 1 or self._marks or self._at + 1 != len(data):
            self.refuse("it is not exactly one value")
        return _depth_of(stack[0])

    def _build(self, op: int) -> None:
        stack = self._stack
        if op in _TUPLES:
            stack.append(1 + self._take(_TUPLES[op]))
        elif op in b"]}\x8f":
            stack.append([1])
        elif op == ord("("):
            self._marks.append(len(stack))
        elif op in b"ue\x90":
            self._fill(self._take_to_mark())
        elif op in b"sa":
            self._fill(self._take(2 if op == ord("s") else 1))
        elif op in b"t\x91":
            stack.append(1 + self._take_to_mark())
        elif op in b"hj":
            width = 1 if op == ord("h") else 4
            index = int.from_bytes(self._data[self._at : self._at + width], "little")
            self._at += width
            stack.append(_depth_of(self._memo[index]))
        elif op == ord("0"):  # this one and the next: what a tuple that contains itself leaves over
            self._take(1)
        elif op == ord("1"):
            self._take_to_mark()
        elif op in b"\x80\x95":
            self._at += 1 if op == 0x80 else 8
        elif op in _NAMES_CODE:
            self.refuse("it names code, which this engine never writes and does not run")
        else:
            self.refuse(f"byte {self._at - 1} is {op:#04x}, which begins nothing that this engine writes")

    def _take(self, count: int) -> int:
        """Remove the top ``count`` values; return the largest depth."""
        stack, bottom = self._stack, self._marks[-1] if self._marks else 0
        if len(stack) - count < bottom:
            raise IndexError
        depth = max(map(_depth_of, stack[len(stack) - count :]), default=0)
        del stack[len(stack) - count :]
        return depth

    def _take_to_mark(self) -> int:
        depth = self._take(len(self._stack) - self._marks[-1])
        self._marks.pop()
        return depth

    def _fill(self, depth: int) -> None:
        container = self._stack[-1]
        if not isinstance(container, list):
            self.refuse("it adds parts to a value that has none, or is complete")
        container[0] = max(container[0], 1 + depth)


def _depth_of(value: Any) -> int:
    depth: int = value[0] if isinstance(value, list) else value
    return depth

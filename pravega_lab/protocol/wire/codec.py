"""Commands to frames and back, from the annotations in ``commands.py`` alone (pravega.md D1, D2).

A frame is i32 type, i32 payload length, payload, all big-endian. For each command class a plan is made once,
when it is first used: neighbouring fields of fixed size, with the length of the variable field after them,
become one ``struct``. Reading and writing a command is then one short loop, and the bytes of an event block
are copied once in either direction.

Bytes after the last field are ignored, as upstream does. Fields marked ``?`` may be missing at the end. For
commands without variable fields, ``generated_codec`` turns the plans into functions, which do the same
faster.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast, get_args
from uuid import UUID

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.java_text import text_from_bytes, text_to_bytes
from pravega_lab.protocol.wire import commands, generated_codec, variable_fields
from pravega_lab.protocol.wire.commands import Command

HEADER = struct.Struct(">ii")
PAYLOAD_BYTES_MAX = 0x00FFFFFF

Piece: TypeAlias = bytes | memoryview
_HEAD_BYTES_MAX = 66 * 1024  # one text and fixed fields: more is never before a block of data

_FIXED = {"i32": "i", "i64": "q", "u8": "B", "bool": "?", "uuid": "16s"}
_LENGTHS = {"utf": "H", "lp": "i"}
_uuid_of = lru_cache(maxsize=4096)(lambda data: UUID(bytes=data))  # a connection has few writers


class _Step(NamedTuple):
    """Fields of fixed size, then perhaps the length of a counted field, then perhaps a variable field."""

    layout: struct.Struct
    names: tuple[str, ...]
    fetch: Callable[[Command], tuple[Any, ...]]  # their values
    uuids: tuple[int, ...]  # which of them are UUIDs
    counted: str | None  # "utf", "lp": its length is the last item of ``layout``
    variable: variable_fields.Form | None
    variable_name: str


class _Plan(NamedTuple):
    command: Callable[..., Command]
    steps: tuple[_Step, ...]
    bulk: int | None  # the step that ends with the command's big counted bytes


def encode(command: Command) -> bytes:
    """Return the whole frame. Raises ``BadInputError`` for a value that its field cannot hold."""
    return _WRITERS[command.code](command)


def _encode_by_plan(command: Command) -> bytes:
    return b"".join(encode_parts(command))


def encode_parts(command: Command) -> list[bytes]:
    """Return the frame in pieces, for ``transport.writelines``. None of them is copied."""
    parts = [b""]
    try:
        for step in _PLANS[command.code].steps:
            _write_step(step, command, parts)
    except (struct.error, TypeError, AttributeError) as error:
        raise BadInputError(f"{command!r:.200} cannot be written: {error}") from error
    length = sum(map(len, parts))
    if length > PAYLOAD_BYTES_MAX:
        raise BadInputError(
            f"{type(command).__name__} of {length} bytes: a frame holds {PAYLOAD_BYTES_MAX}; split the data"
        )
    parts[0] = HEADER.pack(command.code, length)
    return parts


def decode(code: int, payload: bytes) -> Command:
    """Return the command in a frame's payload. Raises only ``ProtocolError``."""
    return decode_at(code, payload, 0, len(payload))


def decode_at(code: int, data: bytes, at: int, end: int) -> Command:
    """Return the command in ``data[at:end]`` as ``decode`` does, without copying the payload first."""
    return _READERS[code](data, at, end)


def _decode_by_plan(code: int, data: bytes, at: int, end: int) -> Command:
    plan = _PLANS[code]
    values: list[Any] = []
    for step in plan.steps:
        at = _read_step(step, data, at, end, values)
    return plan.command(*values)


def decode_pieces(code: int, pieces: Sequence[Piece], at: int) -> Command:
    """Return the command in the payload that begins at ``at`` of a frame received in pieces.

    A block of data is copied from the pieces into the command directly. Joining the pieces first would copy
    it twice.
    """
    end = sum(map(len, pieces))
    plan = _PLANS[code]
    if plan.bulk is None:
        return decode_at(code, gather(pieces, at, end), 0, end - at)
    values: list[Any] = []
    head = gather(pieces, at, min(end, at + _HEAD_BYTES_MAX))
    place = 0
    for step in plan.steps[: plan.bulk]:
        place = _read_step(step, head, place, len(head), values)
    bulk = plan.steps[plan.bulk]
    data_at, data_end = _read_run(bulk, head, place, end - at, values)
    if bulk.counted is None:
        data_end = end - at  # the block runs to the end of the frame
    values.append(gather(pieces, at + data_at, at + data_end))
    tail = gather(pieces, at + data_end, end)
    place = 0
    for step in plan.steps[plan.bulk + 1 :]:
        place = _read_step(step, tail, place, len(tail), values)
    return plan.command(*values)


def gather(pieces: Sequence[Piece], start: int, end: int) -> bytes:
    """Return the bytes from ``start`` to ``end`` of all pieces together."""
    parts = []
    at = 0
    for piece in pieces:
        after = at + len(piece)
        if after > start and at < end:
            parts.append(memoryview(piece)[max(start - at, 0) : end - at])
        at = after
    return b"".join(parts)


def _write_step(step: _Step, command: Command, parts: list[bytes]) -> None:
    values = list(step.fetch(command))
    for index in step.uuids:
        values[index] = values[index].bytes
    if step.counted is None:
        parts.append(step.layout.pack(*values))
        if step.variable is not None:
            parts.append(step.variable.write(getattr(command, step.variable_name)))
        return
    data = getattr(command, step.variable_name)
    if step.counted == "utf":
        data = text_to_bytes(data)
    parts.append(step.layout.pack(*values, len(data)))
    parts.append(data)


def _read_step(step: _Step, data: bytes, at: int, end: int, values: list[Any]) -> int:
    after, stop = _read_run(step, data, at, end, values)
    if step.counted is not None:
        piece = data[after:stop]
        values.append(text_from_bytes(piece) if step.counted == "utf" else piece)
    elif step.variable is not None:
        value, stop = step.variable.read(data, after, end)
        values.append(value)
    return stop


def _read_run(step: _Step, data: bytes, at: int, end: int, values: list[Any]) -> tuple[int, int]:
    """Read the fields of fixed size. Return where they end, and where the counted bytes after them end."""
    after = at + step.layout.size
    if after > end or after > len(data):
        raise ProtocolError(f"the frame ends within {', '.join(step.names) or 'a length'}")
    found = list(step.layout.unpack_from(data, at))
    for index in step.uuids:
        found[index] = _uuid_of(found[index])
    length: int = 0 if step.counted is None else found.pop()
    values += found
    if length < 0 or length > end - after:
        raise ProtocolError(f"{step.variable_name} claims {length} bytes; {end - after} are left")
    return after, after + length


def _plan_of(code: int) -> _Plan:
    command = _BY_CODE.get(code)
    if command is None:
        raise ProtocolError(
            f"no command has the type {code}; the bytes are not Pravega's, or newer than 0.13"
        )
    steps: list[_Step] = []
    run: list[tuple[str, str]] = []
    for name, kind in _kinds(command):
        if kind in _FIXED:
            run.append((name, kind))
        else:
            steps.append(_step(run, kind, name))
            run = []
    if run or not steps:
        steps.append(_step(run, None, ""))
    return _Plan(command, tuple(steps), _bulk_of(steps))


def _bulk_of(steps: list[_Step]) -> int | None:
    """Return the index of the first block of data, if everything before it fits ``_HEAD_BYTES_MAX``."""
    for index, step in enumerate(steps[:2]):
        if step.counted == "lp" or step.variable is variable_fields.REST:
            return index
    return None


def _kinds(command: type[Command]) -> Iterator[tuple[str, str]]:
    """Yield the fields with their wire types. An annotation is the name of one of the types in `commands`."""
    for field in fields(command):
        annotation = getattr(commands, cast(str, field.type))
        yield field.name, next(arg for arg in get_args(annotation) if isinstance(arg, str))


def _step(run: list[tuple[str, str]], variable: str | None, variable_name: str) -> _Step:
    counted = variable if variable in ("utf", "lp") else None
    letters = [_FIXED[kind] for _, kind in run]
    if counted is not None:
        letters.append(_LENGTHS[counted])
    names = tuple(name for name, _ in run)
    return _Step(
        layout=struct.Struct(">" + "".join(letters)),
        names=names,
        fetch=_fetcher(names),
        uuids=tuple(index for index, (_, kind) in enumerate(run) if kind == "uuid"),
        counted=counted,
        variable=None if counted or variable is None else variable_fields.FORMS[variable],
        variable_name=variable_name,
    )


def _fetcher(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)  # a tuple only for two names or more
    return lambda command: tuple(getattr(command, name) for name in names)


COMMANDS: tuple[type[Command], ...] = tuple(
    value
    for value in vars(commands).values()
    if isinstance(value, type) and issubclass(value, Command) and value is not Command
)
_BY_CODE = {command.code: command for command in COMMANDS}
LISTS = frozenset(
    command.code for command in COMMANDS if any(kind in variable_fields.LISTS for _, kind in _kinds(command))
)
"""Codes of the commands that have a list of any length."""

Made = TypeVar("Made")


class _WhenUsed(dict[int, Made]):
    """What is made of a command's code when it is first used. A process uses few of the commands."""

    def __init__(self, make: Callable[[int], Made]) -> None:
        self._make = make

    def __missing__(self, code: int) -> Made:
        made = self[code] = self._make(code)
        return made


def _writer_of(code: int) -> Callable[[Command], bytes]:
    runs = _runs_of(_PLANS[code])
    made: Callable[[Command], bytes] = _encode_by_plan
    if runs is not None:
        made = generated_codec.writer(code, runs, PAYLOAD_BYTES_MAX, _encode_by_plan)
    return made


def _reader_of(code: int) -> Callable[[bytes, int, int], Command]:
    plan = _PLANS[code]
    runs = _runs_of(plan)
    made: Callable[[bytes, int, int], Command] = partial(_decode_by_plan, code)
    if runs is not None:
        made = generated_codec.reader(plan.command, runs, _uuid_of, made)
    return made


def _runs_of(plan: _Plan) -> list[generated_codec.Run] | None:
    """Return the plan for `generated_codec`, or None if it has variable fields."""
    if any(step.variable for step in plan.steps):
        return None
    return [
        generated_codec.Run(
            step.layout.format[1 : -1 if step.counted else None],
            step.names,
            step.uuids,
            step.counted,
            step.variable_name,
        )
        for step in plan.steps
    ]


_PLANS = _WhenUsed(_plan_of)
_WRITERS = _WhenUsed(_writer_of)
_READERS = _WhenUsed(_reader_of)

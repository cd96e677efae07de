"""Observations as JSON values and back: `to_record` and `from_record`, which checks every field.

A recording may come from anywhere. Folds and views rely on the types of an observation's fields, on their
ranges, and on the few words that some of them take. `from_record` therefore refuses every other value, so
that the code after it needs no checks of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache, lru_cache
from typing import Any, NamedTuple

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.observations import Observation, kinds
from pravega_lab.protocol.names import parse_segment_name

Convert = Callable[[Any], Any]  # what a field stores for a JSON value, or `_WrongError`
SHOWN_MAX = 60  # characters of a wrong value in an error message

INT32_MAX, UINT32_MAX, INT64_MAX = 2**31 - 1, 2**32 - 1, 2**63 - 1
TIME_MS_MAX = 253_402_300_799_999  # the end of the year 9999: later times have no date in Python
PARALLELISM_MAX = 2**15  # Flink's limit; a fold makes a row for every subtask
COUNTS = (
    "written", "acknowledged", "read", "committed", "lost", "doubled", "out_of_order", "strange", "unknown",
    "in_flight", "late",
)  # fmt: skip
RANGES: Mapping[str, tuple[int, int]] = {
    "time_ms": (-TIME_MS_MAX, TIME_MS_MAX),
    "cut_ms": (-TIME_MS_MAX, TIME_MS_MAX),
    "segment_id": (0, INT64_MAX),
    "epoch": (0, INT32_MAX),
    "offset": (-1, INT64_MAX),  # -1: read to its end
    "start_offset": (0, INT64_MAX),
    "write_offset": (0, INT64_MAX),
    "length_bytes": (0, INT64_MAX),
    "parallelism": (1, PARALLELISM_MAX),
    "subtask": (0, PARALLELISM_MAX - 1),
    "attempt": (0, INT32_MAX),
    "life": (0, INT32_MAX),
    "channel": (0, INT32_MAX),
    "checkpoint_id": (-1, INT32_MAX),
    "batch_id": (-1, INT32_MAX),
    "run": (0, INT32_MAX),
    "records": (0, UINT32_MAX),
    "capacity": (0, UINT32_MAX),
    "state_bytes": (0, INT64_MAX),
    "records_in": (0, INT64_MAX),
    "records_out": (0, INT64_MAX),
    **dict.fromkeys(COUNTS, (0, UINT32_MAX)),
}
"""The smallest and the largest value of whole numbers, by field. Others have 64 bits, as in pandas.

Views send a number that has 32 bits here to the page as 32 bits.
"""

_ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # `json.dumps` makes an encoder for every value
_TASK = re.compile(r"(.+)\[(\d{1,5})\]", re.DOTALL)


class _WrongError(Exception):
    """A value is not what a field takes; the text says what it takes."""


class _Field(NamedTuple):
    name: str
    convert: Convert
    is_required: bool


def to_record(observation: Observation) -> dict[str, Any]:
    """Return the observation as JSON-ready values, ``kind`` first and fields in their declared order."""
    kind: Any = type(observation)  # hashable, though mypy doubts it
    record: dict[str, Any] = {"kind": observation.kind}
    for field in _fields(kind):
        record[field.name] = getattr(observation, field.name)
    return record


def to_line(observation: Observation) -> str:
    """Return the observation as a line of JSON, without the line feed."""
    return _ENCODE(to_record(observation))


def from_record(record: Mapping[str, Any]) -> Observation | None:
    """Return the observation of a record, or ``None`` for a kind that this version does not know.

    Fields that this version does not know are left out. A rate that is not finite is stored as ``None``.

    Raises:
        BadInputError: A field is missing, or has a value that its kind does not allow. The message names it.
    """
    kind = record.get("kind")
    if not isinstance(kind, str):
        raise BadInputError(f"field 'kind' is {_shown(kind)}; expected text")
    cls: Any = kinds().get(kind)
    if cls is None:
        return None
    values: dict[str, Any] = {}
    for name, convert, is_required in _fields(cls):
        if name in record:
            try:
                values[name] = convert(record[name])
            except _WrongError as wrong:
                raise BadInputError(
                    f"field {name!r} of {kind!r} is {_shown(record[name])}; expected {wrong}"
                ) from None
        elif is_required:
            raise BadInputError(f"field {name!r} of {kind!r} is missing")
    try:
        observation: Observation = cls(**values)
    except ValueError as error:  # fields that do not fit together
        raise BadInputError(f"{kind!r}: {error}") from None
    return observation


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


@cache
def _fields(cls: type[Observation]) -> tuple[_Field, ...]:
    return tuple(
        _Field(
            field.name, _converter(cls, field.name, str(field.type)), field.default is MISSING
        )
        for field in fields(cls)
    )  # fmt: skip


def _converter(cls: type[Observation], name: str, declared: str) -> Convert:
    """Return what checks a field that was declared with the type ``declared``."""
    if declared.endswith(" | None"):
        return _or_none(_converter(cls, name, declared.removesuffix(" | None")))
    words = cls.words.get(name, ())
    match declared:
        case "int":
            return _whole(*RANGES.get(name, (-INT64_MAX - 1, INT64_MAX)))
        case "float":
            return _share if name in ("low", "high") else _rate
        case "str":
            return _one_of(words) if words else _text
        case "bool":
            return _truth
        case "Positions":
            return _each(_row(_segment, _whole(-1, INT64_MAX)))
        case "Task":
            return _task
        case "Tasks":
            return _each(_task)
        case "Marks":
            return _each(_row(_one_of(words), _whole(-INT64_MAX - 1, INT64_MAX)))
        case "tuple[int, ...]":
            return _each(_whole(0, INT64_MAX))  # segment ids and channels
        case "tuple[str, ...]":
            return _each(_text)
        case "tuple[tuple[float, float], ...]":
            return _each(_row(_share, _share))
        case "tuple[tuple[int, str], ...]":
            return _each(_row(_whole(-INT64_MAX - 1, INT64_MAX), _text))
    raise TypeError(f"{cls.__name__}.{name}: nothing checks values of the type {declared}")


def header_field(header: Mapping[str, Any], name: str, default: Any) -> Any:
    """Return a field of a recording's header: text if ``default`` is text, else a whole number or ``None``.

    Raises:
        BadInputError: The value is of another type.
    """
    value = header.get(name)
    if value is None:
        return default
    try:
        return (_text if isinstance(default, str) else _whole(-INT64_MAX - 1, INT64_MAX))(value)
    except _WrongError as wrong:
        raise BadInputError(f"field {name!r} is {_shown(value)}; expected {wrong}") from None


# ---- what a field takes --------------------------------------------------------------------------


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _whole(low: int, high: int) -> Convert:
    def convert(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _WrongError(f"a whole number from {low:,} to {high:,}")
        return value

    return convert


def _rate(value: Any) -> float | None:
    if type(value) is not int and type(value) is not float:
        raise _WrongError("a number")
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number that no float can hold
        return None


def _share(value: Any) -> float:
    if (type(value) is not int and type(value) is not float) or not 0 <= value <= 1:
        raise _WrongError("a number from 0 to 1")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _WrongError("text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair: no file and no page can have it
            raise _WrongError("text of whole characters") from None
    return value


def _one_of(words: tuple[str, ...]) -> Convert:
    def convert(value: Any) -> str:
        if type(value) is not str or value not in words:
            raise _WrongError(f"one of {', '.join(map(repr, words))}")
        return value

    return convert


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise _WrongError("true or false")
    return value


def _segment(value: Any) -> str:
    return _segment_name(_text(value))


@lru_cache(maxsize=10_000)  # a recording has few names, and each of them very often
def _segment_name(name: str) -> str:
    try:
        parse_segment_name(name)
    except BadInputError:
        raise _WrongError("a segment's full name, scope/stream/3.#epoch.2") from None
    return name


def _task(value: Any) -> str:
    found = _TASK.fullmatch(_text(value))
    if found is None or int(found[2]) >= PARALLELISM_MAX:
        raise _WrongError("a subtask, vertex[index]")
    return str(value)


def _each(convert: Convert) -> Convert:
    def convert_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise _WrongError("a list")
        return tuple([convert(part) for part in value])

    return convert_all


def _row(*converts: Convert) -> Convert:
    def convert_row(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(converts):
            raise _WrongError(f"a list with {len(converts)} values each")
        return tuple([convert(part) for convert, part in zip(converts, value, strict=True)])

    return convert_row

"""How the text of an option becomes a value, and the errors for text that is none.

A parser takes the name of the option, as the user wrote it, and its text. Errors quote both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from pravega_lab.connector.tables.durations import EXAMPLES, milliseconds
from pravega_lab.errors import BadInputError

Parser = Callable[[str, str], Any]


def text(name: str, given: str) -> str:
    """Return text that is not empty."""
    if not given:
        raise BadInputError(f"option '{name}' is empty. Give it a value or leave it out")
    return given


def not_empty(parser: Parser) -> Parser:
    """Return a parser that refuses empty text and leaves other text to ``parser``."""
    return lambda name, given: parser(name, text(name, given))


def boolean(name: str, given: str) -> bool:
    """Return ``true`` or ``false``."""
    if given.lower() not in ("true", "false"):
        raise BadInputError(f"option '{name}' is '{given}'; it is true or false")
    return given.lower() == "true"


def integer(low: int, high: int = 2**63 - 1) -> Parser:
    """Return the parser of a whole number from ``low`` to ``high``."""

    def parse(name: str, given: str) -> int:
        try:
            value = int(given)
        except ValueError:
            raise BadInputError(f"option '{name}' is '{given}'; it is a whole number") from None
        if not low <= value <= high:
            bounds = f"at least {low}" if high == 2**63 - 1 else f"between {low} and {high}"
            raise BadInputError(f"option '{name}' is {value}; it is {bounds}")
        return value

    return parse


def positive(name: str, given: str) -> int:
    """Return a whole number of at least 1. The error is worded as in Flink."""
    if not re.fullmatch(r"[+-]?\d+", given):
        raise BadInputError(f"option '{name}' is '{given}'; it is a whole number")
    if int(given) < 1:
        raise BadInputError(f"'{name}' requires a positive integer, received {given}")
    return int(given)


def duration_ms(low_ms: int = 0, high_ms: int = 2**63 - 1) -> Parser:
    """Return the parser of a duration such as ``10 s`` in milliseconds. A number alone is milliseconds."""

    def parse(name: str, given: str) -> int:
        value_ms = milliseconds(given)
        if value_ms is None:
            raise BadInputError(f"option '{name}' is '{given}'; it is a duration, such as {EXAMPLES}")
        if not low_ms <= value_ms <= high_ms:
            bounds = f"at least {low_ms} ms" if high_ms == 2**63 - 1 else f"between {low_ms} and {high_ms} ms"
            raise BadInputError(f"option '{name}' is '{given}', {value_ms} ms; it is {bounds}")
        return value_ms

    return parse


def one_of(*values: str) -> Parser:
    """Return the parser of one of several words, in any case."""

    def parse(name: str, given: str) -> str:
        for value in values:
            if given.lower() == value.lower():
                return value
        raise BadInputError(f"option '{name}' is '{given}'; it is one of {', '.join(values)}")

    return parse


def supported(*values: str) -> Parser:
    """Return the parser of one of several words. The error is worded as in Flink."""

    def parse(name: str, given: str) -> str:
        if given not in values:
            known = ", ".join(f"'{value}'" for value in values)
            raise BadInputError(f"Unsupported value '{given}' for '{name}'. Supported values are [{known}].")
        return given

    return parse


def listed(given: str, separators: str) -> list[str]:
    """Return the parts between ``separators``, without empty ones."""
    return [part for found in re.split(f"[{separators}]", given) if (part := found.strip())]


def without_repetition(name: str, streams: Sequence[str]) -> tuple[str, ...]:
    """Return the names of streams. The same name twice is refused."""
    doubled = [stream for i, stream in enumerate(streams) if stream in streams[:i]]
    if doubled:
        raise BadInputError(f"option '{name}' names '{doubled[0]}' twice. Name each stream once")
    return tuple(streams)


def refuse(why: str) -> Parser:
    """Return a parser that refuses every value and says why."""

    def parse(name: str, given: str) -> NoReturn:
        raise BadInputError(f"option '{name}' is not accepted{why}")

    return parse

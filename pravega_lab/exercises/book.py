"""What an exercise is, and where it is found.

Answers are kept as digests and solutions as sealed text, so that nobody who looks something up here reads an
answer by accident. It is no secret: this is a lesson, not an examination. `seal` makes both.
"""

from __future__ import annotations

import hashlib
import pkgutil
import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from typing import Any

from pravega_lab.errors import BadInputError

_FOLDER = __name__.rsplit(".", 1)[0]
_DIGITS = 16


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One question of a tutorial.

    ``number``: tutorial and exercise, ``03.1``. ``read`` brings an answer into one form (see `answers`);
    ``right`` is the `digest` of the right one. ``hints``: for the first and for the second wrong answer.
    ``solution``: the answer with its reason, sealed. ``remarks``: what to say of a likely wrong answer, by
    its digest.
    """

    number: str
    asks: str
    read: Callable[[Any], str]
    right: str
    hints: tuple[str, str]
    solution: str
    remarks: Mapping[str, str] = field(default_factory=dict)

    def digest(self, answer: Any) -> str:
        """Raises ``ValueError`` for what can be no answer."""
        return digest(self.number, self.read(answer))


def digest(number: str, answer: str) -> str:
    """Of an answer in its one form; salted with the exercise, so that equal answers look different."""
    return hashlib.sha256(f"pravega_lab {number} {answer}".encode()).hexdigest()[:_DIGITS]


def seal(text: str) -> str:
    """Text that is not read by accident."""
    return b85encode(zlib.compress(text.encode(), 9)).decode()


def unseal(text: str) -> str:
    return zlib.decompress(b85decode(text)).decode()


@cache
def exercises() -> dict[str, Exercise]:
    """All of them by number, in order."""
    package = import_module(_FOLDER)
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("tutorial_"))
    found = [one for name in names for one in import_module(f"{_FOLDER}.{name}").EXERCISES]
    return {one.number: one for one in sorted(found, key=lambda one: one.number)}


def find(number: Any) -> Exercise:
    """Raises ``BadInputError``, naming the nearest, if there is no such exercise."""
    known = exercises()
    asked = str(number)
    if asked in known:
        return known[asked]
    near = max(known, key=lambda one: SequenceMatcher(None, asked, one).ratio())
    raise BadInputError(
        f"there is no exercise {number!r}; did you mean {near!r}? There are {', '.join(known)}."
    )

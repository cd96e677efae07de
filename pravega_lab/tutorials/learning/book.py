"""What an exercise is, and where exercises are found.

Answers are stored as digests and solutions as sealed text, so that a reader of the source does not see an
answer by accident. They are no secret: this is a lesson, not an examination. `seal` makes both.
"""

from __future__ import annotations

import hashlib
import pkgutil
import re
import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from typing import Any

from pravega_lab.errors import BadInputError

_QUESTIONS = "pravega_lab.tutorials.questions"
_DIGITS = 16


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One question of a tutorial.

    ``number`` is the tutorial and the exercise, such as ``03.1``. ``read`` brings an answer into one form
    (see `answer_forms`), and ``right`` is the `digest` of the right one. ``hints`` are for the first and for
    the second wrong answer, ``solution`` is the sealed answer with its reason, and ``remarks`` comment on
    likely wrong answers, by their digest.
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
    """Return the digest of an answer in its one form, salted so that equal answers look different."""
    return hashlib.sha256(f"pravega_lab {number} {answer}".encode()).hexdigest()[:_DIGITS]


def seal(text: str) -> str:
    """Return ``text`` in a form that is not read by accident."""
    return b85encode(zlib.compress(text.encode(), 9)).decode()


def unseal(text: str) -> str:
    """Return the text that `seal` received."""
    return zlib.decompress(b85decode(text)).decode()


@cache
def exercises() -> dict[str, Exercise]:
    """Return all exercises by number, in order."""
    package = import_module(_QUESTIONS)
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    found = [one for name in names for one in import_module(f"{_QUESTIONS}.{name}").EXERCISES]
    return {one.number: one for one in sorted(found, key=lambda one: one.number)}


def find(number: Any) -> Exercise:
    """Return an exercise by its number, such as ``02.1``. ``2.1`` is the same.

    Raises:
        BadInputError: There is no such exercise; the message names the nearest.
    """
    known = exercises()
    asked = str(number).strip()
    if is_number := re.fullmatch(r"(\d+)\.(\d+)", asked):
        asked = f"{int(is_number[1]):02}.{int(is_number[2])}"
    if asked in known:
        return known[asked]
    near = max(known, key=lambda one: SequenceMatcher(None, asked, one).ratio())
    raise BadInputError(
        f"there is no exercise {number!r}; did you mean {near!r}? There are {', '.join(known)}."
    )

"""Brings an answer into one form, so that ``3``, ``"3"`` and ``numpy.int64(3)`` are the same answer.

Each function takes whatever a learner wrote and gives text, or raises ``ValueError`` for what can be no
answer. Its docstring says, for the learner, what is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def whole_number(answer: Any) -> str:
    """a whole number"""
    answer = plain(answer)
    if isinstance(answer, bool):
        raise ValueError(answer)
    if isinstance(answer, str):
        return str(int(answer.strip().replace(",", "")))
    if answer != int(answer):
        raise ValueError(answer)
    return str(int(answer))


def word(answer: Any) -> str:
    """a word in quotes"""
    answer = plain(answer)
    if not isinstance(answer, str) or not answer.strip():
        raise ValueError(answer)
    return folded(answer)


def numbers_in_any_order(answer: Any) -> str:
    """a list of whole numbers, in any order"""
    return " ".join(map(str, sorted(int(whole_number(one)) for one in _several(answer))))


def words_in_any_order(answer: Any) -> str:
    """a list of words in quotes, in any order"""
    return ", ".join(sorted(word(one) for one in _several(answer)))


def plain(answer: Any) -> Any:
    """Return the Python value of a scalar of Arrow, which is what the rows of a batch are."""
    return answer.as_py() if hasattr(answer, "as_py") else answer


def folded(text: str) -> str:
    """Return a text without what makes no difference: capital letters, and spaces around words."""
    return " ".join(text.casefold().split())


def text_of(answer: Any, form: Callable[[Any], str] = repr) -> str:
    """Return what a message shows of an answer. Some values have no text, such as very large numbers."""
    try:
        return form(answer)
    except Exception:
        return f"this {type(answer).__name__}"


def _several(answer: Any) -> Iterable[Any]:
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise ValueError(answer)
    return answer

"""Finds the misspelt names of metadata columns. Such a column would be a field that no event has: all null.

Fields that only resemble metadata, such as ``_id``, ``_score`` or ``_streams``, are data. A name is misspelt
if each of its words has at most one typing error, and the whole name at most two.
"""

from __future__ import annotations

from collections.abc import Iterable

#: A shorter word with an error is often another word, such as score and scope. Fewer errors count in it.
LONG_WORD = 6
ERRORS_MAX = 2


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """Return which of the ``known`` names of metadata columns was meant, None if the name is data.

    Names that do not begin with one ``_`` are data. Capital and small letters are the same.
    """
    lower = name.lower()
    if not lower.startswith("_") or lower.startswith("__") or lower in known:
        return None
    for candidate in sorted(known):
        if lower.replace("_", "") == candidate.replace("_", ""):
            return candidate
        words, meant = lower[1:].split("_"), candidate[1:].split("_")
        if len(words) == len(meant):
            wrong = [pair for pair in zip(words, meant, strict=True) if pair[0] != pair[1]]
            if len(wrong) <= ERRORS_MAX and all(_has_one_error(*pair) for pair in wrong):
                return candidate
    return None


def _has_one_error(word: str, meant: str) -> bool:
    """Return whether one typing error turns ``meant`` into ``word``.

    The errors are two letters in the wrong order, a letter too few, a letter too many, or a wrong letter. A
    wrong letter does not count in a short word, nor does a lack of its first or last letter. A letter in
    front or at the end counts only if it is doubled.
    """
    if not word.isalpha():
        return False
    start = next((i for i, pair in enumerate(zip(word, meant, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(word), len(meant)) if start is None else start
    is_long, inside = len(meant) >= LONG_WORD, 0 < at < len(meant) - 1
    if len(word) == len(meant):
        swapped = word[at : at + 2] == meant[at : at + 2][::-1] and word[at + 2 :] == meant[at + 2 :]
        return swapped or (is_long and word[at + 1 :] == meant[at + 1 :])
    if len(word) == len(meant) - 1:
        return word[at:] == meant[at + 1 :] and (is_long or inside)
    if len(word) == len(meant) + 1 and word[at + 1 :] == meant[at:]:
        return word[at] == word[at - 1] or 0 < at < len(meant)  # no prefix or suffix makes a metadata name
    return False

"""How a plain frame looks: as text and as HTML, with the words of pandas. See `frames`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

ROWS_MAX = 60
"""More rows than these are shown by their first and last ones."""
_SHOWN = 5  # at each end
_WIDTH_MAX = 50  # of a cell; pandas cuts longer ones, too


def _words(values: Sequence[Any]) -> list[str]:
    """Return the values of a column in words: floats with as many digits as the longest of them needs."""
    floats = [value for value in values if isinstance(value, float) and value == value]
    digits = max((len(f"{value:.6f}".rstrip("0").partition(".")[2]) for value in floats), default=0)
    return [_word(value, max(digits, 1)) for value in values]


def _word(value: Any, digits: int) -> str:
    if value is None:
        return "<NA>"
    if isinstance(value, float):
        return f"{value:.{digits}f}" if value == value else "NaN"
    text = str(value)
    return text if len(text) <= _WIDTH_MAX else f"{text[: _WIDTH_MAX - 4]}..."


def _labels(index: Sequence[Any]) -> list[list[str]]:
    """Return the words of each label, one or more; what a label has in common with the one above is empty."""
    found, before = [], ()
    for label in index:
        parts = label if isinstance(label, tuple) else (label,)
        repeats = parts[:-1] == before[:-1] and len(parts) > 1 and before
        found.append([*([""] * (len(parts) - 1) if repeats else map(str, parts[:-1])), str(parts[-1])])
        before = parts
    return found


def _shown(index: Sequence[Any], columns: Sequence[Sequence[Any]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the labels and the words of the rows that are shown."""
    places = list(range(len(index)))
    if len(places) > ROWS_MAX:
        places = [*places[:_SHOWN], *places[-_SHOWN:]]
    labels = _labels([index[i] for i in places])
    cells = [_words([values[i] for i in places]) for values in columns]
    if len(index) > ROWS_MAX:
        labels.insert(_SHOWN, ["..."] * len(labels[0]))
        for words in cells:
            words.insert(_SHOWN, "...")
    return labels, cells


def as_text(
    names: Sequence[Any],
    index: Sequence[Any],
    columns: Sequence[Sequence[Any]],
    index_name: Any = None,
    *,
    heads: bool = True,
) -> str:
    """Return a table as text, columns to the right and labels to the left."""
    labels, cells = _shown(index, columns)
    width = len(labels[0]) if labels else 1
    blocks = [[one[at] for one in labels] for at in range(width)]
    above = [[""] * width, [str(index_name or ""), *[""] * (width - 1)]]
    lines = []
    for at, block in enumerate(blocks):
        words = [above[0][at], *([above[1][at]] if index_name else []), *block] if heads else block
        size = max(map(len, words), default=0)
        lines.append([word.ljust(size) for word in words])
    for name, block in zip(names, cells, strict=True):
        words = [str(name), *([""] if index_name else []), *block] if heads else block
        size = max(map(len, words), default=0)
        lines.append([word.rjust(size + 1) for word in words])
    text = "\n".join(" ".join(parts) for parts in zip(*lines, strict=True))
    return _with_size(text, index, names) if heads else text


def _with_size(text: str, index: Sequence[Any], names: Sequence[Any]) -> str:
    return f"{text}\n\n[{len(index)} rows x {len(names)} columns]" if len(index) > ROWS_MAX else text


def as_html(
    names: Sequence[Any],
    index: Sequence[Any],
    columns: Sequence[Sequence[Any]],
    index_name: Any = None,
    columns_name: Any = None,
) -> str:
    """Return a table as HTML, with the class to which JupyterLab gives its colours."""
    labels, cells = _shown(index, columns)
    width = len(labels[0]) if labels else 1

    def row(heads: Sequence[str], data: Sequence[str] = ()) -> str:
        first = "".join(f"<th>{escape(word)}</th>" for word in heads)
        return f"<tr>{first}{''.join(f'<td>{escape(word)}</td>' for word in data)}</tr>"

    head = row([str(columns_name or ""), *[""] * (width - 1), *map(str, names)])
    if index_name:
        head += row([str(index_name), *[""] * (width - 1 + len(names))])
    body = "".join(row(label, [words[at] for words in cells]) for at, label in enumerate(labels))
    table = f'<table border="1" class="dataframe"><thead>{head}</thead><tbody>{body}</tbody></table>'
    return _with_size(table, index, names).replace("\n\n", "<p>")

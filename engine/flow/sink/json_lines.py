"""Rows as lines of JSON, equal to `json.dumps` of each row.

Whole Arrow columns are converted at once if they have integers, or texts that need no escapes.
"""

from __future__ import annotations

import json

from pravega_lab.portable.columns import np, pa, pc

from ..batch import Batch

_AS_IT_IS = np.zeros(256, dtype=bool)  # bytes that `json.dumps` writes without an escape
_AS_IT_IS[0x20:0x7F] = True
_AS_IT_IS[[ord('"'), ord("\\")]] = False


def json_lines(batch: Batch) -> bytes:
    """Return one line for each row, in order."""
    if batch.is_arrow and batch.num_rows:
        texts = [_texts(column) for column in batch.arrow.columns]
        if all(text is not None for text in texts):
            return _joined(batch.arrow.schema.names, texts)
    return "".join(json.dumps(row) + "\n" for row in batch.rows).encode()


def _texts(column: pa.Array) -> tuple[str, pa.Array] | None:
    """Return (quote, values as JSON has them), or None if the values must be converted one by one."""
    if column.null_count:
        return None
    if pa.types.is_integer(column.type):
        return "", column.cast(pa.string())
    if pa.types.is_string(column.type) and _AS_IT_IS[_data(column)].all():
        return '"', column
    return None


def _joined(names: list[str], texts: list[tuple[str, pa.Array] | None]) -> bytes:
    parts, between = [], "{"
    for name, text in zip(names, texts, strict=True):
        assert text is not None
        quote, values = text
        parts += [between + json.dumps(name) + ": " + quote, values]
        between = quote + ", "
    lines = pc.binary_join_element_wise(*parts, between.removesuffix(", ") + "}\n", "")
    return _data(lines).tobytes()


def _data(texts: pa.StringArray) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the bytes of all texts, one after another."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data, dtype=np.uint8)[bounds[0] : bounds[-1]]

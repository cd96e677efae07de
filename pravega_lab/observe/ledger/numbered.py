"""Events that carry a number, a routing key and a sequence within their key, so that a reader can judge
them.

They are ``NUMBER|KEY|SEQUENCE|`` and padding, as `lab.writer` writes them. Numbers count all events,
sequences those of a key, both from 0. Parsing is columnar.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError, require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from pravega_lab.client import Stream
    from pravega_lab.client.values import Bound

Parse = Callable[[Any], tuple[Any, Any]]
"""Arrow array of events to their ids and their keys (or None), in order."""

PADDING = b"."


def make(numbers: Sequence[int], keys: Sequence[str], sequences: Sequence[int], n_bytes: int) -> list[bytes]:
    """Return events of at least ``n_bytes`` bytes each."""
    rows = zip(numbers, keys, sequences, strict=True)
    return [f"{n}|{key}|{k}|".encode().ljust(n_bytes, PADDING) for n, key, k in rows]


def numbered(events: pa.Array) -> tuple[Any, Any]:
    """Return the numbers (int64) and keys of such events.

    Raises:
        BadInputError: There are other events among them.
    """
    numbers, keys, _ = _parts(events)
    return numbers, keys


def json_ids(field: str, key: str | None = None) -> Parse:
    """Return a parser of events that are JSON objects, with the id in ``field`` and the routing key in
    ``key``.
    """

    def parse(events: Any) -> tuple[Any, Any]:
        rows = [json.loads(event) for event in events.to_pylist()]
        return [row[field] for row in rows], None if key is None else [row[key] for row in rows]

    return parse


def count_by_key(stream: Stream, start: Bound | None = None, end: Bound | None = None) -> pd.DataFrame:
    """Return what a stream of numbered events holds between two cuts, a row per key. No other witness is
    needed.

    Columns: key, events, distinct, first, last (sequences), missing (sequences between first and last that
    are not there), doubled (distinct events there more than once), out_of_order (after a later event).
    """
    require("pandas")
    import pandas as pd

    from pravega_lab.client.values import HEAD, TAIL

    keys: list[Any] = []
    sequences: list[Any] = []
    with stream.read(start or HEAD, end or TAIL) as batches:
        for batch in batches:
            _, found, places = _parts(batch.column("event"))
            keys.extend(found.to_pylist())
            sequences.append(places.to_pandas())
    frame = pd.DataFrame({"key": keys, "sequence": pd.concat(sequences) if sequences else []})
    frame = frame.reset_index(drop=True).astype({"sequence": "int64"})
    return pd.DataFrame(
        [_row(key, group["sequence"]) for key, group in frame.groupby("key")],
        columns=["key", "events", "distinct", "first", "last", "missing", "doubled", "out_of_order"],
    )


def _row(key: Any, sequences: pd.Series[int]) -> list[Any]:
    once = sequences.drop_duplicates()
    first, last = int(once.min()), int(once.max())
    counts = sequences.value_counts()
    disorder = int((once.cummax() > once).sum())
    missing = last - first + 1 - len(once)
    return [key, len(sequences), len(once), first, last, missing, int((counts > 1).sum()), disorder]


def _parts(events: pa.Array) -> tuple[Any, Any, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        parts = pc.split_pattern(events.cast(pa.string()), "|", max_splits=3)
        number, key, sequence = (pc.list_element(parts, i) for i in range(3))
        return number.cast(pa.int64()), key, sequence.cast(pa.int64())
    except pa.ArrowException as error:
        raise BadInputError(
            f"these are no numbered events (NUMBER|KEY|SEQUENCE|…): {error}. "
            'Say how to read them: parse=json_ids("field"), or a function of your own'
        ) from error

"""Batches of decoded events: Arrow record batches, or `PlainBatch` where pyarrow or numpy is not installed.

The columns are event (binary), segment_id (int64) and offset (int64, of the event's header). This is the one
place that knows whether arrays are there. Without them everything in the client works, slower.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    import pyarrow as pa

    # Both kinds have what is used here. Callers of the public interface are promised Arrow, which the package
    # installs.
    EventBatch: TypeAlias = pa.RecordBatch

T = TypeVar("T")

NAMES = ("event", "segment_id", "offset")
HAVE_ARRAYS = all(find_spec(name) is not None for name in ("numpy", "pyarrow"))


def event_batch(events: Sequence[bytes], segment_id: int, offsets: Sequence[int]) -> EventBatch:
    """Return a batch of events of one segment, of which each has an offset."""
    if not HAVE_ARRAYS:
        return cast("EventBatch", PlainBatch((list(events), [segment_id] * len(events), list(offsets))))
    ends = array("i", accumulate(map(len, events), initial=0))
    return arrow_batch(binary(b"".join(events), ends), segment_id, integers(array("q", offsets)))


def arrow_batch(events: pa.Array, segment_id: int, offsets: pa.Array) -> pa.RecordBatch:
    """Return a batch of events of one segment from two columns."""
    import pyarrow as pa

    ids = integers(array("q", (segment_id,)) * len(events))
    return pa.RecordBatch.from_arrays([events, ids, offsets], schema=batch_schema())


@cache
def batch_schema() -> pa.Schema:
    """Return the names and types of the columns, none of which is nullable."""
    import pyarrow as pa

    kinds = zip(NAMES, (pa.binary(), pa.int64(), pa.int64()), strict=True)
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds])


def integers(values: Any) -> pa.Array:
    """Return an Arrow array of int64. ``pa.array`` would first import pandas, for a quarter of a second."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def binary(payload: Any, ends: Any) -> pa.Array:
    """Return an Arrow array of binary from its bytes and its int32 offsets, one more than items."""
    import pyarrow as pa

    return pa.Array.from_buffers(
        pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(payload)]
    )


def joined(first: EventBatch, second: EventBatch) -> EventBatch:
    """Return the events of two batches as one."""
    if isinstance(first, PlainBatch) and isinstance(second, PlainBatch):
        both = zip(first.columns, second.columns, strict=True)
        return cast("EventBatch", PlainBatch(tuple([*a, *b] for a, b in both)))
    import pyarrow as pa

    return pa.concat_batches([first, second])


def cut_off(batch: EventBatch, bytes_max: int) -> tuple[EventBatch, EventBatch | None]:
    """Return the first events of a batch with at most ``bytes_max`` of payload, and the other events.

    The first part has at least one event. The second part is None if no event is left for it.
    """
    fit = _plain_fit if isinstance(batch, PlainBatch) else _arrow_fit
    n_events = max(fit(batch, bytes_max), 1)
    if n_events >= len(batch):
        return batch, None
    return batch.slice(0, n_events), batch.slice(n_events)


def _plain_fit(batch: Any, bytes_max: int) -> int:
    return sum(end <= bytes_max for end in accumulate(map(len, batch.column(0))))


def _arrow_fit(batch: pa.RecordBatch, bytes_max: int) -> int:
    """Return how many of the events have at most ``bytes_max`` together."""
    events = batch.column(0)
    _, ends_buffer, payload = events.buffers()
    if payload.size <= bytes_max:  # of the whole buffer, so it is at least the payload of this batch
        return len(batch)
    import numpy as np

    ends = np.frombuffer(ends_buffer, np.int32)[events.offset : events.offset + len(events) + 1]
    return int(np.searchsorted(ends, ends[0] + bytes_max, side="right")) - 1


class PlainBatch:
    """Holds a batch as lists, with those methods of ``pyarrow.RecordBatch`` that the client uses."""

    def __init__(self, columns: Sequence[list[Any]]) -> None:
        self.columns = [PlainColumn(values) for values in columns]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def num_rows(self) -> int:
        """Return the number of events."""
        return len(self)

    def column(self, at: int | str) -> PlainColumn:
        """Return a column by its number or name."""
        return self.columns[NAMES.index(at) if isinstance(at, str) else at]

    def slice(self, start: int, length: int | None = None) -> PlainBatch:
        """Return the events from ``start`` on, ``length`` at most."""
        end = None if length is None else start + length
        return PlainBatch([list(column)[start:end] for column in self.columns])

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return the values of each column by its name."""
        return {name: column.to_pylist() for name, column in zip(NAMES, self.columns, strict=True)}


class PlainColumn:
    """Holds the values of a column, with those methods of ``pyarrow.Array`` that the client uses."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __getitem__(self, at: int) -> PlainValue:
        return PlainValue(self._values[at])

    def to_pylist(self) -> list[Any]:
        """Return the values."""
        return list(self._values)


class PlainValue:
    """Holds one value, with those methods of ``pyarrow.Scalar`` that the client uses."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def as_py(self) -> Any:
        """Return the value."""
        return self._value

    def as_buffer(self) -> Any:
        """Return the value, which is bytes."""
        return self._value

"""Return the events of a record batch one by one, and know at any moment which of them were returned."""

from __future__ import annotations

from collections.abc import Iterator
from operator import length_hint
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class OneByOne:
    """Iterates over the payloads of a batch. The loop over them runs without a Python step per event.

    The iterator of a list knows how many items are left, so that nothing has to count them.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._events: list[bytes] = batch.column(0).to_pylist()
        self._left: Iterator[bytes] = iter(self._events)

    def __iter__(self) -> Iterator[bytes]:
        return self._left

    @property
    def segment_id(self) -> int:
        """Return the segment that the events are from."""
        return int(self._batch.column(1)[0].as_py())

    @property
    def next_offset(self) -> int | None:
        """Return the offset of the first event that was not returned, None if all were."""
        n_left = length_hint(self._left)
        return int(self._batch.column(2)[-n_left].as_py()) if n_left else None

    def take_rest(self) -> pa.RecordBatch | None:
        """Return the events that were not returned as a batch, and end the iteration."""
        n_left = length_hint(self._left)
        self._events.clear()
        return self._batch.slice(len(self._batch) - n_left) if n_left else None

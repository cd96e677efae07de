"""Planted bugs of conditional changes, which the checkers must find. Never reached by production code."""

from __future__ import annotations

from typing import Any

from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream
from pravega_lab.client.tables.key_value_table import AsyncKeyValueTable
from pravega_lab.client.tables.table import AsyncTable
from pravega_lab.client.values import NO_VERSION
from pravega_lab.errors import ConditionUnknownError

from ..planting import Replacement, bug

ONCE, REFUSED = "conditions are met once", "refusals are true"


@bug("equal-value-means-mine", "conditions", ONCE)
def _equal_value() -> list[Replacement]:
    """After a lost answer, an equal value in a table is taken for the client's own."""
    right = AsyncTable.put

    async def put(self: Any, key: bytes, value: bytes, version: int = NO_VERSION) -> int:
        try:
            return await right(self, key, value, version)
        except ConditionUnknownError as error:
            if error.found is not None and error.found.value == value:  # type: ignore[attr-defined]
                return error.found.version  # type: ignore[attr-defined, no-any-return]
            raise

    return [(AsyncTable, "put", put)]


@bug("absent-means-removed", "conditions", ONCE)
def _absent() -> list[Replacement]:
    """After a lost answer, an absent entry of a key-value table is taken for the client's own removal."""
    right = AsyncKeyValueTable._remove

    async def remove(self: Any, *args: Any) -> Any:
        try:
            return await right(self, *args)
        except ConditionUnknownError as error:
            if error.found == [None]:
                return []
            raise

    return [(AsyncKeyValueTable, "_remove", remove)]


@bug("mark-there-means-moved", "conditions", ONCE)
def _mark_there() -> list[Replacement]:
    """A mark that is where it should be was moved there by this client."""
    right = AsyncRevisionedStream.set_mark

    async def set_mark(self: Any, revision: Any, expected: Any) -> bool:
        try:
            return await right(self, revision, expected) or await self.mark() == revision
        except ConditionUnknownError as error:
            return bool(error.found == revision)

    return [(AsyncRevisionedStream, "set_mark", set_mark)]


@bug("repetitions-forgotten", "conditions", REFUSED)
def _repetitions() -> list[Replacement]:
    """A change that is refused after a lost answer counts as refused."""
    right = SegmentStores.change

    async def change(self: Any, *args: Any) -> Any:
        reply, _ = await right(self, *args)
        return reply, False

    return [(SegmentStores, "change", change)]


@bug("own-append-denied", "conditions", REFUSED)
def _own_append() -> list[Replacement]:
    """An append to a log that needed a second attempt counts as refused."""
    right = AsyncRevisionedStream._append_once

    async def once(self: Any, data: bytes, expected: int | None, repeated: bool) -> Any:
        end = await right(self, data, expected, repeated)
        return None if repeated else end

    return [(AsyncRevisionedStream, "_append_once", once)]

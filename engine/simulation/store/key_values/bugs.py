"""Planted bugs of key-value tables, which the checkers must find. Never reached by production code."""

from __future__ import annotations

import dataclasses
from typing import Any

from pravega_lab.client.tables import entries as client_entries
from pravega_lab.client.tables.partitions import successor

from ....store.storage.fixed_table import FixedTable
from ....store.storage.synced_state import Synced
from ....store.storage.table import Table
from ..planting import Replacement, bug

WHOLE, EXCLUDE = "transfers are whole", "conditions exclude each other"
IN_ORDER, COMPLETE = "listings are in order", "listings are complete"


@bug("batch-in-part", "key-values", WHOLE)
def _batch_in_part() -> list[Replacement]:
    """Of a batch of two entries, only the first is stored."""
    right = Synced._update_table

    def in_part(self: Any, change: Any, now_ms: int) -> None:
        operation = change.operation
        if len(operation.entries) == 2:
            operation = dataclasses.replace(operation, entries=operation.entries[:1])
        right(self, change._replace(operation=operation), now_ms)

    return [(Synced, "_update_table", in_part)]


@bug("conditions-ignored", "key-values", EXCLUDE)
def _conditions_ignored() -> list[Replacement]:
    """A key-value table takes every change, whatever version it expects."""
    return [(FixedTable, "check_versions", lambda self, segment, entries: None)]


@bug("first-condition-only", "key-values", EXCLUDE)
def _first_condition_only() -> list[Replacement]:
    """Of the conditions of a batch, only the first is checked."""
    right = FixedTable.check_versions
    return [(FixedTable, "check_versions", lambda self, segment, entries: right(self, segment, entries[:1]))]


@bug("stale-order", "key-values", COMPLETE)
def _stale_order() -> list[Replacement]:
    """A key that is put after the first listing is in no later one."""
    return [(FixedTable, "put", lambda self, version, key, value: Table.put(self, version, key, value))]


@bug("page-border-skipped", "key-values", COMPLETE)
def _page_border() -> list[Replacement]:
    """The first key of every page but the first is left out."""

    def one_too_far(key: bytes) -> bytes | None:
        after = successor(key)
        return None if after is None else successor(after)

    return [(client_entries, "successor", one_too_far)]


@bug("descending-range", "key-values", COMPLETE)
def _descending_range() -> list[Replacement]:
    """A range that does not fit into one page begins at its other end."""
    right = FixedTable.range

    def descending(self: Any, segment: str, low: bytes, high: bytes, count: int) -> Any:
        return right(self, segment, low, high, count)[::-1]

    return [(FixedTable, "range", descending)]


@bug("page-border-repeated", "key-values", IN_ORDER)
def _page_border_repeated() -> list[Replacement]:
    """The next page begins at the last key of the page before it, and not after it."""
    asked: list[bytes] = []

    def not_far_enough(key: bytes) -> bytes | None:
        if key in asked:  # else the last page would be read for ever
            asked.clear()
            return successor(key)
        asked.append(key)
        return key

    return [(client_entries, "successor", not_far_enough)]


@bug("removals-ignored", "key-values", COMPLETE)
def _removals_ignored() -> list[Replacement]:
    """A removal is acknowledged and forgotten."""
    return [(FixedTable, "remove", lambda self, key: 0)]


@bug("removals-unconditional", "key-values", COMPLETE)
def _removals_unconditional() -> list[Replacement]:
    """A removal does not look at the version that it expects."""
    right = FixedTable.check_versions

    def of_puts_only(self: Any, segment: str, entries: Any) -> None:
        right(self, segment, [entry for entry in entries if hasattr(entry, "value")])

    return [(FixedTable, "check_versions", of_puts_only)]

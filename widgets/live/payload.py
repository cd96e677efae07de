"""What goes to the page: tables of rows of fixed size as bytes, and facts as JSON. All is little-endian.

A table is a `struct` format. The view's JavaScript declares the same format, field by field. Each row of a
keyed table begins with its index and replaces the row of that index; other tables grow.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Literal

NAN = float("nan")
NOBODY = 0
UNKNOWN_READER = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Payload:
    """Contains a snapshot, which replaces everything, or a delta. ``grown`` is appended to lists of facts."""

    kind: Literal["snapshot", "delta"]
    tables: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    grown: dict[str, list[Any]] = field(default_factory=dict)

    def content(self, seq: int) -> dict[str, Any]:
        """Return the JSON part of the message; the tables travel as buffers, in this order."""
        return {
            "kind": self.kind,
            "seq": seq,
            "tables": list(self.tables),
            "facts": self.facts,
            "grown": self.grown,
        }

    def buffers(self) -> list[bytes]:
        """Return the bytes of the tables, in the order of `content`."""
        return list(self.tables.values())

    @property
    def n_bytes(self) -> int:
        """The size of all tables, in bytes."""
        return sum(len(table) for table in self.tables.values())

    def to_json(self) -> dict[str, Any]:
        """Return the whole payload as one JSON value, for an exported page."""
        encoded = [base64.b64encode(table).decode() for table in self.tables.values()]
        return {**self.content(0), "buffers": encoded}


def pack(row: Struct, rows: Iterable[Sequence[Any]]) -> bytes:
    """Return all rows as bytes, one after another."""
    return b"".join(row.pack(*values) for values in rows)


def or_nan(value: float | None) -> float:
    """Return ``value`` as a float, and NaN for None."""
    return NAN if value is None else float(value)

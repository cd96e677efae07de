"""What goes to the page: tables of fixed-size rows as bytes, and facts as JSON. Little-endian throughout.

A table is a `struct` format; the same format, field by field, stands in the view's JavaScript. Rows of a
keyed table start with their index and replace the row of that index; other tables grow.
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
    """A snapshot (replaces everything) or a delta; ``grown`` holds what is appended to lists of facts."""

    kind: Literal["snapshot", "delta"]
    tables: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    grown: dict[str, list[Any]] = field(default_factory=dict)

    def content(self, seq: int) -> dict[str, Any]:
        """The JSON part of the message; the tables' bytes travel as buffers, in this order."""
        return {
            "kind": self.kind,
            "seq": seq,
            "tables": list(self.tables),
            "facts": self.facts,
            "grown": self.grown,
        }

    def buffers(self) -> list[bytes]:
        return list(self.tables.values())

    @property
    def n_bytes(self) -> int:
        return sum(len(table) for table in self.tables.values())

    def to_json(self) -> dict[str, Any]:
        """The same in one JSON value, for a page that stands alone."""
        encoded = [base64.b64encode(table).decode() for table in self.tables.values()]
        return {**self.content(0), "buffers": encoded}


def pack(row: Struct, rows: Iterable[Sequence[Any]]) -> bytes:
    """All rows one after another."""
    return b"".join(row.pack(*values) for values in rows)


def or_nan(value: float | None) -> float:
    return NAN if value is None else float(value)

"""Attributes of segments that a store answers and no client writes.

An attribute is a number under a UUID (pravega.md A11). A released Pravega answers `NO_VALUE` for these.
"""

from __future__ import annotations

from uuid import UUID

NO_VALUE = -(2**63)
"""The value of an attribute that a segment does not have."""

TIERED_OFFSET = UUID("5a1c6ad1-5d0e-4a5b-9d5e-0f1ab07e12d2")
"""All bytes of the segment before this offset are in tier 2, or truncated. The others are in the log."""

"""What a check of a store found, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

RESTORE = "Restore the store from a backup (pravega-lab admin restore)."

CLIENTS = "A client may have changed it directly at the segment store. If none did, restore a backup."


class Level(Enum):
    """How much a finding matters."""

    DAMAGE = "damage"
    """Data or metadata is lost, or contradicts itself."""

    NOTE = "note"
    """Something that a crash leaves, or that no stream needs. The store is sound."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        rule: The name of the rule that found it.
        where: A file, a segment, or the key of a record.
        offset: The position in the file in bytes, None if ``where`` is no file.
        what: What is wrong, as a sentence.
        next_step: What to do, as a sentence.
    """

    level: Level
    rule: str
    where: str
    offset: int | None
    what: str
    next_step: str

    def __str__(self) -> str:
        place = self.where if self.offset is None else f"{self.where} at offset {self.offset}"
        return f"{self.level.value} in {place}: {self.what} {self.next_step}".rstrip()


def damage(rule: str, where: str, what: str, next_step: str = RESTORE, offset: int | None = None) -> Finding:
    """Return a finding of the level DAMAGE."""
    return Finding(Level.DAMAGE, rule, where, offset, what, next_step)


def note(rule: str, where: str, what: str, next_step: str = "", offset: int | None = None) -> Finding:
    """Return a finding of the level NOTE."""
    return Finding(Level.NOTE, rule, where, offset, what, next_step)

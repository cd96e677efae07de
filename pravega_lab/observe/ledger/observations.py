"""What is counted to judge a run, and what was done to it: kinds of observation.

A ledger's counts are of *distinct* events. ``None`` is *not known*: there was no witness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.journal.observations import DONE_HERE, Observation

COLUMNS = ("written", "acknowledged", "read", "committed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted(Observation):
    """A control or a user did something; ``call`` is the Python that does it again.

    ``is_fault``: it was meant to hurt (a kill, a cut connection), so a ledger shows a row for it.
    """

    kind: ClassVar[str] = "acted"
    text: str
    call: str = ""
    target: str = ""
    is_fault: bool = False
    cause_kind: str = DONE_HERE


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerCounted(Observation):
    """How many events were seen where, and what is wrong with those at the ``judged`` column.

    ``judged`` is the last column with a witness: ``committed``, else ``read``, else empty. ``unknown`` are
    events whose fate is not known (yet); those ``in_flight`` among them may still arrive. ``strange``
    events arrived and were never written. ``witnesses`` names the witness of each of `COLUMNS`, empty if
    there is none.
    """

    kind: ClassVar[str] = "ledger_counted"
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {"judged": (*COLUMNS, "")}
    sample: ClassVar[bool] = True
    ledger: str
    witnesses: tuple[str, ...]
    judged: str
    written: int | None = None
    acknowledged: int | None = None
    read: int | None = None
    committed: int | None = None
    lost: int | None = None
    doubled: int | None = None
    out_of_order: int | None = None
    strange: int | None = None
    unknown: int | None = None
    in_flight: int | None = None
    late: int = 0

    def __post_init__(self) -> None:
        if len(self.witnesses) != len(COLUMNS):
            raise ValueError(f"{len(self.witnesses)} witnesses for the {len(COLUMNS)} columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOffended(Observation):
    """One event that is ``lost``, ``doubled``, ``out of order`` or ``strange``. Only the first few are
    reported.

    Times are in ms, ``None`` if it did not happen or had no witness. ``first_ms`` and ``first_where`` are
    the first arrival of a doubled event.
    """

    kind: ClassVar[str] = "ledger_offended"
    ledger: str
    what: str
    column: str
    event: str
    key: str = ""
    written_ms: int | None = None
    written_where: str = ""
    read_ms: int | None = None
    read_where: str = ""
    first_ms: int | None = None
    first_where: str = ""

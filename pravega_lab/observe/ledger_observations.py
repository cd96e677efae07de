"""What is counted to judge a run, and what was done to it: kinds of observation, and nothing that decides.

A ledger's counts are of *distinct* events. ``None`` is *not known*: nobody witnessed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.observations import DONE_HERE, Observation

COLUMNS = ("written", "acknowledged", "read", "committed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted(Observation):
    """Something was done by a control or by hand; ``call`` is the Python that does it again.

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

    ``judged`` is ``committed``, else ``read``, else empty: the last column that has a witness. ``unknown``
    are events whose fate nobody knows (yet); those ``in_flight`` among them may still come. ``strange``
    arrived and were never written. ``witnesses``: who saw each of `COLUMNS`, empty for nobody.
    """

    kind: ClassVar[str] = "ledger_counted"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOffended(Observation):
    """One event that is ``lost``, ``doubled``, ``out of order`` or ``strange``: the first few of each.

    Times are in ms, ``None`` where it did not happen or nobody saw it. ``first_ms`` and ``first_where`` tell
    of the first arrival of one that came twice.
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

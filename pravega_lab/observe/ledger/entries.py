"""What both kinds of books share: their arrivals, offences and counts, and ids of any form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pravega_lab.errors import BadInputError

Arrival = Literal["read", "committed"]
ARRIVALS: tuple[Arrival, ...] = ("read", "committed")
START = {
    **dict.fromkeys(("key", "place", "written_call"), -1),
    **{f"{name}_{a}": -1 for name in ("call", "segment", "offset") for a in ARRIVALS},
}
"""What is known of an event before anything is: columns of the books. All others start at 0."""


class SupportsIds(Protocol):
    """Describes the ids that a ledger has, by place."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Offence:
    """An event, by its place in the books, and what is wrong with it. ``index`` is its place in the call
    that reported it.
    """

    what: str
    slot: int
    index: int = -1


@dataclass(frozen=True, slots=True)
class Standing:
    """The counts of events at one arrival; see `LedgerCounted`."""

    lost: int | None
    doubled: int | None
    out_of_order: int | None
    strange: int | None
    unknown: int | None
    in_flight: int | None


def as_list(values: Any) -> list[Any]:
    """Return ids or keys of any form (one, a list, numpy, Arrow, pandas) as a list of plain values."""
    if isinstance(values, (str, bytes, int)):
        return [values]
    if hasattr(values, "null_count") and hasattr(values, "to_pylist"):  # Arrow; numpy's way is faster
        numbers = not values.null_count and str(values.type).startswith(("int", "uint"))
        return list(values.to_numpy(zero_copy_only=False).tolist() if numbers else values.to_pylist())
    if hasattr(values, "tolist"):
        found = values.tolist()
        return found if isinstance(found, list) else [found]  # a number of numpy
    if isinstance(values, Iterable):
        return list(values)
    raise BadInputError(
        f"ids are one, a list, or an Arrow, numpy or pandas array, not {type(values).__name__}"
    )


def check_type(known: SupportsIds, items: list[Any]) -> None:
    """Refuse ids of another type than the ``known`` ones.

    Raises:
        BadInputError: The types differ.
    """
    if not items or not known:
        return
    had, now = type(known[0]), type(items[0])
    if had is not now:
        raise BadInputError(
            f"the ids of this ledger are {had.__name__} ({known[0]!r}, …) and these are "
            f"{now.__name__} ({items[0]!r}, …): bring them to one type"
        )


def keys_of(keys: Any, n: int) -> list[str | None]:
    """Return one key for each of ``n`` events, from one for all, one for each, or None.

    Raises:
        BadInputError: There are more or fewer keys than events.
    """
    if keys is None:
        return [None] * n
    items = [keys] * n if isinstance(keys, str) else as_list(keys)
    if len(items) != n:
        raise BadInputError(f"{n} events and {len(items)} keys: give one key for all, or one for each")
    return items


def written_before(event: Any) -> BadInputError:
    """Return the error of an id that is written a second time."""
    return BadInputError(
        f"event {event!r} was written before: the ids of a ledger distinguish its events, so give each write "
        "another one"
    )

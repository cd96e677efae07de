"""The places of events in `event_books.ArrayBooks`, by their ids: `Numbers`, and `AnyIds` for all others.

A ledger never forgets an id, because the event may arrive once more. A number takes twelve bytes here, and
any other id an entry of a dict, which is ten times as much.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from pravega_lab.observe.ledger.entries import SupportsIds

Ints = npt.NDArray[np.int64]
PAGE_BITS = 12
PAGE = 1 << PAGE_BITS
PAGES_FREE = 64  # a ledger may begin with numbers that are far apart
ROOM_PER_NUMBER = 8  # above, a dict takes less


class Numbers:
    """Has ids that are whole numbers, most of them near others: a table of pages with a place per number."""

    def __init__(self) -> None:
        self._ids = np.zeros(PAGE, np.int64)
        self._n = 0
        self._pages: dict[int, int] = {}  # number >> PAGE_BITS -> row of the table
        self._table = np.full((1, PAGE), -1, np.int32)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, place: int) -> int:
        return int(self._ids[place])

    def places(self, items: list[Any]) -> Ints | None:
        """Return the place of each id; a new id has the next one. None if `AnyIds` has to take over."""
        if items and type(items[0]) is not int:
            return None
        numbers = np.array(items) if items else np.zeros(0, np.int64)
        if numbers.dtype != np.int64:
            return None
        pages = numbers >> PAGE_BITS
        distinct = sorted(set(pages.tolist()))
        new = [page for page in distinct if page not in self._pages]
        if len(self._pages) + len(new) > PAGES_FREE + ROOM_PER_NUMBER * (self._n + len(items)) // PAGE:
            return None
        self._add_pages(new)
        rows = np.array([self._pages[page] for page in distinct], np.int64)[np.searchsorted(distinct, pages)]
        columns = numbers & (PAGE - 1)
        found: Ints = self._table[rows, columns].astype(np.int64)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            firsts = unknown[np.sort(np.unique(numbers[unknown], return_index=True)[1])]
            self._table[rows[firsts], columns[firsts]] = np.arange(self._n, self._n + len(firsts))
            self._append(numbers[firsts])
            found = self._table[rows, columns].astype(np.int64)
        return found

    def _add_pages(self, new: list[int]) -> None:
        for page in new:
            self._pages[page] = len(self._pages)
        self._table = with_room(self._table, len(self._pages), -1)

    def _append(self, numbers: Ints) -> None:
        self._ids = with_room(self._ids, self._n + len(numbers), 0)
        self._ids[self._n : self._n + len(numbers)] = numbers
        self._n += len(numbers)


class AnyIds:
    """Has ids of any type: a dict. Begins with the ids of another index, at the same places."""

    def __init__(self, known: SupportsIds) -> None:
        self._ids: list[Any] = [known[place] for place in range(len(known))]
        self._places: dict[Any, int] = {item: place for place, item in enumerate(self._ids)}

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place: int) -> Any:
        return self._ids[place]

    def places(self, items: list[Any]) -> Ints:
        """Return the place of each id; a new id has the next one."""
        places, n_before = self._places, len(self._places)
        known = list(map(places.get, items))
        if None in known:
            known = [places.setdefault(i, len(places)) for i in items]
        n_new = len(places) - n_before
        if n_new:
            self._ids.extend(reversed(list(islice(reversed(places), n_new))))
        return np.array(known, np.int64)


def with_room(old: npt.NDArray[Any], n: int, empty: Any) -> npt.NDArray[Any]:
    """Return an array with room for ``n`` rows: the old one, or a longer one that begins with its rows."""
    have = len(old)
    if n <= have:
        return old
    grown = np.full((max(n, have + have // 2), *old.shape[1:]), empty, old.dtype)
    grown[:have] = old
    return grown

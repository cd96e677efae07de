"""`ArrayBooks`: which event was written, acknowledged, read and committed, how often, and in which order.

The books are columnar, with a place per event and a numpy array per fact, so that a million events take
seconds. They decide what is lost, doubled and out of order. They know no time and no journal. A count looks
at the events near to those that have changed, so that it takes the same time however many there are.

Events of one key have to arrive as they were written. An event is out of order if its *first* arrival is
after that of a later event of its key. Another arrival makes it doubled, not out of order.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from pravega_lab.observe.ledger.entries import (
    ARRIVALS,
    START,
    Arrival,
    Offence,
    Standing,
    as_list,
    check_type,
    keys_of,
    written_before,
)
from pravega_lab.observe.ledger.id_index import AnyIds, Ints, Numbers, with_room

Flags = npt.NDArray[np.bool_]

_TYPES: dict[str, Any] = {
    "key": np.int32, "place": np.int32, "written_call": np.int32, "acknowledged": np.bool_, "late": np.bool_,
}  # fmt: skip
_TYPES_OF_ARRIVAL: dict[str, Any] = {
    "times": np.uint32, "call": np.int32, "segment": np.int64, "offset": np.int64,
    "disorder": np.bool_, "told": np.bool_,
}  # fmt: skip
NOBODY = -1
BLOCK_BITS = 14


class ArrayBooks:
    """The books of one ledger. Ids are ints, strings or bytes, of one type in all calls."""

    def __init__(self) -> None:
        self._ids: Numbers | AnyIds = Numbers()
        self._keys: dict[str, int] = {}
        self._key_names: list[str] = []
        self._room = 1024
        self._column: dict[str, npt.NDArray[Any]] = {}
        self._add_columns(_TYPES)
        self._written = 0
        self._tallies: dict[int, Counter[str]] = {}  # by block of events
        self._total: Counter[str] = Counter()
        self._stale: set[int] = set()  # blocks in which events have changed since
        self._newest = {arrival: np.full(64, -1, np.int64) for arrival in ARRIVALS}
        self._settled = dict.fromkeys(ARRIVALS, 0)
        self.has = dict.fromkeys(("written", "acknowledged", *ARRIVALS), False)

    def __len__(self) -> int:
        return len(self._ids)

    def id_of(self, slot: int) -> Any:
        """Return the id of an event."""
        return self._ids[slot]

    def key_of(self, slot: int) -> str | None:
        """Return the routing key of an event."""
        code = int(self._column["key"][slot])
        return None if code == NOBODY else self._key_names[code]

    def value(self, name: str, slot: int) -> int:
        """Return what is known of an event: a column of the books by name."""
        return int(self._column[name][slot]) if name in self._column else START.get(name, 0)

    # Entries.

    def write(self, ids: Any, keys: Any, call: int) -> int:
        """Note that events are passed to a writer, in this order.

        Raises:
            BadInputError: An id was written before.
        """
        slots = self._slots_of(ids)
        again = self._column["place"][slots] >= 0
        unique, first = np.unique(slots, return_index=True)
        if again.any() or len(unique) < len(slots):
            again |= ~np.isin(np.arange(len(slots)), first)
            raise written_before(self._ids[slots[int(again.argmax())]])
        codes = self._codes_of(keys, len(slots))
        self.has["written"] = True
        self._column["place"][slots] = np.arange(self._written, self._written + len(slots))
        self._column["key"][slots] = codes
        self._column["written_call"][slots] = call
        self._written += len(slots)
        return len(slots)

    def acknowledge(self, ids: Any) -> int:
        """Note that these events are durable."""
        slots = self._slots_of(ids)
        self.has["acknowledged"] = True
        self._column["acknowledged"][slots] = True
        return len(slots)

    def be_late(self, ids: Any) -> int:
        """Note that these events were dropped as late."""
        slots = self._slots_of(ids)
        self._column["late"][slots] = True
        return len(slots)

    def arrive(
        self, arrival: Arrival, ids: Any, call: int, segments: Any = None, offsets: Any = None
    ) -> list[Offence]:
        """Note that events arrive, in this order. Return what is wrong with them, each event at most once
        per fault.
        """
        slots = self._slots_of(ids)
        self._begin(arrival)
        times = self._column[f"times_{arrival}"]
        before = times[slots]
        np.add.at(times, slots, 1)
        firsts = np.unique(slots, return_index=True)[1]
        firsts = np.sort(firsts[before[firsts] == 0])
        fresh = slots[firsts]
        self._column[f"call_{arrival}"][fresh] = call
        for name, values in (("segment", segments), ("offset", offsets)):
            if values is not None:
                self._column[f"{name}_{arrival}"][fresh] = np.asarray(values, np.int64)[firsts]
        wrong = self._disordered(arrival, fresh)
        self._column[f"disorder_{arrival}"][fresh[wrong]] = True
        found = [Offence("out of order", int(slots[i]), int(i)) for i in firsts[wrong]]
        found += self._strange(firsts, fresh)
        return found + self._doubled(arrival, slots, firsts)

    def settle(self, arrival: Arrival, most: int) -> list[Offence]:
        """Note that all known events have had their chance to arrive: the others are lost. Return the
        first of those.
        """
        self._begin(arrival)
        self._stale.update(range(self._settled[arrival] >> BLOCK_BITS, (len(self) >> BLOCK_BITS) + 1))
        self._settled[arrival] = len(self)
        events = slice(0, len(self))
        lost = self._missing(arrival, events)[1] & self._column["acknowledged"][events]
        lost &= ~self._column[f"told_{arrival}"][events]
        self._column[f"told_{arrival}"][events] |= lost
        by_place = np.flatnonzero(lost)
        by_place = by_place[np.argsort(self._column["place"][by_place], kind="stable")]
        return [Offence("lost", int(slot)) for slot in by_place[:most]]

    # The counts.

    def count(self, column: str) -> int | None:
        """Return the distinct events in a column of the ledger, None without a witness."""
        return self._counts()[column] if self.has[column] else None

    @property
    def late(self) -> int:
        """Return how many events were dropped as late."""
        return self._counts()["late"]

    def standing(self, arrival: Arrival | None) -> Standing:
        """Return the counts at an arrival, or with None the counts without a witness of any arrival."""
        counts = self._counts()
        if arrival is None:
            open_ = counts["open"] if self.has["written"] else None
            return Standing(None, None, None, None, open_, open_)
        doubled = counts[f"doubled_{arrival}"]
        if not self.has["written"]:
            return Standing(None, doubled, None, None, None, None)
        in_flight = counts[f"in_flight_{arrival}" if self.has[arrival] else "open"]
        unacknowledged = 0 if self.has["acknowledged"] else counts[f"missing_{arrival}"]
        return Standing(
            lost=counts[f"lost_{arrival}"],
            doubled=doubled,
            out_of_order=counts[f"disorder_{arrival}"],
            strange=counts[f"strange_{arrival}"],
            unknown=in_flight + unacknowledged,
            in_flight=in_flight,
        )

    def _missing(self, arrival: Arrival, events: slice) -> tuple[Flags, Flags]:
        """Return which events should be there and are not, and which of them have had their chance."""
        missing = self._due(events) & (self._column[f"times_{arrival}"][events] == 0)
        return missing, missing & (np.arange(events.start, events.stop) < self._settled[arrival])

    def _due(self, events: slice) -> Flags:
        """Return which events should arrive: written or acknowledged, and not dropped as late."""
        known = (self._column["place"][events] >= 0) | self._column["acknowledged"][events]
        due: Flags = known & ~self._column["late"][events]
        return due

    def _counts(self) -> Counter[str]:
        """Return the counts, up to date."""
        for block in self._stale:
            before, self._tallies[block] = self._tallies.get(block, Counter()), self._tally(block)
            self._total.update(self._tallies[block])
            self._total.subtract(before)
        self._stale.clear()
        return self._total

    def _tally(self, block: int) -> Counter[str]:
        """Return what the events of a block add to the counts."""
        events = slice(block << BLOCK_BITS, min(len(self), (block + 1) << BLOCK_BITS))
        written, late = self._column["place"][events] >= 0, self._column["late"][events]
        acknowledged = self._column["acknowledged"][events]
        found = {"written": written, "acknowledged": acknowledged, "late": late}
        found["open"] = self._due(events)
        for arrival in ARRIVALS:
            if self.has[arrival]:
                times = self._column[f"times_{arrival}"][events]
                missing, overdue = self._missing(arrival, events)
                found |= {
                    arrival: times > 0,
                    f"doubled_{arrival}": times > 1,
                    f"disorder_{arrival}": self._column[f"disorder_{arrival}"][events],
                    f"strange_{arrival}": (times > 0) & ~written,
                    f"in_flight_{arrival}": missing & ~overdue,
                    f"missing_{arrival}": overdue,
                    f"lost_{arrival}": overdue & acknowledged,
                }
        return Counter({name: int(np.count_nonzero(which)) for name, which in found.items()})

    def _begin(self, arrival: Arrival) -> None:
        """Have columns for an arrival as soon as it has a witness."""
        if self.has[arrival]:
            return
        self.has[arrival] = True
        self._add_columns({f"{name}_{arrival}": kind for name, kind in _TYPES_OF_ARRIVAL.items()})
        self._stale.update(self._tallies)

    # Internals.

    def _disordered(self, arrival: Arrival, fresh: Ints) -> npt.NDArray[np.bool_]:
        """Return which of these first arrivals are after a later event of their key."""
        wrong = np.zeros(len(fresh), np.bool_)
        keys, places = (self._column[name][fresh].astype(np.int64) for name in ("key", "place"))
        judged = np.flatnonzero((keys >= 0) & (places >= 0))
        if not len(judged):
            return wrong
        judged = judged[np.argsort(keys[judged], kind="stable")]
        keys, places = keys[judged], places[judged]
        newest = self._newest[arrival]
        if len(newest) < len(self._key_names):
            more = np.full(2 * len(self._key_names) - len(newest), -1, np.int64)
            newest = self._newest[arrival] = np.concatenate([newest, more])
        # The running maximum of each key: keys rise, so a shift by key keeps their maxima apart.
        shift = keys * (self._written + 1)
        running = np.maximum.accumulate(places + shift) - shift
        before = np.concatenate([[-1], running[:-1]])
        before[np.concatenate([[True], keys[1:] != keys[:-1]])] = -1
        wrong[judged] = np.maximum(before, newest[keys]) > places
        np.maximum.at(newest, keys, places)
        return wrong

    def _strange(self, firsts: Ints, fresh: Ints) -> list[Offence]:
        if not self.has["written"]:
            return []
        unwritten = self._column["place"][fresh] < 0
        return [
            Offence("strange", int(s), int(i))
            for s, i in zip(fresh[unwritten], firsts[unwritten], strict=True)
        ]

    def _doubled(self, arrival: Arrival, slots: Ints, firsts: Ints) -> list[Offence]:
        """Return each event at its second arrival."""
        again = np.setdiff1d(np.arange(len(slots)), firsts)
        if not len(again):
            return []
        _, second = np.unique(slots[again], return_index=True)
        again = np.sort(again[second])
        unique, counts = np.unique(slots, return_counts=True)
        here = counts[np.searchsorted(unique, slots[again])]
        before = self._column[f"times_{arrival}"][slots[again]] - here
        new = before < 2  # an event that had arrived twice before was reported then
        return [Offence("doubled", int(slots[i]), int(i)) for i in again[new]]

    def _slots_of(self, ids: Any) -> Ints:
        items = as_list(ids)
        check_type(self._ids, items)
        found = self._ids.places(items)
        if found is None:
            self._ids = AnyIds(self._ids)
            found = self._ids.places(items)
        if len(self) > self._room:
            self._column = {
                name: with_room(old, len(self), START.get(name, 0)) for name, old in self._column.items()
            }
            self._room = len(self._column["key"])
        self._stale.update((found >> BLOCK_BITS).tolist())
        return found

    def _add_columns(self, types: dict[str, Any]) -> None:
        self._column |= {name: np.full(self._room, START.get(name, 0), kind) for name, kind in types.items()}

    def _codes_of(self, keys: Any, n: int) -> npt.NDArray[np.int32]:
        if keys is None:
            return np.full(n, NOBODY, np.int32)
        codes = self._keys
        n_before = len(codes)
        found = (NOBODY if k is None else codes.setdefault(k, len(codes)) for k in keys_of(keys, n))
        result = np.fromiter(found, np.int32, n)
        self._key_names.extend(islice(codes, n_before, None))
        return result

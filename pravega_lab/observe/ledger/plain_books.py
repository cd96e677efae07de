"""`PlainBooks`: `event_books.ArrayBooks` without numpy, with a dict per event. A test compares the two."""

from __future__ import annotations

from typing import Any

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

_PER_ARRIVAL = ("times", "call", "segment", "offset", "disorder", "told")
_EMPTY = {
    **dict.fromkeys(("acknowledged", "late"), 0),
    **{f"{name}_{arrival}": 0 for name in _PER_ARRIVAL for arrival in ARRIVALS},
    **START,
}


class PlainBooks:
    """The books of one ledger; see `event_books.ArrayBooks`, which has the same methods."""

    def __init__(self) -> None:
        self._slots: dict[Any, int] = {}
        self._ids: list[Any] = []
        self._events: list[dict[str, int]] = []
        self._keys: dict[str, int] = {}
        self._key_names: list[str] = []
        self._written = 0
        self._newest: dict[Arrival, dict[int, int]] = {arrival: {} for arrival in ARRIVALS}
        self._settled = dict.fromkeys(ARRIVALS, 0)
        self.has = dict.fromkeys(("written", "acknowledged", *ARRIVALS), False)

    def __len__(self) -> int:
        return len(self._ids)

    def id_of(self, slot: int) -> Any:
        """Return the id of an event."""
        return self._ids[slot]

    def key_of(self, slot: int) -> str | None:
        """Return the routing key of an event."""
        code = self._events[slot]["key"]
        return None if code < 0 else self._key_names[code]

    def value(self, name: str, slot: int) -> int:
        """Return what is known of an event: a column of the books by name."""
        return self._events[slot][name]

    def write(self, ids: Any, keys: Any, call: int) -> int:
        """Note that events are passed to a writer, in this order.

        Raises:
            BadInputError: An id was written before, or there are more or fewer keys than events.
        """
        slots = self._slots_of(ids)
        seen: set[int] = set()
        for slot in slots:
            if slot in seen or self._events[slot]["place"] >= 0:
                raise written_before(self._ids[slot])
            seen.add(slot)
        named = keys_of(keys, len(slots))
        self.has["written"] = True
        for slot, key in zip(slots, named, strict=True):
            self._events[slot].update(place=self._written, key=self._code_of(key), written_call=call)
            self._written += 1
        return len(slots)

    def acknowledge(self, ids: Any) -> int:
        """Note that these events are durable."""
        slots = self._slots_of(ids)
        self.has["acknowledged"] = True
        for slot in slots:
            self._events[slot]["acknowledged"] = 1
        return len(slots)

    def be_late(self, ids: Any) -> int:
        """Note that these events were dropped as late."""
        slots = self._slots_of(ids)
        for slot in slots:
            self._events[slot]["late"] = 1
        return len(slots)

    def arrive(
        self, arrival: Arrival, ids: Any, call: int, segments: Any = None, offsets: Any = None
    ) -> list[Offence]:
        """Note that events arrive, in this order. Return what is wrong with them, each event at most once
        per fault.
        """
        slots = self._slots_of(ids)
        self.has[arrival] = True
        where = {
            f"{name}_{arrival}": as_list(values)
            for name, values in (("segment", segments), ("offset", offsets))
            if values is not None
        }
        found: dict[str, list[Offence]] = {"out of order": [], "strange": [], "doubled": []}
        for index, slot in enumerate(slots):
            event = self._events[slot]
            event[f"times_{arrival}"] += 1
            times = event[f"times_{arrival}"]
            if times == 1:
                event[f"call_{arrival}"] = call
                event.update({name: int(values[index]) for name, values in where.items()})
                if self._is_disordered(arrival, event):
                    event[f"disorder_{arrival}"] = 1
                    found["out of order"].append(Offence("out of order", slot, index))
                if self.has["written"] and event["place"] < 0:
                    found["strange"].append(Offence("strange", slot, index))
            elif times == 2:
                found["doubled"].append(Offence("doubled", slot, index))
        return [offence for offences in found.values() for offence in offences]

    def settle(self, arrival: Arrival, most: int) -> list[Offence]:
        """Note that all known events have had their chance to arrive: the others are lost. Return the
        first of those.
        """
        self.has[arrival] = True
        self._settled[arrival] = len(self._ids)
        lost = [slot for slot in self._lost(arrival) if not self._events[slot][f"told_{arrival}"]]
        for slot in lost:
            self._events[slot][f"told_{arrival}"] = 1
        lost.sort(key=lambda slot: self._events[slot]["place"])
        return [Offence("lost", slot) for slot in lost[:most]]

    def count(self, column: str) -> int | None:
        """Return the distinct events in a column of the ledger, None without a witness."""
        if not self.has[column]:
            return None
        name = {"written": "place", "acknowledged": "acknowledged"}.get(column, f"times_{column}")
        least = 0 if name == "place" else 1
        return sum(event[name] >= least for event in self._events)

    @property
    def late(self) -> int:
        """Return how many events were dropped as late."""
        return sum(event["late"] for event in self._events)

    def standing(self, arrival: Arrival | None) -> Standing:
        """Return the counts at an arrival, or with None the counts without a witness of any arrival."""
        if arrival is None:
            open_ = sum(map(_is_due, self._events))
            known = open_ if self.has["written"] else None
            return Standing(None, None, None, None, known, known)
        times = [event[f"times_{arrival}"] for event in self._events]
        doubled = sum(n > 1 for n in times)
        if not self.has["written"]:
            return Standing(None, doubled, None, None, None, None)
        missing = [slot for slot, event in enumerate(self._events) if _is_due(event) and not times[slot]]
        in_flight = sum(slot >= self._settled[arrival] for slot in missing)
        unacknowledged = 0 if self.has["acknowledged"] else len(missing) - in_flight
        return Standing(
            lost=len(self._lost(arrival)),
            doubled=doubled,
            out_of_order=sum(event[f"disorder_{arrival}"] for event in self._events),
            strange=sum(n > 0 and event["place"] < 0 for n, event in zip(times, self._events, strict=True)),
            unknown=in_flight + unacknowledged,
            in_flight=in_flight,
        )

    def _lost(self, arrival: Arrival) -> list[int]:
        return [
            slot
            for slot, event in enumerate(self._events[: self._settled[arrival]])
            if event["acknowledged"] and _is_due(event) and not event[f"times_{arrival}"]
        ]

    def _is_disordered(self, arrival: Arrival, event: dict[str, int]) -> bool:
        """Return whether a first arrival is after that of a later event of its key."""
        key, place = event["key"], event["place"]
        if key < 0 or place < 0:
            return False
        newest = self._newest[arrival].get(key, -1)
        self._newest[arrival][key] = max(newest, place)
        return newest > place

    def _code_of(self, key: str | None) -> int:
        if key is None:
            return -1
        if key not in self._keys:
            self._keys[key] = len(self._key_names)
            self._key_names.append(key)
        return self._keys[key]

    def _slots_of(self, ids: Any) -> list[int]:
        items = as_list(ids)
        check_type(self._ids, items)
        for item in items:
            if item not in self._slots:
                self._slots[item] = len(self._ids)
                self._ids.append(item)
                self._events.append(dict(_EMPTY))
        return [self._slots[item] for item in items]


def _is_due(event: dict[str, int]) -> bool:
    """Return whether an event should arrive: written or acknowledged, and not dropped as late."""
    return bool((event["place"] >= 0 or event["acknowledged"]) and not event["late"])

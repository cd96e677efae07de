"""Bring the events and keys that callers pass into one of two shapes, and frame them.

A handful becomes framed bytes and positions in pure Python, without pyarrow or numpy. More events become
Arrow buffers, of which a slice at a time is hashed, framed and routed (`arrays`). Events without a key get a
position in the key space immediately, so that they keep it when they have to be routed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pravega_lab.client.framing import pure_python
from pravega_lab.client.framing.arrays import array_framing
from pravega_lab.client.framing.data_frames import EVENT, ROUTING_KEY, columns_of, is_data_frame
from pravega_lab.client.framing.values import Run
from pravega_lab.client.values import EVENT_BYTES_MAX, MIB
from pravega_lab.errors import BadInputError, EventTooLargeError
from pravega_lab.portable import few
from pravega_lab.protocol.hashing import key_position

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_lab.client.values import Events, Keys

FEW = few(32)  # up to so many events pure Python is as fast as numba
SLICE_EVENTS = 65_536  # events of a large array that are framed and sent before the next ones
SLICE_BYTES = 8 * MIB
ROUTE_EVENTS = 512  # events per route that a slice should have: smaller blocks cost more than their events
ARRAY_BYTES_MAX = 2**31 - 1  # that 32-bit offsets can address
GROWTH_MAX = 8  # the factor by which slices may grow to have them

_TEXT = ("string", "large_string", "string_view")
_BINARY = ("binary", "large_binary", "binary_view")

Positions: TypeAlias = Callable[[int, int], Any]

_EVENTS = "events"
_KEYS = "routing keys"
_ACCEPTED = {
    _EVENTS: "write bytes or str, a list, Arrow array or Series of them, or a data frame with the columns "
    f"'{EVENT}' and '{ROUTING_KEY}'",
    _KEYS: "pass one str for all events, or one str or None for each, in a list, Arrow array or Series",
}

_position = lru_cache(maxsize=65_536)(key_position)


class FewEvents:
    """Holds up to `FEW` events as Python objects."""

    def __init__(self, payloads: Sequence[bytes], positions: Sequence[float]) -> None:
        for payload in payloads:
            _check_size(len(payload))
        self._payloads = payloads
        self._positions = positions

    def __len__(self) -> int:
        return len(self._payloads)

    def slices(self, n_routes: int) -> Iterator[FewEvents]:
        """Yield the parts that are routed and sent one after the other: here all events together."""
        yield self

    async def runs(self, highs: Sequence[float], bytes_max: int) -> list[Run]:
        """Return the frames by route; see ``pure_python.runs_of``."""
        return pure_python.runs_of(
            [pure_python.frame(p) for p in self._payloads], self._positions, highs, bytes_max
        )


class ManyEvents:
    """Holds events as the buffers of an Arrow array: ``data[offsets[i]:offsets[i + 1]]``.

    ``positions(start, end)`` returns the key-space positions of events ``start`` to ``end`` (exclusive).
    """

    def __init__(self, offsets: Any, data: Any, positions: Positions) -> None:
        _check_size(array_framing().longest(offsets))
        self.offsets = offsets
        self.data = data
        self.positions = positions

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def slices(self, n_routes: int) -> Iterator[Slice]:
        """Yield the parts that are routed and sent one after the other.

        A part is bounded in events and in bytes; a single event may be larger.
        """
        import numpy as np

        growth = min(max(n_routes * ROUTE_EVENTS / SLICE_EVENTS, 1), GROWTH_MAX)
        events_max, bytes_max = int(growth * SLICE_EVENTS), int(growth * SLICE_BYTES)
        start, n_events = 0, len(self)
        while start < n_events:
            full = np.searchsorted(self.offsets, self.offsets[start] + bytes_max, side="right") - 1
            end = min(max(int(full), start + 1), start + events_max, n_events)
            yield Slice(self, start, end)
            start = end


class Slice:
    """Holds consecutive events of `ManyEvents`."""

    def __init__(self, whole: ManyEvents, start: int, end: int) -> None:
        self._whole = whole
        self._start = start
        self._n_events = end - start

    def __len__(self) -> int:
        return self._n_events

    async def runs(self, highs: Sequence[float], bytes_max: int) -> list[Run]:
        """Return the frames by route; see ``pure_python.runs_of``. Other tasks run in between."""
        import numpy as np

        whole, at = self._whole, self._start
        positions = np.empty(len(self), np.float64)

        def place(start: int, end: int) -> None:
            positions[start:end] = whole.positions(at + start, at + end)

        await _in_turns(place, len(self))
        offsets = whole.offsets[at : at + len(self) + 1]
        ranges = np.asarray(highs, np.float64)
        framing = array_framing().frame_slice(offsets, whole.data, positions, ranges, bytes_max)
        await _in_turns(framing.fill, len(self))
        return framing.runs()


async def _in_turns(work: Callable[[int, int], None], n_events: int) -> None:
    """Do the work in parts of some milliseconds, so that earlier events are sent between the parts."""
    for start in range(0, n_events, SLICE_EVENTS):
        if start:
            await asyncio.sleep(0)
        work(start, min(start + SLICE_EVENTS, n_events))


def prepare(events: Events, keys: Keys, chance: Random) -> FewEvents | ManyEvents:
    """Check and convert what a caller passed.

    Raises:
        EventTooLargeError: An event above 8 MiB.
        BadInputError: Anything that is no event or key; the message names it and says what is accepted.
    """
    events, keys = columns_of(events, keys)
    if isinstance(events, (str, bytes, bytearray, memoryview)):
        events = [bytes(events) if not isinstance(events, str) else events]
    for values, what in ((events, _EVENTS), (keys, _KEYS)):
        if isinstance(values, (Mapping, Set)):
            raise BadInputError(f"a {type(values).__name__} has no order of {what}: {_ACCEPTED[what]}")
    if isinstance(events, (list, tuple)) and len(events) <= FEW and _are_few(keys):
        payloads = [_payload(event) for event in events]
        return FewEvents(payloads, _few_positions(keys, len(payloads), chance))
    return _many(events, keys, chance)


def runs_of(
    payloads: list[bytes], places: list[str | float], highs: Sequence[float], bytes_max: int
) -> list[Run]:
    """Return checked events by route; see ``pure_python.runs_of``. A place is a key or a position."""
    if len(payloads) == 1:
        [place] = places
        position = _position(place) if isinstance(place, str) else place
        return [pure_python.run_of(payloads[0], position, highs)]
    if len(payloads) <= FEW:
        positions = [_position(place) if isinstance(place, str) else place for place in places]
        return pure_python.runs_of(map(pure_python.frame, payloads), positions, highs, bytes_max)
    import numpy as np

    offsets, data = _joined(payloads)
    ranges = np.asarray(highs, np.float64)
    framing = array_framing().frame_slice(offsets, data, _positions_at(places), ranges, bytes_max)
    framing.fill(0, len(payloads))
    return framing.runs()


def _joined(items: Sequence[bytes]) -> tuple[Any, Any]:
    """Return offsets and data as `_buffers` does."""
    import numpy as np

    return _offsets_of(items), np.frombuffer(b"".join(items), np.uint8)


def _offsets_of(items: Sequence[bytes] | Sequence[str]) -> Any:
    import numpy as np

    offsets = np.zeros(len(items) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, items), np.int32, len(items)), out=offsets[1:])
    return offsets


def _joined_keys(keys: list[str]) -> tuple[Any, Any]:
    """Return offsets and data as `_buffers` does. Keys in ASCII are encoded together."""
    import numpy as np

    text = "".join(keys)
    if not text.isascii():
        return _joined([key.encode() for key in keys])
    return _offsets_of(keys), np.frombuffer(text.encode(), np.uint8)


def split(run: Run, highs: Sequence[float], bytes_max: int) -> list[Run]:
    """Return the events of a run sorted by other routes, the order within a route kept."""
    if run.n_events <= FEW:
        return pure_python.split(run.frames, run.positions, highs, bytes_max)
    import numpy as np

    positions, ranges = np.asarray(run.positions), np.asarray(highs, np.float64)
    return array_framing().split(run.frames, positions, ranges, bytes_max)


# a handful


def _are_few(keys: Any) -> bool:
    return keys is None or isinstance(keys, (str, list, tuple))


def _payload(event: Any) -> bytes:
    if isinstance(event, str):
        return _utf8(event, "event")
    if isinstance(event, (bytes, bytearray, memoryview)):
        return bytes(event)
    raise BadInputError(f"an event is bytes or str, not {type(event).__name__}: {event!r:.80}")


def _not_accepted(values: Any, what: str) -> BadInputError:
    return BadInputError(f"{what}: found {type(values).__name__} {values!r:.80}; {_ACCEPTED[what]}")


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadInputError(f"{what} {text!r:.80} holds half a character (a lone surrogate)") from error


def _few_positions(keys: Any, n_events: int, chance: Random) -> list[float]:
    if keys is None:
        return [chance.random() for _ in range(n_events)]
    if isinstance(keys, str):
        return [position_of(keys, chance)] * n_events
    _check_count(len(keys), n_events)
    return [position_of(key, chance) for key in keys]


def position_of(key: Any, chance: Random) -> float:
    """Return the position in the key space of an event with this key. Raises BadInputError."""
    if key is None:
        return chance.random()
    if not isinstance(key, str):
        raise BadInputError(f"a routing key is str, not {type(key).__name__}: {key!r:.80}")
    _utf8(key, "routing key")
    return _position(key)


def _check_count(n_keys: int, n_events: int) -> None:
    if n_keys != n_events:
        raise BadInputError(f"{n_events} events and {n_keys} keys: pass one key for all, or one for each")


def _check_size(n_bytes: int) -> None:
    if n_bytes > EVENT_BYTES_MAX:
        raise EventTooLargeError(
            f"an event of {n_bytes} bytes: at most {EVENT_BYTES_MAX} (8 MiB) can be written. "
            "stream.write_large_event(event, key) writes one of up to 1 GiB. Nothing of this call was written"
        )


# arrays


def _many(events: Any, keys: Any, chance: Random) -> FewEvents | ManyEvents:
    array = _arrow(events, _EVENTS)
    if array.null_count:
        raise BadInputError(f"{array.null_count} of {len(array)} events are null: drop them, or write b''")
    if len(array) == 0:
        return FewEvents([], [])
    offsets, data = _buffers(array)
    return ManyEvents(offsets, data, _many_positions(keys, len(array), chance))


def _arrow(values: Any, what: str) -> pa.Array:
    """Return any array-like as one Arrow array of binary or string, with 32- or 64-bit offsets."""
    import pyarrow as pa

    is_text = isinstance(values, (str, bytes, bytearray, memoryview))
    if is_text or is_data_frame(values) or not isinstance(values, Iterable):
        raise _not_accepted(values, what)
    try:
        values = _as_arrow(values, what)
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise BadInputError(f"{what}: {error}; {_ACCEPTED[what]}") from error
    return _as_variable(values, what)


def _as_arrow(values: Any, what: str) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if str(getattr(values, "dtype", "")) == "Object":  # of Polars, which exports the addresses of objects
        values = values.to_list()
    if isinstance(values, (list, tuple)):  # pa.array would import pandas, which takes a quarter of a second
        if what == _EVENTS:
            values = [_payload(value) if value is not None else None for value in values]
        elif set(map(type, values)) == {str}:
            values = [_utf8(value, "routing key") for value in values]
        if set(map(type, values)) == {bytes} and sum(map(len, values)) <= ARRAY_BYTES_MAX:
            buffers = [None, *map(pa.py_buffer, _joined(values))]
            return pa.Array.from_buffers(
                pa.binary() if what == _EVENTS else pa.string(), len(values), buffers
            )
    if hasattr(values, "to_arrow"):  # a Polars Series, of which pa.array would make Python objects
        return values.to_arrow()
    return pa.array(values, from_pandas=True)


def _as_variable(array: pa.Array, what: str) -> pa.Array:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_null(kind) or len(array) == 0:  # pandas gives an empty column any type
        return pa.nulls(len(array), pa.string())
    if pa.types.is_fixed_size_binary(kind):
        array, kind = array.cast(pa.large_binary()), pa.large_binary()
    if str(kind) not in (_TEXT if what == _KEYS else _TEXT + _BINARY):
        raise BadInputError(f"{what}: found an array of {kind}; {_ACCEPTED[what]}")
    if str(kind) in ("string_view", "binary_view"):
        return array.cast(pa.large_string() if str(kind) in _TEXT else pa.large_binary())
    return array


def _buffers(array: pa.Array) -> tuple[Any, Any]:
    """Return offsets (one more than items) and data, without copying."""
    import numpy as np
    import pyarrow as pa

    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    _, offsets, data = array.buffers()
    all_offsets = np.frombuffer(offsets, np.int64 if wide else np.int32)
    found = all_offsets[array.offset : array.offset + len(array) + 1]
    return found, np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)


def _many_positions(keys: Any, n_events: int, chance: Random) -> Positions:
    import numpy as np

    if keys is None:
        return _sliced(_spread(n_events, chance))
    if isinstance(keys, str):
        return _sliced(np.full(n_events, position_of(keys, chance)))
    array = _arrow(keys, _KEYS)
    _check_count(len(array), n_events)
    offsets, data = _buffers(array)
    if not array.null_count:
        return lambda start, end: array_framing().positions_of(offsets[start : end + 1], data)
    positions = array_framing().positions_of(offsets, data)
    missing = np.asarray(array.is_null())
    positions[missing] = _spread(int(missing.sum()), chance)
    return _sliced(positions)


def _positions_at(places: list[str | float]) -> Any:
    import numpy as np

    kinds = set(map(type, places))
    if kinds == {float}:
        return np.array(places, np.float64)
    keys = [place for place in places if isinstance(place, str)] if float in kinds else places
    of_keys = array_framing().positions_of(*_joined_keys(cast(list[str], keys)))
    if keys is places:
        return of_keys
    positions = np.array([0.0 if isinstance(place, str) else place for place in places])
    positions[[isinstance(place, str) for place in places]] = of_keys
    return positions


def _sliced(positions: Any) -> Positions:
    return lambda start, end: positions[start:end]


def _spread(n_events: int, chance: Random) -> Any:
    import numpy as np

    return np.random.default_rng(chance.getrandbits(64)).random(n_events)

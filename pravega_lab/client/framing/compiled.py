"""Routing, framing and decoding of whole Arrow arrays, compiled by numba and cached on disk.

Only `arrays` imports this module: numba takes a third of a second and may be absent, and without a cache on
disk `compile_steps` takes seconds. Each function is tested against `pure_python` and ``protocol.hashing``.
No function creates a Python object per event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from pravega_lab.client.framing.values import HEADER_BYTES, Decoded, Run
from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.hashing import ROUTING_SEED

if TYPE_CHECKING:
    from pravega_lab.client.framing.values import Array

_SEED = np.uint64(ROUTING_SEED)
_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_ADD_1 = np.uint64(0x52DCE729)
_ADD_2 = np.uint64(0x38495AB5)
_FIVE = np.uint64(5)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_FRACTION = 2.0**-52
PARTS_MAX = 1 << 16  # equal parts of the key space, each with a first guess at the route


@intrinsic
def _copy(context, target, to, source, start, length):  # type: ignore[no-untyped-def]
    """Copy ``source[start:start + length]`` to ``target[to:]`` by one ``memcpy``.

    An assignment of slices does the same, and takes seconds to compile.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        target, to, source, start, length = arguments
        write_at = context.make_array(signature.args[0])(context, builder, target).data
        read_at = context.make_array(signature.args[2])(context, builder, source).data
        cgutils.raw_memcpy(builder, builder.gep(write_at, [to]), builder.gep(read_at, [start]), length, 1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), generate


@njit(cache=True)
def _rotate(word, bits):  # type: ignore[no-untyped-def]
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@njit(cache=True)
def _finish(word):  # type: ignore[no-untyped-def]
    word = (word ^ (word >> np.uint64(33))) * _MIX_1
    word = (word ^ (word >> np.uint64(33))) * _MIX_2
    return word ^ (word >> np.uint64(33))


@njit(cache=True)
def _word(data, at):  # type: ignore[no-untyped-def]
    word = np.uint64(0)
    for i in range(8):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@njit(cache=True)
def _position(units, length):  # type: ignore[no-untyped-def]
    """Return the key's position from its UTF-16LE bytes, which 16 zero bytes must follow in ``units``."""
    h1 = _SEED
    h2 = _SEED
    whole = length & ~15
    for at in range(0, whole, 16):
        h1 ^= _rotate(_word(units, at) * _C1, 31) * _C2
        h1 = (_rotate(h1, 27) + h2) * _FIVE + _ADD_1
        h2 ^= _rotate(_word(units, at + 8) * _C2, 33) * _C1
        h2 = (_rotate(h2, 31) + h1) * _FIVE + _ADD_2
    h2 ^= _rotate(_word(units, whole + 8) * _C2, 33) * _C1
    h1 ^= _rotate(_word(units, whole) * _C1, 31) * _C2
    h1 ^= np.uint64(length)
    h2 ^= np.uint64(length)
    h1 += h2
    h2 += h1
    h1 = _finish(h1) + _finish(h2)
    return np.float64(h1 >> np.uint64(12)) * _FRACTION


@njit(cache=True)
def _put_unit(units, at, unit):  # type: ignore[no-untyped-def]
    units[at] = np.uint8(unit & 0xFF)
    units[at + 1] = np.uint8(unit >> 8)
    return at + 2


@njit(cache=True)
def _tail_bits(data, at, end):  # type: ignore[no-untyped-def]
    """Return the six bits of a continuation byte, or of the last byte if the text is cut short."""
    return np.int64(data[min(at, end - 1)]) & 0x3F


@njit(cache=True)
def _utf16(data, start, end, units):  # type: ignore[no-untyped-def]
    """Convert UTF-8 to UTF-16LE in ``units`` and return how many bytes that took."""
    at = 0
    i = start
    while i < end:
        lead = np.int64(data[i])
        if lead < 0x80:
            at = _put_unit(units, at, lead)
            i += 1
        elif lead < 0xE0:
            at = _put_unit(units, at, (lead & 0x1F) << 6 | _tail_bits(data, i + 1, end))
            i += 2
        elif lead < 0xF0:
            middle = _tail_bits(data, i + 1, end) << 6
            at = _put_unit(units, at, (lead & 0x0F) << 12 | middle | _tail_bits(data, i + 2, end))
            i += 3
        else:
            high = (lead & 0x07) << 18 | _tail_bits(data, i + 1, end) << 12
            code = high | _tail_bits(data, i + 2, end) << 6 | _tail_bits(data, i + 3, end)
            at = _put_unit(units, at, 0xD800 + ((code - 0x10000) >> 10))
            at = _put_unit(units, at, 0xDC00 + ((code - 0x10000) & 0x3FF))
            i += 4
    return at


@njit(cache=True, nogil=True)
def _positions(offsets, data, found):  # type: ignore[no-untyped-def]
    longest = 0
    for i in range(len(found)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    units = np.zeros(2 * longest + 32, np.uint8)
    before = 0
    for i in range(len(found)):
        length = _utf16(data, offsets[i], offsets[i + 1], units)
        for j in range(length, max(length, before) + 16):  # clear what a longer key left
            units[j] = 0
        before = length
        found[i] = _position(units, length)


def positions_of(offsets: Array, data: Array) -> Array:
    """Return the positions of UTF-8 keys ``data[offsets[i]:offsets[i + 1]]``, as ``hashing.key_position``."""
    found = np.empty(len(offsets) - 1, np.float64)
    _positions(offsets, data, found)
    return found


@njit(cache=True, nogil=True)
def _longest(offsets):  # type: ignore[no-untyped-def]
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


def longest(offsets: Array) -> int:
    """Return the length of the longest item."""
    return int(_longest(offsets))


def _firsts(highs: Array) -> Array:
    """Return, for each of many equal parts of the key space, the first route with keys in that part.

    One more entry holds the last route. The number of parts is a power of two, so that rounding moves no
    position into another part.
    """
    parts = min(1 << (4 * len(highs)).bit_length(), PARTS_MAX)
    firsts = np.searchsorted(highs, np.arange(parts + 1) / parts, side="left")
    return np.minimum(firsts, len(highs) - 1)


@njit(cache=True, nogil=True)
def _choose(positions, highs, firsts, routes):  # type: ignore[no-untyped-def]
    parts = len(firsts) - 1
    for i in range(len(positions)):
        part = min(int(positions[i] * parts), parts - 1)
        low, high = firsts[part], firsts[part + 1]
        while low < high:
            middle = (low + high) >> 1
            if highs[middle] < positions[i]:
                low = middle + 1
            else:
                high = middle
        routes[i] = low


@njit(cache=True, nogil=True)
def _plan(sizes_from, header, routes, n_routes, bytes_max, runs):  # type: ignore[no-untyped-def]
    """Cut each route's events into runs: fill rows (route, bytes, events) and return how many there are.

    ``routes`` holds each event's route before the call and its run afterwards.
    """
    open_run = np.full(n_routes, -1, np.int64)
    n_runs = 0
    for i in range(len(routes)):
        size = sizes_from[i + 1] - sizes_from[i] + header
        run = open_run[routes[i]]
        if run < 0 or runs[run, 1] + size > bytes_max:
            run = n_runs
            n_runs += 1
            open_run[routes[i]] = run
            runs[run, 0] = routes[i]
            runs[run, 1] = 0
            runs[run, 2] = 0
        runs[run, 1] += size
        runs[run, 2] += 1
        routes[i] = run
    return n_runs


@njit(cache=True, nogil=True)
def _fill(offsets, data, header, run_of, byte_at, frames):  # type: ignore[no-untyped-def]
    for i in range(len(run_of)):
        run = run_of[i]
        start = offsets[i]
        length = offsets[i + 1] - start
        at = byte_at[run]
        if header:
            frames[at] = frames[at + 1] = frames[at + 2] = frames[at + 3] = 0
            frames[at + 4] = np.uint8(length >> 24)
            frames[at + 5] = np.uint8((length >> 16) & 0xFF)
            frames[at + 6] = np.uint8((length >> 8) & 0xFF)
            frames[at + 7] = np.uint8(length & 0xFF)
            at += 8
        _copy(frames, at, data, start, length)
        byte_at[run] = at + length


class Framing:
    """Frames events ``data[offsets[i]:offsets[i + 1]]`` and sorts them by route.

    `fill` all of them, in order, in one call or in several; then take `runs`.
    """

    def __init__(
        self,
        offsets: Array,
        data: Array,
        positions: Array,
        highs: Array,
        bytes_max: int,
        header: int = HEADER_BYTES,
    ) -> None:
        n_events = len(positions)
        total = int(offsets[-1] - offsets[0]) + header * n_events
        self._offsets, self._data, self._header, self._positions = offsets, data, header, positions
        self._run_of = np.empty(n_events, np.int64)
        _choose(positions, highs, _firsts(highs), self._run_of)
        # Two neighbouring runs of a route hold more than bytes_max together, which bounds their number.
        runs = np.empty((min(n_events, len(highs) + 2 * (total // bytes_max) + 2), 3), np.int64)
        runs = self._runs = runs[: _plan(offsets, header, self._run_of, len(highs), bytes_max, runs)]
        self._byte_ends = np.cumsum(runs[:, 1])
        self._byte_at = self._byte_ends - runs[:, 1]
        self._frames = np.empty(total, np.uint8)

    def fill(self, start: int, end: int) -> None:
        """Frame events ``start`` to ``end`` (exclusive)."""
        _fill(
            self._offsets[start : end + 1],
            self._data,
            self._header,
            self._run_of[start:end],
            self._byte_at,
            self._frames,
        )

    def runs(self) -> list[Run]:
        """Return all events by route; see ``pure_python.runs_of``."""
        whole = memoryview(self._frames)  # type: ignore[arg-type]
        order = np.argsort(self._runs[:, 0], kind="stable")
        rows = np.column_stack((self._runs[order], self._byte_ends[order], order)).tolist()
        return [
            Run(route, whole[end - n_bytes : end], n_events, self, number)
            for route, n_bytes, n_events, end, number in rows
        ]

    def positions_of(self, number: int) -> Sequence[float]:
        """Return the positions of a run's events; see `values.Routed`."""
        return cast(Sequence[float], self._positions[self._run_of == number])


def frame_slice(offsets: Array, data: Array, positions: Array, highs: Array, bytes_max: int) -> Framing:
    """Return a framing of the events; see `values.ArrayFraming`."""
    return Framing(offsets, data, positions, highs, bytes_max)


def split(frames: memoryview, positions: Array, highs: Array, bytes_max: int) -> list[Run]:
    """Route framed events again; see ``pure_python.split``."""
    data = np.frombuffer(frames, np.uint8)
    starts = np.empty(len(positions) + 1, np.int64)
    n_events, end = _walk(data, starts)
    if n_events != len(positions) or end != len(data):
        raise ProtocolError(f"{len(positions)} events were framed, {n_events} are found again")
    framing = Framing(starts, data, np.asarray(positions, np.float64), highs, bytes_max, header=0)
    framing.fill(0, n_events)
    return framing.runs()


@njit(cache=True, nogil=True)
def _walk(data, starts):  # type: ignore[no-untyped-def]
    """Fill ``starts`` with the starts of the whole frames, then the end of the last one.

    Returns how many there are and where they end. A negative end is ``-1 - byte``, where no event begins.
    """
    n, at, end = 0, np.int64(0), len(data)
    room = len(starts) - 1
    while end - at >= 8 and n < room:
        kind = data[at] | data[at + 1] | data[at + 2] | data[at + 3]
        length = (
            np.int64(data[at + 4]) << 24
            | np.int64(data[at + 5]) << 16
            | np.int64(data[at + 6]) << 8
            | np.int64(data[at + 7])
        )
        if kind != 0 or length >= 1 << 31:
            starts[n] = at
            return n, -1 - at
        if at + 8 + length > end:
            break
        starts[n] = at
        n += 1
        at += 8 + length
    starts[n] = at
    return n, at


@njit(cache=True, nogil=True)
def _unframe(data, starts, n, payload, ends, first):  # type: ignore[no-untyped-def]
    at = ends[first]
    for i in range(n):
        start = starts[i] + 8
        length = starts[i + 1] - start
        _copy(payload, at, data, start, length)
        at += length
        ends[first + i + 1] = at


def decode(block: Any, first: bytes | None = None) -> Decoded:
    """Return the whole events at the start of ``block``; see `values.ArrayFraming`."""
    data = np.frombuffer(block, np.uint8)
    n_first, first_bytes = (0, 0) if first is None else (1, len(first))
    starts = np.empty(n_first + len(data) // HEADER_BYTES + 1, np.int64)
    n, end = map(int, _walk(data, starts[n_first:]))
    if end < 0:
        header = bytes(data[-1 - end : 7 - end])
        raise ProtocolError(f"byte {-1 - end}: an event was expected, found {header.hex()}")
    payload = np.empty(first_bytes + end - HEADER_BYTES * n, np.uint8)
    ends = np.zeros(n_first + n + 1, np.int32)
    if first is not None:
        payload[:first_bytes] = np.frombuffer(first, np.uint8)
        ends[1] = first_bytes
    _unframe(data, starts[n_first:], n, payload, ends, n_first)
    return Decoded(payload, ends, starts[: n_first + n].copy(), end)


_BYTES, _BYTES_OUT = types.Array(types.uint8, 1, "C", readonly=True), types.uint8[::1]
_PLACES, _PLACES_OUT = types.Array(types.float64, 1, "C", readonly=True), types.float64[::1]
_NUMBERS, _NUMBERS_OUT = types.Array(types.int64, 1, "C", readonly=True), types.int64[::1]
_ENDS_OUT, _ROWS_OUT = types.int32[::1], types.int64[:, ::1]
_OFFSETS = (types.Array(types.int32, 1, "C", readonly=True), _NUMBERS)
_N = types.int64


def compile_steps() -> Iterator[None]:
    """Compile one function after the other, or load it from the cache on disk; a step takes a second at most.

    Afterwards no call compiles or imports anything: arrays that may be written are accepted as those that may
    not. A forked child repeats the steps, and what its parent had compiled takes no time.
    """
    signatures: dict[Any, list[Any]] = {
        _longest: [(offsets,) for offsets in _OFFSETS],
        _positions: [(offsets, _BYTES, _PLACES_OUT) for offsets in _OFFSETS],
        _choose: [(_PLACES, _PLACES, _NUMBERS, _NUMBERS_OUT)],
        _plan: [(offsets, _N, _NUMBERS_OUT, _N, _N, _ROWS_OUT) for offsets in _OFFSETS],
        _fill: [(offsets, _BYTES, _N, _NUMBERS, _NUMBERS_OUT, _BYTES_OUT) for offsets in _OFFSETS],
        _walk: [(_BYTES, _NUMBERS_OUT)],
        _unframe: [(_BYTES, _NUMBERS, _N, _BYTES_OUT, _ENDS_OUT, _N)],
    }
    for function, wanted in signatures.items():
        for signature in wanted:
            if signature not in function.signatures:
                function.compile(signature)
            yield
    for function in signatures:
        function.disable_compile()
    _longest(np.zeros(1, np.int64))  # the first call of all imports numpy.ma: not in the middle of a write

"""Number the keys of Arrow columns, so that a batch is looked up as a whole.

A Python dict costs a lookup in scattered memory for each key. An index costs a few passes of numpy over the
keys of a batch, however many keys it has.
"""

from __future__ import annotations

from pravega_lab.portable.columns import np, npt, pa

from .growing import Growing

Codes = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]

LENGTH_MAX = 256  # bytes; longer keys are compared one by one
SLOTS_MIN = 1024
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)  # the first n bytes of a word


def can_be_indexed(kind: pa.DataType) -> bool:
    """Return whether a `KeyIndex` takes keys of this Arrow type: texts, bytes, integers and bools.

    Such values are equal exactly where Python values are. (0.0 and -0.0 are not.)
    """
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    return bool(texts or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


class KeyIndex:
    """Numbers keys of one Arrow type from 0, in the order in which they were first seen."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self._chunks = [pa.array([], kind)]  # each but the last more than twice as long as the next
        self._looked_up = 0  # keys since all chunks were merged
        self._hashes = Growing(np.uint64)
        self._slots: Codes = np.full(SLOTS_MIN, -1, dtype=np.int64)  # always a power of two

    def __len__(self) -> int:
        return len(self._hashes.values)

    def find(self, keys: pa.Array) -> Codes | None:
        """Return the number of each key, -1 for a key that has none.

        None: the index cannot tell. The keys have nulls or are long, or two keys have one hash.
        """
        hashes = None if keys.null_count else _hashed(keys)
        if hashes is None:
            return None
        self._looked_up += len(keys)
        if len(self._chunks) > 1 and self._looked_up >= len(self):
            self._merge(len(self._chunks))
        codes = self._probe(hashes)
        known = np.flatnonzero(codes >= 0)
        return codes if self._are(codes[known], keys.take(pa.array(known))) else None

    def add(self, keys: pa.Array) -> Codes:
        """Number new keys, and return their numbers. Each key occurs once, and `find` has found none."""
        codes = np.arange(len(self), len(self) + len(keys))
        hashes = _hashed(keys)
        assert hashes is not None
        self._hashes.add(hashes)
        self._chunks.append(keys)
        while len(self._chunks) > 1 and len(self._chunks[-2]) <= 2 * len(self._chunks[-1]):
            self._merge(2)
        if 2 * len(self) > len(self._slots):
            self._slots = np.full(1 << (4 * len(self)).bit_length(), -1, dtype=np.int64)
            self._place(np.arange(len(self)))
        else:
            self._place(codes)
        return codes

    def keys(self, codes: Codes) -> list[object]:
        """Return the keys with these numbers, as Python values."""
        self._merge(len(self._chunks))
        values: list[object] = self._chunks[0].take(pa.array(codes)).to_pylist()
        return values

    def _merge(self, n_chunks: int) -> None:
        """Merge the last chunks."""
        if n_chunks == len(self._chunks):
            self._looked_up = 0
        if n_chunks > 1:
            self._chunks[-n_chunks:] = [pa.concat_arrays(self._chunks[-n_chunks:])]

    def _are(self, codes: Codes, keys: pa.Array) -> bool:
        """Return whether the keys have these numbers."""
        first = self._chunks[0]
        if not len(codes) or (codes < len(first)).all():
            return bool(first.take(pa.array(codes)).equals(keys))
        end = 0
        for chunk in self._chunks:
            begin, end = end, end + len(chunk)
            which = np.flatnonzero((begin <= codes) & (codes < end))
            if not chunk.take(pa.array(codes[which] - begin)).equals(keys.take(pa.array(which))):
                return False
        return True

    def _probe(self, hashes: _Hashes) -> Codes:
        mask = len(self._slots) - 1
        codes = np.full(len(hashes), -1, dtype=np.int64)
        if not len(self):
            return codes
        known, waiting = self._hashes.values, np.arange(len(hashes))
        at = _home(hashes, mask)
        while len(waiting):
            found = self._slots[at]
            is_it = (found >= 0) & (known[found] == hashes[waiting])
            codes[waiting[is_it]] = found[is_it]
            goes_on = (found >= 0) & ~is_it
            waiting, at = waiting[goes_on], (at[goes_on] + 1) & mask
        return codes

    def _place(self, codes: Codes) -> None:
        mask = len(self._slots) - 1
        at = _home(self._hashes.values[codes], mask)
        while len(codes):
            free = self._slots[at] < 0
            self._slots[at[free]] = codes[free]  # of several with one place, one gets it
            left = self._slots[at] != codes
            codes, at = codes[left], (at[left] + 1) & mask


def _home(hashes: _Hashes, mask: int) -> Codes:
    return (hashes & np.uint64(mask)).astype(np.int64)


def _hashed(keys: pa.Array) -> _Hashes | None:
    """Return a hash of 64 bits for each key without nulls, or None if a key is too long."""
    if pa.types.is_integer(keys.type) or pa.types.is_boolean(keys.type):
        return _mixed(keys.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64))
    wide = pa.types.is_large_string(keys.type)
    _, offsets, data = keys.buffers()
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)[keys.offset : keys.offset + len(keys) + 1]
    if not len(keys):
        return np.zeros(0, dtype=np.uint64)
    begin = bounds[0]
    lengths = np.diff(bounds).astype(np.int64)
    longest = int(lengths.max())
    if longest > LENGTH_MAX:
        return None
    used = np.frombuffer(data, np.uint8)[begin : bounds[-1]] if data is not None else np.zeros(0, np.uint8)
    padded = np.concatenate([used, np.zeros(longest + 8, np.uint8)])
    words = np.ndarray((len(padded) - 7,), np.dtype("<u8"), padded, strides=(1,))  # one begins at each byte
    starts = (bounds[:-1] - begin).astype(np.int64)
    hashes = _mixed(lengths.view(np.uint64))
    for at in range(0, longest, 8):
        word = words[starts + at] & _MASKS[np.clip(lengths - at, 0, 8)]
        hashes = np.where(lengths > at, _mixed(hashes ^ word), hashes)
    return hashes


def _mixed(values: _Hashes) -> _Hashes:
    for _ in range(2):
        values = values * _FACTOR
        values = values ^ (values >> _SHIFT)
    return values

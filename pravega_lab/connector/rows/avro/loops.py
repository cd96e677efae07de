"""Choose between the compiled loops and the plain ones.

numba compiles each loop once and caches it on disk. Loading takes a third of a second, and compiling without
a cache takes some seconds, so a few rows are decoded by the plain loops until the compiled ones are loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pravega_lab.connector.rows.avro import flat_kernels, kernels

FEW_ROWS = 64  # up to this many rows the plain loops are done before numba is loaded


_HELPERS = (
    *(kernels._read_long, kernels._read_little, kernels._write_long),
    *(kernels._refused, kernels._decode_datum),
    *(flat_kernels._read_branches, flat_kernels._read_numbers, flat_kernels._read_texts),
    flat_kernels._read_fixed,
)


@dataclass(frozen=True)
class Loops:
    """The functions of `kernels` and `flat_kernels`. ``view`` makes of an array of bytes what they read
    fastest.
    """

    decode_rows: Callable[..., tuple[int, int]]
    decode_columns: Callable[..., bool]
    encode_rows: Callable[..., None]
    gather: Callable[..., None]
    view: Callable[[Any], Any]


PLAIN = Loops(
    kernels.decode_rows, flat_kernels.decode_columns, kernels.encode_rows, kernels.gather, memoryview
)


def loops_for(rows: int) -> Loops:
    """Return the loops for so many rows: compiled ones, or plain ones for few rows and without numba."""
    if rows <= FEW_ROWS and not _compiled.cache_info().currsize:
        return PLAIN
    return _compiled() or PLAIN


@cache
def _compiled() -> Loops | None:
    """Return the compiled loops, or None if numba is not installed, or not for this numpy."""
    try:
        from numba import njit, types
        from numba.extending import register_jitable
    except ImportError:
        return None
    for helper in _HELPERS:
        register_jitable(helper)
    bytes_, longs = (types.Array(kind, 1, "C", readonly=True) for kind in (types.uint8, types.int64))
    ends, code = types.Array(types.int32, 1, "C", readonly=True), types.int64[:, ::1]
    bytes_out, longs_out = types.uint8[::1], types.int64[::1]
    yes = types.boolean
    decode = (bytes_, ends, ends, code, longs_out, longs, longs_out, longs_out, yes, yes)
    decode_columns = (bytes_, ends, ends, code, types.int64[:, ::1], types.int64[:, ::1], yes)
    encode = (bytes_, longs, longs, code, longs_out, longs_out, bytes_out, longs_out)

    def compiled(signature: tuple[Any, ...], function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:  # no folder for the cache can be written
            return njit(signature, nogil=True)(function)

    return Loops(
        compiled(decode, kernels.decode_rows),
        compiled(decode_columns, flat_kernels.decode_columns),
        compiled(encode, kernels.encode_rows),
        compiled((bytes_, longs, longs, bytes_out), kernels.gather),
        lambda data: data,
    )

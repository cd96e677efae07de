"""Choose between `compiled` and `uncompiled` when arrays are first framed or decoded."""

from __future__ import annotations

from functools import cache

from pravega_lab.client.framing.values import ArrayFraming


@cache
def array_framing() -> ArrayFraming:
    """Return the functions over arrays: compiled where numba can be imported, else plain numpy and Python.

    Both give the same results. Importing numba takes a third of a second, so call this late.
    """
    try:
        import numba  # noqa: F401
    except ImportError:  # not installed, or not for this numpy: either way the other version works
        from pravega_lab.client.framing import uncompiled

        return uncompiled
    from pravega_lab.client.framing import compiled

    return compiled

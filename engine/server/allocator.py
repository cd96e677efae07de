"""Keep freed memory in the process, so that reads do not request it from the kernel again.

The reply of a read consists of buffers of up to 2 MiB that live for a moment. glibc returns each buffer to
the kernel when it is freed, and the kernel zeroes the next one page by page while it is filled. This took
more than half of the time of a large read from a store in memory. The same happens when a stream in memory
is written after another one was deleted. The setting belongs to glibc and is an optimization only: other C
libraries ignore it. `FreedMemory` returns what is kept when the store has nothing to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Callable
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, in glibc's malloc.h
KEPT_BYTES = 256 << 20
LARGEST_KEPT_BYTES = 32 << 20  # the most that glibc accepts


def keep_freed_memory() -> bool:
    """Keep up to ``KEPT_BYTES`` of freed memory in the process. Return False where the C library has no such
    setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library; Windows has no handle of "all"
        return False
    return bool(mallopt(_MMAP_THRESHOLD, LARGEST_KEPT_BYTES) and mallopt(_TRIM_THRESHOLD, KEPT_BYTES))


QUIET_PIECES = 200
"""A store that received fewer pieces of data since the last look has time to return memory."""
YOUNG_OBJECTS, YOUNG_COLLECTIONS = 5_000, 3
"""New objects until the collector looks at them, and how often it does before it looks at all since it last
looked at all. A look therefore takes milliseconds, however large the store is.
"""
COLLECTED_CONNECTIONS = 10_000
"""When so many connections have ended, a quiet store collects their garbage."""
RETURNED_BYTES_MIN = 16 << 20
LOOKS_BETWEEN = 5


def collect_young() -> None:
    """Let the garbage collector look at new objects only, and never again at those that outlive two looks.

    A look at all objects of a large store takes a second, in which no client is served. The store makes
    almost no cycles. `FreedMemory` collects those that live longer, such as transports of TLS.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, 1000)
    if _freeze_survivors not in gc.callbacks:
        gc.callbacks.append(_freeze_survivors)


def _freeze_survivors(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] > 0:
        gc.freeze()  # takes no time: the collector only moves its list of survivors


def _collect_all() -> None:
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class FreedMemory:
    """Returns kept memory to the kernel when the store is quiet and larger than it was once.

    Returning takes some milliseconds, so a busy store keeps its memory. Call ``look`` about once a second.

    Args:
        shrink: Called before memory is returned. It frees what the store can do without.
    """

    def __init__(self, shrink: Callable[[], None] = lambda: None) -> None:
        self._shrink = shrink
        self._pieces = self._ended = self._looks_to_wait = 0
        self._least_bytes = resident_bytes()

    def look(self, pieces_received: int, connections_ended: int) -> bool:
        """Return memory if it is time to, and whether it was. Both arguments count from the start."""
        is_quiet = pieces_received - self._pieces < QUIET_PIECES
        self._pieces = pieces_received
        if is_quiet and connections_ended - self._ended >= COLLECTED_CONNECTIONS:
            self._ended = connections_ended
            _collect_all()
        self._looks_to_wait -= 1
        now_bytes = resident_bytes()
        self._least_bytes = min(self._least_bytes, now_bytes)
        if not is_quiet or now_bytes - self._least_bytes < RETURNED_BYTES_MIN or self._looks_to_wait > 0:
            return False
        self._shrink()
        with contextlib.suppress(AttributeError, OSError, TypeError):
            ctypes.CDLL(None).malloc_trim(0)
        self._looks_to_wait = LOOKS_BETWEEN  # what is left may be in use, and is looked at again later
        return True


def resident_bytes() -> int:
    """Return the resident memory of this process, 0 where the system has no /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0

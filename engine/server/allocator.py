"""Keeps freed memory in the process, so that reads need not get it anew from the kernel.

A reply of a read is some buffers of up to 2 MiB that live for a moment. glibc gives each back to the kernel
when it is freed, and the next one is zeroed page by page while it is filled: more than half of the time of a
large read from a store in memory. The same holds for a stream in memory that is written after one was
deleted. A setting of the C library, no need: elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, in glibc's malloc.h
KEPT_BYTES = 256 << 20
LARGEST_KEPT_BYTES = 32 << 20  # glibc takes no more


def keep_freed_memory() -> bool:
    """Keep up to ``KEPT_BYTES`` of freed memory; False where the C library has no such setting."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library; Windows has no handle of "all"
        return False
    return bool(mallopt(_MMAP_THRESHOLD, LARGEST_KEPT_BYTES) and mallopt(_TRIM_THRESHOLD, KEPT_BYTES))

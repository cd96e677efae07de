"""Keep freed memory in the process, so that reads do not request it from the kernel again.

The reply of a read consists of buffers of up to 2 MiB that live for a moment. glibc returns each buffer to
the kernel when it is freed, and the kernel zeroes the next one page by page while it is filled. This took
more than half of the time of a large read from a store in memory. The same happens when a stream in memory
is written after another one was deleted. The setting belongs to glibc and is an optimization only: other C
libraries ignore it.
"""

from __future__ import annotations

import ctypes

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

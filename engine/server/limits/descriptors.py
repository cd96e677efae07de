"""File descriptors: as many as the system gives, and what happens when there are none left."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Any

from ...store.log_fields import log_fields
from .limits import Limits

log = logging.getLogger(__name__)

NONE_LEFT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def take_descriptors(limits: Limits) -> Limits:
    """Raise this process's limit of file descriptors as far as allowed, and return limits that fit it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, 1 << 20)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    fitting = limits.within(hard)
    if fitting != limits:
        log.warning(
            "the system allows %d file descriptors: the store serves %d connections instead of %d",
            *(hard, fitting.connections, limits.connections),
            extra=log_fields("few_descriptors", descriptors=hard, connections=fitting.connections),
        )
    return fitting


def report_in_words(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log a connection that cannot be accepted in one line (the loop's exception handler).

    The loop itself stops accepting for a second then. It would log a traceback for every connection that
    waits. Anything else is logged as the loop does.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in NONE_LEFT and "socket" in context:
        fields = log_fields("no_descriptors")
        log.warning("no connection is accepted for a second: %s", error.strerror, extra=fields)
    else:
        loop.default_exception_handler(context)

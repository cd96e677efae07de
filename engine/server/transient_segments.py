"""Transient segments whose writer has gone: they are deleted, as upstream's `MetadataCleaner` does.

A writer assembles an event of more than 8 MiB in a transient segment and merges it into the stream. If it is
killed before that, nobody will ever use the segment again.
"""

from __future__ import annotations

import logging

from pravega_lab.protocol.names import is_transient

from ..store.errors import StorageError
from ..store.log.operations import Delete
from ..store.log_fields import log_fields
from ..store.storage.storage import Storage

log = logging.getLogger(__name__)

PERIOD_MS = 300_000
IDLE_MS = 600_000
"""How long nothing was appended to a segment that is deleted. Upstream waits for a minute or two."""


class TransientSegments:
    """Deletes those of one store. Call `look` now and then."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._next_ms = 0

    def look(self, now_ms: int) -> None:
        """Delete the segments to which nothing was appended for `IDLE_MS`, at most once in `PERIOD_MS`."""
        if now_ms < self._next_ms:
            return
        self._next_ms = now_ms + PERIOD_MS
        for name in self._storage.segments():
            if is_transient(name) and self._storage.info(name).last_modified_ms + IDLE_MS <= now_ms:
                self._delete(name, now_ms)

    def _delete(self, name: str, now_ms: int) -> None:
        try:
            self._storage.submit([Delete(name)], now_ms=now_ms)
        except StorageError:  # a client was faster, or the next look finds room in the log
            return
        log.info("a transient segment was deleted", extra=log_fields("transient_deleted", segment=name))

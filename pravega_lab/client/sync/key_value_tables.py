"""Provide `KeyValueTable`: entries under primary and secondary keys, in the order of keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from pravega_lab.client.loop_thread import keep_to_this_process
from pravega_lab.client.sync.core import run
from pravega_lab.client.values import NO_VERSION

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client.sync.core import ClientHandle
    from pravega_lab.client.tables.entries import AsyncEntries
    from pravega_lab.client.tables.key_value_table import AsyncKeyValueTable
    from pravega_lab.client.tables.values import (
        Condition,
        KeyValueEntry,
        KeyValueTableConfiguration,
        KeyVersion,
        Put,
        Remove,
    )


class KeyValueTable:
    """A handle of a key-value table. `Client.create_key_value_table` makes the table.

    An entry has a primary key and, if the table has them, a secondary key. All keys of a kind have the same
    length. The entries of one primary key are in one partition: they are changed together and read in order.
    Values have less than 1 MiB. Calls raise `NotFoundError` if there is no such table, and `BadInputError`
    for a key of another length. A `Table` takes keys of any length, but has no order.

    Source: pravega.md A13.
    """

    def __init__(self, client: ClientHandle, scoped_name: str) -> None:
        self.client = client
        self.scoped_name = scoped_name

    @property
    def _core(self) -> AsyncKeyValueTable:
        return self.client._core.key_value_table(self.scoped_name)

    def configuration(self) -> KeyValueTableConfiguration:
        """Return the configuration, which never changes."""
        return run(self._core.configuration())

    def get(self, primary: bytes, secondary: bytes = b"") -> KeyValueEntry | None:
        """Return an entry, None if there is none."""
        return run(self._core.get(primary, secondary))

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[KeyValueEntry | None]:
        """Return several entries by primary and secondary key, None for those that are not there.

        Entries of different primary keys are read one after the other: together they are no snapshot.
        """
        return run(self._core.get_many(keys))

    def put(
        self, primary: bytes, value: bytes, secondary: bytes = b"", version: Condition = NO_VERSION
    ) -> KeyVersion:
        """Set a value and return its version.

        Args:
            version: ``NO_VERSION``: whatever is there. ``NOT_EXISTS``: only if the key is absent. A
                `KeyVersion`: only if it is the version of the entry.

        Raises:
            ConditionFailedError: The entry has another version. Nothing was changed.
            ConditionUnknownError: The same, but the connection was lost in between. The put may have
                happened; ``found`` of the error is a list with the entry that is there, or None.
        """
        return run(self._core.put(primary, value, secondary, version))

    def remove(self, primary: bytes, secondary: bytes = b"", version: Condition = NO_VERSION) -> None:
        """Remove an entry, on the condition ``version`` as in `put`, with the same errors. Without a
        condition an absent entry is fine.
        """
        run(self._core.remove(primary, secondary, version))

    def update(self, primary: bytes, changes: Sequence[Put] | Sequence[Remove]) -> list[KeyVersion]:
        """Apply all changes to entries of one primary key, or none of them.

        All conditions are checked against the state before the update. Of several puts to one key the last
        one wins.

        Args:
            primary: The primary key of all entries.
            changes: Up to 256, all `Put` or all `Remove`.

        Returns:
            The version of each put, in order. Nothing for removals.

        Raises:
            ConditionFailedError, ConditionUnknownError: As in `put`. The message names an entry.
            BadInputError: Puts together with removals, too many changes, or an impossible key or value.
        """
        return run(self._core.update(primary, changes))

    def entries(
        self,
        primary: bytes | None = None,
        *,
        start: bytes = b"",
        end: bytes = b"",
        prefix: bytes = b"",
    ) -> Entries:
        """Iterate over entries in the order of keys.

        Args:
            primary: Only entries of this primary key. The bounds are then secondary keys. None: entries of
                all primary keys, and the bounds are primary keys.
            start, end: The first and the last key, both included. Empty: no bound.
            prefix: Only keys that begin so. It excludes ``start`` and ``end``.

        An entry that is put or removed during the iteration may be included or not. Every other one is there
        once. Errors are raised while iterating, as by the other calls.
        """
        return Entries(self._core.entries(primary, start=start, end=end, prefix=prefix))

    def frame(
        self,
        primary: bytes | None = None,
        *,
        start: bytes = b"",
        end: bytes = b"",
        prefix: bytes = b"",
    ) -> pd.DataFrame:
        """Return the entries that `entries` would return as a data frame.

        Its columns are ``primary_key``, ``secondary_key`` and ``value`` (bytes), ``segment_id`` and
        ``version``. Raises `MissingExtraError` without pandas.
        """
        return run(self._core.frame(primary, start=start, end=end, prefix=prefix))

    def delete(self) -> bool:
        """Delete the table with its entries and return True, or False if there was none."""
        return run(self._core.delete())

    def __repr__(self) -> str:
        return f"KeyValueTable({self.scoped_name!r} at {self.client.uri})"


class Entries:
    """Iterates over entries in the order of their keys. It holds no connection, so it may be abandoned."""

    def __init__(self, core: AsyncEntries) -> None:
        self._core = core
        keep_to_this_process(self)
        self._page: deque[KeyValueEntry] = deque()

    def next_page(self) -> list[KeyValueEntry]:
        """Return the next entries, none at the end."""
        if self._page:
            page, self._page = list(self._page), deque()
            return page
        return run(self._core.next_page(), self._core.put_back)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> KeyValueEntry:
        if not self._page:
            self._page = deque(run(self._core.next_page(), self._core.put_back))
        if not self._page:
            raise StopIteration
        return self._page.popleft()

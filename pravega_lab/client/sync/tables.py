"""Provide `Table`: a table segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pravega_lab.client.sync.core import run
from pravega_lab.client.values import NO_VERSION, TableValue

if TYPE_CHECKING:
    from pravega_lab.client.sync.core import ClientHandle
    from pravega_lab.client.tables.table import AsyncTable


class Table:
    """A handle of a table segment: keys and values with versions (pravega.md A13).

    Keys have at most 8 KiB, values less than 1 MiB. Calls raise `NotFoundError` before `create`. The table is
    created at the segment store directly, as ``scope/<name>_kvtable/0.#epoch.0``, as the official Python
    client does for its reader groups (reader-groups.md C4).
    """

    def __init__(self, client: ClientHandle, scoped_name: str) -> None:
        self.client = client
        self.scoped_name = scoped_name

    @property
    def _core(self) -> AsyncTable:
        return self.client._core.table(self.scoped_name)

    def create(self) -> bool:
        """Create the table and return True, or False if it existed."""
        return run(self._core.create())

    def get(self, key: bytes) -> TableValue | None:
        """Return the value and version of a key, None if it has none."""
        return run(self._core.get(key))

    def get_many(self, keys: Sequence[bytes]) -> list[TableValue | None]:
        """Return the values of several keys; see `get`.

        Up to 15 keys are read at once. More of them are read one part after the other: together they are no
        snapshot.
        """
        return run(self._core.get_many(keys))

    def put(self, key: bytes, value: bytes, version: int = NO_VERSION) -> int:
        """Set a value and return its version.

        Args:
            version: ``NO_VERSION``: whatever is there. ``NOT_EXISTS``: only if the key is absent. Else:
                only if this is its version.

        Raises:
            ConditionFailedError: The key has another version. Nothing was changed.
            ConditionUnknownError: The same, but the connection was lost in between. The put may have
                happened; ``found`` of the error is what is there.
        """
        return run(self._core.put(key, value, version))

    def remove(self, key: bytes, version: int = NO_VERSION) -> None:
        """Remove a key, on the condition ``version`` as in `put`, with the same errors. Without a condition
        an absent key is fine.
        """
        run(self._core.remove(key, version))

    def items(self) -> dict[bytes, TableValue]:
        """Return all keys with their values, in the order of the store."""
        return run(self._core.items())

    def delete(self) -> bool:
        """Delete the table with its contents and return True, or False if there was none."""
        return run(self._core.delete())

    def __repr__(self) -> str:
        return f"Table({self.scoped_name!r} at {self.client.uri})"

"""Where descriptions of tables come from: `Descriptions`, and the one that keeps them in the store.

A schema registry is another such place: it describes a stream by the schemas of its group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pravega_lab.client.values import NO_VERSION, NOT_EXISTS
from pravega_lab.connector.tables.description import Description
from pravega_lab.errors import BadInputError, NotFoundError

if TYPE_CHECKING:
    from pravega_lab.client import Client, Stream

#: The table segment in each scope that has the descriptions, by the name of the stream.
TABLE = "table-descriptions"


class Descriptions(Protocol):
    """Knows which columns and which format the events of a stream have."""

    def get(self, scope: str, stream: str) -> Description | None:
        """Return the description of a stream, or None if it has none."""

    def version(self, scope: str, stream: str) -> int:
        """Return the version of what the store has about a stream. Every change gives it another one."""

    def put(self, scope: str, stream: str, description: Description, version: int = NO_VERSION) -> None:
        """Set the description of a stream that exists; with a ``version``, on condition that it is the one.

        Raises:
            BadInputError: With these columns, the events of the description before would be misread.
            ConditionFailedError: What the store has about the stream was changed since that version.
        """

    def announce(self, scope: str, stream: str, description: Description, version: int) -> None:
        """Set the description of a stream that is created next, on condition of the ``version``.

        Raises:
            ConditionFailedError: What the store has about the stream was changed since that version.
        """

    def remove(self, scope: str, stream: str) -> None:
        """Forget the description of a stream, if it has one."""

    def drop(self, scope: str, stream: str) -> None:
        """Forget what describes a stream that is to be deleted."""

    def groups(self, scope: str) -> list[str]:
        """Return the names of the groups that a registry has for a scope."""

    def remove_scope(self, scope: str) -> None:
        """Forget the descriptions of all streams of a scope, and delete its groups."""


class StoredDescriptions:
    """Descriptions in a table segment of the scope; they are as durable as the stream."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, scope: str, stream: str) -> Description | None:
        """Return the description of a stream, or None if it has none.

        Raises:
            BadInputError: The stream was deleted and created again after it was described.
        """
        description = self._stored(scope, stream)
        if description is None:
            return None
        if not description.first_segments:  # announced, and its creator was killed before `put`
            return replace(description, first_segments=self._first_segments(scope, stream))
        self.check_stream(scope, stream, description)
        return description

    def _stored(self, scope: str, stream: str) -> Description | None:
        try:
            found = self._client.table(f"{scope}/{TABLE}").get(stream.encode())
        except NotFoundError:
            return None
        return None if found is None else Description.from_bytes(found.value)

    def check_stream(self, scope: str, stream: str, description: Description) -> None:
        """Check that a stream is still the one that was described.

        Raises:
            BadInputError: The stream was deleted and created again.
        """
        if description.first_segments != self._first_segments(scope, stream):
            raise BadInputError(
                f"stream {scope}/{stream} was deleted and created again after it was described as a table of "
                f"format '{description.format}'. Drop the table and create it again"
            )

    def version(self, scope: str, stream: str) -> int:
        """Return the version of the description of a stream."""
        try:
            found = self._client.table(f"{scope}/{TABLE}").get(stream.encode())
        except NotFoundError:
            return NOT_EXISTS
        return NOT_EXISTS if found is None else found.version

    def put(self, scope: str, stream: str, description: Description, version: int = NO_VERSION) -> None:
        """Set the description of a stream that exists.

        Raises:
            BadInputError: The events of the description before would be read as other values.
            ConditionFailedError: The store has another version.
        """
        whole = replace(description, first_segments=self._first_segments(scope, stream))
        old = self._stored(scope, stream)
        if old is not None and old.first_segments == whole.first_segments and whole.misreads(old):
            raise BadInputError(
                f"table {scope}/{stream} has other columns and no property 'avro_schema'. Its events are "
                "Avro with the schema of the columns, and other columns would read wrong values. Create "
                "another table and copy the rows. Format 'pravega-registry' takes other columns"
            )
        self._put(scope, stream, whole, version)

    def announce(self, scope: str, stream: str, description: Description, version: int) -> None:
        """Set the description of a stream that is created next. Raises `ConditionFailedError`."""
        self._put(scope, stream, replace(description, first_segments=()), version)

    def remove(self, scope: str, stream: str) -> None:
        """Forget the description of a stream, if it has one."""
        try:
            self._client.table(f"{scope}/{TABLE}").remove(stream.encode())
        except NotFoundError:
            return

    def drop(self, scope: str, stream: str) -> None:
        """Forget the description of a stream that is to be deleted."""
        self.remove(scope, stream)

    def groups(self, scope: str) -> list[str]:
        """Return no groups: the store has none."""
        return []

    def remove_scope(self, scope: str) -> None:
        """Forget the descriptions of all streams of a scope."""
        self._client.table(f"{scope}/{TABLE}").delete()

    def _put(self, scope: str, stream: str, description: Description, version: int) -> None:
        table = self._client.table(f"{scope}/{TABLE}")
        table.create()
        table.put(stream.encode(), description.to_bytes(), version)

    def _first_segments(self, scope: str, stream: str) -> tuple[int, ...]:
        return first_segments(self._client.stream(f"{scope}/{stream}"))


def first_segments(stream: Stream) -> tuple[int, ...]:
    """Return the ids of the segments of epoch 0. A later stream of the same name has others."""
    return tuple(segment.segment_id for segment in stream.epoch_segments(0))

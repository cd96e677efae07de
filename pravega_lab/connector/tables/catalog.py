"""The catalog: scopes as databases, streams as tables. Spark's catalog and ``lab.catalog`` call it.

Names that begin with ``_`` are hidden. Only an empty database is dropped without ``cascade``.

Source: flink.md 12.4.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pravega_lab.connector.tables.description import Description
from pravega_lab.connector.tables.descriptions import Descriptions
from pravega_lab.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    Definite,
    NotEmptyError,
    PravegaError,
    ScopeNotFoundError,
    StreamNotFoundError,
)

if TYPE_CHECKING:
    from pravega_lab.client import Client

#: The table segment in each scope in which Spark's sinks keep one record each.
REGISTER_TABLE = "spark-sinks"


class Catalog:
    """The scopes and streams of one store, with the descriptions of its tables."""

    def __init__(self, client: Client, descriptions: Descriptions) -> None:
        self.client = client
        self.descriptions = descriptions

    def databases(self) -> list[str]:
        """Return the names of the scopes, without internal ones, sorted."""
        return [scope for scope in self.client.list_scopes() if not scope.startswith("_")]

    def check_database(self, scope: str) -> None:
        """Raise `ScopeNotFoundError` if there is no such scope."""
        if scope not in self.databases():
            raise ScopeNotFoundError(f"there is no scope {scope}. Create it with CREATE DATABASE")

    def create_database(self, scope: str) -> None:
        """Create a scope. Raises `AlreadyExistsError`, and `BadInputError` for a name that cannot be."""
        if not self.client.create_scope(scope):
            raise AlreadyExistsError(f"scope {scope} exists already")

    def drop_database(self, scope: str, *, cascade: bool = False) -> None:
        """Delete a scope with the records of Spark's sinks; with ``cascade``, its streams too.

        Raises:
            ScopeNotFoundError: There is no such scope.
            NotEmptyError: It has streams or other contents, such as groups of the registry, and ``cascade``
                is False. Nothing was deleted.
        """
        self.check_database(scope)
        if cascade:  # the scope goes last, so that the call can be repeated if the registry does not answer
            self._forget(scope)
            self.client.delete_scope(scope, recursive=True)
        else:  # the scope goes first, because the store may refuse it
            self._check_empty(scope)
            self.client.delete_scope(scope)
            self._forget(scope)

    def _check_empty(self, scope: str) -> None:
        if self.client.list_streams(scope):
            raise NotEmptyError(f"scope {scope} has streams. Drop them first, or drop the scope with CASCADE")
        if groups := self.descriptions.groups(scope):
            raise NotEmptyError(
                f"scope {scope} has groups in the schema registry: {', '.join(groups)}. Delete them "
                f"first, or drop the scope with CASCADE"
            )

    def _forget(self, scope: str) -> None:
        self.descriptions.remove_scope(scope)
        self.client.table(f"{scope}/{REGISTER_TABLE}").delete()

    def tables(self, scope: str) -> list[str]:
        """Return the names of the streams of a scope, sorted. Raises `ScopeNotFoundError`."""
        return [stream for stream in self.client.list_streams(scope) if not stream.startswith("_")]

    def describe(self, scope: str, stream: str) -> Description | None:
        """Return the description of a table, or None for a stream that is not described.

        Raises:
            StreamNotFoundError: There is no such stream.
            BadInputError: The stream was deleted and created again after it was described.
        """
        if not self.client.stream(f"{scope}/{stream}").exists():
            raise StreamNotFoundError(f"there is no stream {scope}/{stream}")
        return self.descriptions.get(scope, stream)

    def create_table(
        self, scope: str, stream: str, description: Description | None, create_stream: Callable[[], object]
    ) -> None:
        """Create a stream and describe it. If the process is killed in between, the stream is described.

        Args:
            create_stream: Creates the stream and raises `AlreadyExistsError` if it exists.

        Raises:
            ScopeNotFoundError: There is no such scope.
            AlreadyExistsError: There is such a stream.
        """
        self.check_database(scope)
        if description is None:
            create_stream()
            self.descriptions.remove(scope, stream)  # that of an earlier stream of this name
            return
        self._announce(scope, stream, description)
        try:
            create_stream()
        except PravegaError as error:
            if error.definite is Definite.NO:  # otherwise there may be a stream to describe
                self.descriptions.remove(scope, stream)
            raise
        self.descriptions.put(scope, stream, description)

    def _announce(self, scope: str, stream: str, description: Description) -> None:
        while True:
            version = self.descriptions.version(scope, stream)
            if self.client.stream(f"{scope}/{stream}").exists():
                raise AlreadyExistsError(f"there is a stream {scope}/{stream} already")
            with suppress(ConditionFailedError):  # another process creates the same table
                self.descriptions.announce(scope, stream, description, version)
                return

    def drop_table(self, scope: str, stream: str) -> None:
        """Seal and delete a stream, and forget its description. Raises `StreamNotFoundError`.

        The description goes first. If its place does not answer, the stream is still there, and the call can
        be repeated.
        """
        found = self.client.stream(f"{scope}/{stream}")
        if not found.exists():
            raise StreamNotFoundError(f"there is no stream {scope}/{stream}")
        self.descriptions.drop(scope, stream)
        found.seal()
        found.delete()

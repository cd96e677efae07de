"""`CatalogTree`: the scopes of a store, their streams and groups of schemas, as a tree and in pandas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from pravega_lab.connector.rows.registry.schemas import columns_of
from pravega_lab.connector.rows.typed_rows import ReservedFieldError
from pravega_lab.connector.tables.catalog import Catalog
from pravega_lab.connector.tables.columns import Column, columns_of_arrow
from pravega_lab.connector.tables.descriptions import StoredDescriptions
from pravega_lab.connector.tables.registered import RegisteredDescriptions
from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client import Client
    from pravega_lab.client.registry import SchemaRegistry
    from pravega_lab.protocol.registry.values import SchemaWithVersion

FRAME_COLUMNS = ("scope", "stream", "format", "column", "type")
GROUP_COLUMNS = ("scope", "group", "format", "compatibility")
SCHEMA_COLUMNS = (*GROUP_COLUMNS, "type", "version", "id", "column", "column_type")
#: A narrow output scrolls; without bullets, each level takes less of its width.
WHOLE_STYLE = "overflow-x: auto; white-space: nowrap"
LIST_STYLE = "list-style: none; margin: 0; padding-left: 1.2em"
#: The format of a stream whose description is of an earlier stream of the same name.
STALE = "of a deleted stream"
#: The format of a stream whose schema in the registry has a field with the name of a metadata column.
RESERVED = "with a field that has the name of metadata"


@dataclass(frozen=True)
class Entry:
    """A stream of the catalog: its format, and its columns; none if it has no description."""

    scope: str
    stream: str
    format: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Version:
    """A schema of a group: the type that it describes, its numbers in the group, and its columns."""

    type: str
    format: str
    version: int
    id: int
    columns: tuple[Column, ...]

    @property
    def words(self) -> str:
        """Return the version in words."""
        return f"version {self.version} of {self.type}"


@dataclass(frozen=True)
class Group:
    """Holds a group of the registry: the format of its schemas, its policy, and its schemas, oldest first."""

    scope: str
    name: str
    format: str
    compatibility: str
    versions: tuple[Version, ...]


class CatalogTree:
    """What is in a store and in its schema registry now. Both are asked again each time the tree is shown.

    JupyterLab shows it as a tree, and ``print`` as text. `to_pandas` returns a row for each column of a
    stream, and `schemas_to_pandas` a row for each column of a schema.

    Args:
        client: The client of the store.
        registry: The client of the registry, None without one.
    """

    def __init__(self, client: Client, registry: SchemaRegistry | None = None) -> None:
        stored = StoredDescriptions(client)
        self._registry = registry
        self._catalog = Catalog(client, RegisteredDescriptions(stored, registry) if registry else stored)

    def entries(self, scope: str) -> Iterator[Entry]:
        """Yield the streams of a scope, sorted by name. Raises `ScopeNotFoundError`."""
        for stream in self._catalog.tables(scope):
            try:
                found = self._catalog.describe(scope, stream)
            except ReservedFieldError:
                yield Entry(scope, stream, RESERVED, ())
            except BadInputError:
                yield Entry(scope, stream, STALE, ())
            else:
                yield Entry(scope, stream, found.format if found else "raw", found.columns if found else ())

    def groups(self, scope: str) -> dict[str, Group]:
        """Return the groups in the namespace of a scope by their names, sorted; none without a registry.

        Raises:
            RegistryUnavailableError: The registry does not answer.
        """
        if self._registry is None:
            return {}
        registry, found = self._registry.in_namespace(scope), {}
        for name, properties in sorted(registry.list_groups().items()):
            versions = tuple(_version(one) for one in registry.versions(name))
            policy = str(properties.compatibility.policy)
            found[name] = Group(scope, name, properties.format.name, policy, versions)
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Return scope, stream, format, column and type: a row for each column of a stream.

        A stream without a description has one row, with None as column and type.
        """
        import pandas as pd

        rows: list[tuple[str | None, ...]] = []
        for scope in self._catalog.databases():
            for entry in self.entries(scope):
                about = (scope, entry.stream, entry.format)
                rows += [(*about, column.name, column.type) for column in entry.columns or (_NO_COLUMN,)]
        return pd.DataFrame(rows, columns=list(FRAME_COLUMNS))

    def schemas_to_pandas(self) -> pd.DataFrame:
        """Return the schemas of the registry: a row for each column of each version of each group.

        The columns are scope (the namespace), group, format, compatibility, type, version, id, column and
        column_type. A schema whose columns cannot be shown has one row, with None as column and column_type.
        """
        import pandas as pd

        rows: list[tuple[object, ...]] = []
        for scope in self._catalog.databases():
            for group in self.groups(scope).values():
                for one in group.versions:
                    where = (scope, group.name, one.format, group.compatibility)
                    about = (*where, one.type, one.version, one.id)
                    rows += [(*about, column.name, column.type) for column in one.columns or (_NO_COLUMN,)]
        return pd.DataFrame(rows, columns=list(SCHEMA_COLUMNS))

    def __repr__(self) -> str:
        return "\n".join(line for root in self._roots() for line in root.lines()) or "no scopes"

    def _repr_html_(self) -> str:
        trees = "".join(root.html(is_open=True) for root in self._roots()) or "<em>no scopes</em>"
        return f'<div style="{WHOLE_STYLE}">{trees}</div>'

    def _roots(self) -> Iterator[_Node]:
        for scope in self._catalog.databases():
            groups = self.groups(scope)
            below = []
            for entry in self.entries(scope):
                group = groups.pop(entry.stream, None)
                inner = (*_leaves(entry.columns), *(() if group is None else (_branch(group, "group"),)))
                below.append(_Node(entry.stream, entry.format, inner))
            below += [_branch(group, f"group {group.name}") for group in groups.values()]
            yield _Node(scope, "", tuple(below))


@dataclass(frozen=True)
class _Node:
    """A line of the tree: a name, what is said about it, and the lines below it."""

    name: str
    about: str = ""
    below: tuple[_Node, ...] = ()
    is_column: bool = False

    def lines(self, depth: int = 0) -> Iterator[str]:
        about = f" {self.about}" if self.is_column else f" ({self.about})" if self.about else ""
        yield f"{'  ' * depth}{self.name}{about}"
        for node in self.below:
            yield from node.lines(depth + 1)

    def html(self, *, is_open: bool = False) -> str:
        name, about = escape(self.name), escape(self.about)
        if self.is_column:
            return f"<code>{name}</code> {about}"
        title = f"{name} <small>{about}</small>" if about else name
        if not self.below:
            return title
        below = "".join(f"<li>{node.html()}</li>" for node in self.below)
        return f"<details{' open' * is_open}><summary>{title}</summary>{_listed(below)}</details>"


def _listed(items: str) -> str:
    return f'<ul style="{LIST_STYLE}">{items}</ul>'


_NO_COLUMN = Column(None, None)  # type: ignore[arg-type]  # a row of a frame


def _version(found: SchemaWithVersion) -> Version:
    try:
        columns = columns_of_arrow(columns_of(found.schema))
    except BadInputError:  # such as a union of several types
        columns = ()
    at = found.version
    return Version(at.type, at.format_name, at.version, at.id, columns)


def _leaves(columns: tuple[Column, ...]) -> tuple[_Node, ...]:
    return tuple(_Node(column.name, column.type, is_column=True) for column in columns)


def _branch(group: Group, title: str) -> _Node:
    versions = tuple(_Node(one.words, one.format, _leaves(one.columns)) for one in group.versions)
    return _Node(title, f"{group.format}, {group.compatibility}", versions)

"""`CatalogTree`: the scopes of a store, their streams and the columns of these, as a tree and in pandas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from pravega_lab.connector.tables.catalog import Catalog
from pravega_lab.connector.tables.columns import Column
from pravega_lab.connector.tables.descriptions import StoredDescriptions
from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client import Client

FRAME_COLUMNS = ("scope", "stream", "format", "column", "type")
#: The format of a stream whose description is of an earlier stream of the same name.
STALE = "of a deleted stream"


@dataclass(frozen=True)
class Entry:
    """A stream of the catalog: its format, and its columns; none if nobody described it."""

    scope: str
    stream: str
    format: str
    columns: tuple[Column, ...]


class CatalogTree:
    """What is in a store now. It is asked again each time the tree is shown.

    JupyterLab shows it as a tree, and ``print`` as text. `to_pandas` returns a row for each column.
    """

    def __init__(self, client: Client) -> None:
        self._catalog = Catalog(client, StoredDescriptions(client))

    def entries(self, scope: str) -> Iterator[Entry]:
        """Yield the streams of a scope, sorted by name. Raises `ScopeNotFoundError`."""
        for stream in self._catalog.tables(scope):
            try:
                found = self._catalog.describe(scope, stream)
            except BadInputError:
                yield Entry(scope, stream, STALE, ())
            else:
                yield Entry(scope, stream, found.format if found else "raw", found.columns if found else ())

    def to_pandas(self) -> pd.DataFrame:
        """Return scope, stream, format, column and type: a row for each column.

        A stream without a description has one row, with None as column and type.
        """
        import pandas as pd

        rows: list[tuple[str | None, ...]] = []
        for scope in self._catalog.databases():
            for entry in self.entries(scope):
                about = (scope, entry.stream, entry.format)
                rows += [(*about, column.name, column.type) for column in entry.columns]
                if not entry.columns:
                    rows.append((*about, None, None))
        return pd.DataFrame(rows, columns=list(FRAME_COLUMNS))

    def __repr__(self) -> str:
        lines = []
        for scope in self._catalog.databases():
            lines.append(scope)
            for entry in self.entries(scope):
                lines.append(f"  {entry.stream} ({entry.format})")
                lines += [f"    {column.name} {column.type}" for column in entry.columns]
        return "\n".join(lines) or "no scopes"

    def _repr_html_(self) -> str:
        scopes = []
        for scope in self._catalog.databases():
            streams = "".join(_branch(entry) for entry in self.entries(scope))
            scopes.append(f"<details open><summary>{escape(scope)}</summary><ul>{streams}</ul></details>")
        return "".join(scopes) or "<em>no scopes</em>"


def _branch(entry: Entry) -> str:
    title = f"{escape(entry.stream)} <small>{escape(entry.format)}</small>"
    if not entry.columns:
        return f"<li>{title}</li>"
    leaves = "".join(
        f"<li><code>{escape(column.name)}</code> {escape(column.type)}</li>" for column in entry.columns
    )
    return f"<li><details><summary>{title}</summary><ul>{leaves}</ul></details></li>"

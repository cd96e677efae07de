"""The tree of a catalog: as text, as HTML and in pandas."""

from __future__ import annotations

from collections.abc import Callable

from pravega_lab.client import connect
from pravega_lab.connector.tables.table import Table
from pravega_lab.connector.tables.tree import STALE, CatalogTree


def test_the_tree_has_scopes_streams_and_columns(store: str, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    with connect(store) as client:
        client.create_stream(f"{scope}/plain")
        Table.create(f"{scope}/typed").schema("`<b>` bigint, s struct<a:int>").json().on(client).save()
        tree = CatalogTree(client)
        assert f"{scope}\n  plain (raw)\n  typed (json)\n    <b> bigint\n    s struct<a:int>" in repr(tree)
        html = tree._repr_html_()
        assert "<b>" not in html
        assert "<code>&lt;b&gt;</code> bigint" in html
        frame = tree.to_pandas()
        rows = frame[frame.scope == scope].drop(columns="scope").values.tolist()
        assert rows == [
            ["plain", "raw", None, None],
            ["typed", "json", "<b>", "bigint"],
            ["typed", "json", "s", "struct<a:int>"],
        ]
        stream = client.stream(f"{scope}/typed")
        stream.seal()
        stream.delete()
        client.create_stream(f"{scope}/typed")
        assert [entry.format for entry in tree.entries(scope)] == ["raw", STALE]

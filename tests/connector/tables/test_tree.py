"""The tree of a catalog: as text, as HTML and in pandas."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pravega_lab import Lab
from pravega_lab.client import connect
from pravega_lab.client.registry import SchemaRegistry, Serializer, avro_schema, json_schema
from pravega_lab.connector.tables.table import Table
from pravega_lab.connector.tables.tree import STALE, CatalogTree
from pravega_lab.errors import AccessDeniedError, BadInputError


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


ID, ITEM = {"name": "id", "type": "long"}, {"name": "item", "type": ["null", "string"], "default": None}


def test_the_tree_of_a_lab_with_a_registry_has_groups_schemas_and_versions() -> None:
    with Lab(registry=True) as lab:
        orders = lab.create_stream("shop/orders")
        registry = lab.registry.in_namespace("shop")
        registry.create_group("orders", "Avro", "Backward")
        registry.create_group("alone", "Json")
        lab.create_stream("shop/free")
        registry.create_group("free", "Json")
        registry.add_schema("free", json_schema({"type": "object"}, "Free"))  # names no columns
        order = [avro_schema({"type": "record", "name": "Order", "fields": f}) for f in ([ID], [ID, ITEM])]
        for schema in order:
            registry.add_schema("orders", schema)
        assert repr(lab.catalog).splitlines() == [
            "shop",
            "  free (raw)",
            "    group (Json, AllowAny)",
            "      version 0 of Free (Json)",
            "  orders (pravega-registry)",
            "    id bigint",
            "    item string",
            "    group (Avro, Backward)",
            "      version 0 of Order (Avro)",
            "        id bigint",
            "      version 1 of Order (Avro)",
            "        id bigint",
            "        item string",
            "  group alone (Json, AllowAny)",
        ]
        assert "<summary>version 1 of Order <small>Avro</small></summary>" in lab.catalog._repr_html_()
        frame = lab.catalog.schemas_to_pandas()
        assert frame[["group", "version", "column"]].values.tolist() == [
            ["free", 0, None],
            ["orders", 0, "id"],
            ["orders", 1, "id"],
            ["orders", 1, "item"],
        ]
        orders.write([Serializer(registry, "orders", order[1]).serialize({"id": 1, "item": "tea"})])
        assert lab.table("shop/orders").to_pandas().values.tolist() == [[1, "tea"]]
        reserved = avro_schema({"type": "record", "name": "Log", "fields": [ID, {**ID, "name": "_offset"}]})
        lab.create_stream("shop/log")
        registry.create_group("log", "Avro")
        registry.add_schema("log", reserved)
        words = r"group 'log' in namespace 'shop' has field '_offset'.*Rename the field, .*\.schema"
        with pytest.raises(BadInputError, match=words):
            lab.table("shop/log")
        assert "  log (with a field that has the name of metadata)" in repr(lab.catalog)
        with pytest.raises(AccessDeniedError):  # the registry has the password of the store
            SchemaRegistry(lab.registry_uri, credentials=("lab", "wrong")).list_groups()


def test_a_registry_that_does_not_fit_the_store_is_refused(store: str) -> None:
    with pytest.raises(BadInputError, match="write registry=True"):
        Lab(registry="http://localhost:9092")
    with pytest.raises(BadInputError, match="Give the address of one"):
        Lab(uri=store, registry=True)
    with Lab(uri=store) as lab, pytest.raises(BadInputError, match=r"Start it with Lab\(registry=True\)"):
        _ = lab.registry

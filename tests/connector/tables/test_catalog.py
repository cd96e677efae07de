"""The catalog of a store: databases, tables, and descriptions that survive what they should."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pravega_lab.client import Client, connect
from pravega_lab.client.registry import SchemaRegistry
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY
from pravega_lab.connector.tables.catalog import REGISTER_TABLE, Catalog
from pravega_lab.connector.tables.description import Description
from pravega_lab.connector.tables.descriptions import TABLE, StoredDescriptions
from pravega_lab.connector.tables.registered import RegisteredDescriptions
from pravega_lab.errors import (
    AlreadyExistsError,
    BadInputError,
    NotEmptyError,
    ScopeNotFoundError,
    StreamNotFoundError,
)
from tests.connector.tables.described import describe
from tests.standalone import Standalone, logged_url

ORDERS = describe("id bigint, item string", "json")


@pytest.fixture
def catalog(client: Client) -> Catalog:
    return Catalog(client, StoredDescriptions(client))


def create(catalog: Catalog, scope: str, stream: str, description: Description | None) -> None:
    name = f"{scope}/{stream}"
    catalog.create_table(scope, stream, description, lambda: catalog.client.create_stream(name))


def test_a_description_is_found_by_another_client(
    catalog: Catalog, store: str, scope_name: Callable[[], str]
) -> None:
    scope = scope_name()
    catalog.create_database(scope)
    create(catalog, scope, "orders", ORDERS)
    create(catalog, scope, "plain", None)
    assert catalog.tables(scope) == ["orders", "plain"]
    with connect(store) as other:
        found = Catalog(other, StoredDescriptions(other))
        described = found.describe(scope, "orders")
        assert described is not None
        assert (described.columns, described.format) == (ORDERS.columns, "json")
        assert found.describe(scope, "plain") is None


def test_a_description_does_not_outlive_its_stream(
    catalog: Catalog, client: Client, scope_name: Callable[[], str]
) -> None:
    scope = scope_name()
    catalog.create_database(scope)
    create(catalog, scope, "orders", ORDERS)
    stream = client.stream(f"{scope}/orders")
    stream.seal()
    stream.delete()
    client.create_stream(f"{scope}/orders")
    with pytest.raises(BadInputError, match="was deleted and created again"):
        catalog.describe(scope, "orders")
    catalog.drop_table(scope, "orders")
    create(catalog, scope, "orders", None)
    assert catalog.describe(scope, "orders") is None


def test_what_exists_keeps_its_description_when_it_is_created_again(
    catalog: Catalog, scope_name: Callable[[], str]
) -> None:
    scope = scope_name()
    catalog.create_database(scope)
    create(catalog, scope, "orders", ORDERS)
    with pytest.raises(AlreadyExistsError):
        create(catalog, scope, "orders", None)
    assert catalog.describe(scope, "orders") is not None
    with pytest.raises(AlreadyExistsError):
        catalog.create_database(scope)


def test_only_an_empty_database_is_dropped_without_cascade(
    catalog: Catalog, client: Client, scope_name: Callable[[], str]
) -> None:
    scope = scope_name()
    catalog.create_database(scope)
    create(catalog, scope, "orders", ORDERS)
    with pytest.raises(NotEmptyError, match="CASCADE"):
        catalog.drop_database(scope)
    assert catalog.describe(scope, "orders") is not None
    client.table(f"{scope}/{REGISTER_TABLE}").create()
    catalog.drop_database(scope, cascade=True)
    assert scope not in catalog.databases()
    client.create_scope(scope)
    for table in (TABLE, REGISTER_TABLE):
        assert client.table(f"{scope}/{table}").create()  # nothing is left of the old one


@pytest.fixture
def registered() -> Iterator[Catalog]:
    """The catalog of a store with a registry. It has a scope ``shop`` and a group ``precious`` there."""
    store = Standalone("--memory", "--registry-port", "0")
    with store as uri, connect(uri) as client:
        registry = SchemaRegistry(logged_url(store, "registry_open"))
        client.create_scope("shop")
        registry.in_namespace("shop").create_group("precious", "Avro")
        yield Catalog(client, RegisteredDescriptions(StoredDescriptions(client), registry))


def test_a_database_with_groups_is_dropped_with_cascade_only(registered: Catalog) -> None:
    with pytest.raises(NotEmptyError, match="groups in the schema registry: precious"):
        registered.drop_database("shop")
    assert registered.descriptions.groups("shop") == ["precious"]
    registered.drop_database("shop", cascade=True)
    assert registered.descriptions.groups("shop") == []


@pytest.mark.parametrize(
    ("description", "stays"),
    [
        (None, False),
        (Description(ORDERS.columns, REGISTRY), False),
        (ORDERS, True),
        (Description(ORDERS.columns, REGISTRY, {"registry_group": "other"}), True),
        (Description(ORDERS.columns, REGISTRY, {"registry_namespace": "other"}), True),
        (Description(ORDERS.columns, REGISTRY, {"registry_uri": "http://localhost:1"}), True),
    ],
)
def test_a_dropped_table_takes_only_its_own_group_along(
    registered: Catalog, description: Description | None, stays: bool
) -> None:
    create(registered, "shop", "precious", description)
    registered.drop_table("shop", "precious")
    assert registered.descriptions.groups("shop") == (["precious"] if stays else [])


def test_a_refused_drop_of_a_database_deletes_nothing(
    catalog: Catalog, scope_name: Callable[[], str]
) -> None:
    scope = scope_name()
    catalog.create_database(scope)
    create(catalog, scope, "orders", ORDERS)
    catalog.drop_table(scope, "orders")
    table = catalog.client.create_key_value_table(f"{scope}/table", 1, 1)
    with pytest.raises(NotEmptyError):
        catalog.drop_database(scope)
    assert not catalog.client.table(f"{scope}/{TABLE}").create()
    table.delete()
    catalog.drop_database(scope)
    catalog.create_database(scope)
    assert catalog.client.table(f"{scope}/{TABLE}").create()


def test_what_is_missing_is_named(catalog: Catalog, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    for call in (
        lambda: catalog.tables(scope),
        lambda: catalog.drop_database(scope),
        lambda: create(catalog, scope, "a", None),
    ):
        with pytest.raises(ScopeNotFoundError):
            call()
    catalog.create_database(scope)
    for call in (lambda: catalog.describe(scope, "a"), lambda: catalog.drop_table(scope, "a")):
        with pytest.raises(StreamNotFoundError):
            call()
    assert not [name for name in catalog.databases() if name.startswith("_")]

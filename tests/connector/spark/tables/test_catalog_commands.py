"""The commands of the catalog, as Spark's worker answers them, without Spark."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.sql.types import LongType, StringType, StructType

from pravega_lab.client import Client, Stream
from pravega_lab.connector.spark.catalog.commands import answer
from pravega_lab.connector.spark.data_source import PravegaDataSource
from pravega_lab.connector.spark.options import CATALOG_TABLE
from pravega_lab.connector.tables.catalog import Catalog
from pravega_lab.connector.tables.description import Description
from pravega_lab.connector.tables.descriptions import StoredDescriptions
from pravega_lab.errors import BadInputError

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(client: Client, scope_name: Callable[[], str]) -> Ask:
    """Answers a command about a stream of a new scope; ``settings`` are further ones of the catalog."""
    scope = scope_name()
    client.create_scope(scope)

    def ask(what: str, stream: str, settings: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
        command = {"do": what, "scope": scope, "stream": stream, **more}
        options = {"controller-uri": client.uri, **(settings or {}), "catalog.command": json.dumps(command)}
        found: dict[str, Any] = json.loads(answer(options, {}))
        return found

    return ask


def create(ask: Ask, columns: str, **properties: str) -> dict[str, Any]:
    return ask("create_table", "t", columns=columns, properties=properties, partitioned=False)


def test_a_table_without_a_named_format_may_have_keys(ask: Ask) -> None:
    found = create(ask, "id bigint, item string", routing_key_column="item")
    assert found["options"]["format"] == "json"
    assert found["options"]["routing_key_column"] == "item"
    ask("drop_table", "t")
    assert create(ask, "id bigint", primary_key="id")["properties"]["primary_key"] == "id"
    ask("drop_table", "t")
    words = "primary_key names column 'key', and the table has: id"
    assert words in create(ask, "id bigint", primary_key="key")["message"]


def test_a_table_whose_creator_is_killed_after_the_stream_has_its_columns(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CREATE TABLE IF NOT EXISTS finds the stream and does nothing."""
    monkeypatch.setattr(StoredDescriptions, "put", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        create(ask, "id bigint, item string", primary_key="id")
    found = ask("load_table", "t")
    assert found["columns"] == "`id` bigint, `item` string"
    assert found["options"]["primary_key"] == "id"
    assert found["options"][CATALOG_TABLE] == "0"
    assert create(ask, "other bigint")["error"] == "table_exists"
    assert ask("load_table", "t") == found


def test_a_table_that_is_refused_describes_no_later_stream(ask: Ask, client: Client) -> None:
    refusal = create(ask, "id bigint", default_num_segments="1000000000")
    assert refusal["error"] == "refused"
    scope = ask("create_table", "u", columns="", properties={}, partitioned=False)["options"]["scope"]
    client.create_stream(f"{scope}/t")
    assert ask("load_table", "t")["properties"]["format"] == "raw"


def test_an_expression_for_the_routing_key_has_an_option_of_its_own(ask: Ask) -> None:
    said = create(ask, "id bigint, item string", routing_key_column="upper(item)")["message"]
    assert "'upper(item)', and the table has: id, item" in said
    assert "An expression goes into option 'routing_key'" in said
    ask("drop_table", "t")
    found = create(ask, "id bigint, item string", routing_key="upper(item)")
    assert found["options"]["routing_key"] == "upper(item)"
    ask("drop_table", "t")
    said = create(ask, "id bigint, item string", routing_key="upper(itm)")["message"]
    assert "option 'routing_key' is 'upper(itm)': the rows have no column 'itm', but id, item" in said
    assert ask("table_exists", "t") == {"exists": False}
    said = create(ask, "id bigint, item string", routing_key_column="itm")["message"]
    assert "names column 'itm'" in said
    assert "expression" not in said


def test_the_default_format_is_a_setting_of_the_catalog(ask: Ask) -> None:
    settings = {"serialization.format": "Avro"}
    make = {"columns": "id bigint", "properties": {"routing_key_column": "id"}, "partitioned": False}
    assert ask("create_table", "t", settings, **make)["options"]["format"] == "avro"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("id bigint, _Offset bigint", "Write '_offset'"),
        ("id bigint, _row_kind string", "It belongs to format debezium-json"),
        ("id bigint, _offset int", "column '_offset' is bigint, not int"),
        ("id bigint, name strin", "column 'name': there is no type 'strin'. Did you mean 'string'"),
    ],
)
def test_columns_that_cannot_be_read_are_refused_at_once(
    ask: Ask, client: Client, columns: str, words: str
) -> None:
    assert words in create(ask, columns)["message"]
    assert ask("table_exists", "t") == {"exists": False}


def test_a_table_may_have_columns_that_begin_like_metadata(ask: Ask) -> None:
    found = create(ask, "_id bigint, _streams string", routing_key_column="_streams")
    assert found["columns"] == "`_id` bigint, `_streams` string"
    assert "_offset" in found["hidden"]
    assert ask("load_table", "t") == found


def test_a_table_like_another_one_has_its_properties(ask: Ask) -> None:
    """What the statement gives replaces a property, under each of its names, and what contradicts it."""
    made = create(ask, "id bigint, item string", format="csv", primary_key="id", comment="old")

    def like(**properties: str) -> dict[str, Any]:
        columns, old = made["columns"], made["properties"]
        found = ask(
            *("create_table", "u"), columns=columns, properties=properties, partitioned=False, like=old
        )
        ask("drop_table", "u")
        return dict(found["properties"]) | {"columns": found["columns"]}

    same = made["properties"] | {"columns": made["columns"]}
    assert like() == same
    assert like(comment="new") == same | {"comment": "new"}
    assert like(provider="json")["format"] == "json"
    changed = like(**{"sink.routing-key.field.name": "item"})
    assert changed["sink.routing-key.field.name"] == "item"
    assert "primary_key" not in changed
    avro = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    ask("drop_table", "t")
    made = create(ask, "id bigint", format="avro", avro_schema=json.dumps(avro))
    assert json.loads(like()["avro_schema"]) == avro
    assert "avro_schema" not in like(format="json")


def test_what_only_a_new_stream_can_have_is_not_altered(ask: Ask) -> None:
    create(ask, "id bigint", default_num_segments="2")
    said = ask("alter_table", "t", set={"default_num_segments": "3"})
    assert "'default_num_segments' is for a stream that is created" in said["message"]


def test_columns_that_would_misread_events_of_avro_are_refused(ask: Ask) -> None:
    """Of ``id bigint, item string``, a text became the item of ``id bigint, at bigint, item string``."""
    found = create(ask, "id bigint, part struct<n:int,item:string>", format="avro")
    for columns in (
        "id bigint, part struct<n:int>, item string",
        "id bigint",
        "part struct<n:int,item:string>, id bigint",
    ):
        said = ask("alter_table", "t", set={"columns": columns})
        assert "Avro with the schema of the columns" in said["message"]
        assert ask("load_table", "t") == found
    renamed = ask("alter_table", "t", set={"columns": "number bigint, part struct<n:int,item:string>"})
    assert renamed["columns"].startswith("`number` bigint")
    assert ask("alter_table", "t", set={"columns": "id bigint", "format": "json"})["columns"] == "`id` bigint"
    assert ask("alter_table", "t", set={"columns": "id bigint, n int", "format": "avro"})["columns"]
    ask("drop_table", "t")
    assert create(ask, "id bigint, item string", format="avro")["options"]["format"] == "avro"


def test_a_table_is_still_there_if_the_registry_does_not_answer(ask: Ask) -> None:
    create(ask, "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
    said = ask("drop_table", "t", {"registry_uri": uri})
    assert f"registry at {uri} does not answer" in said["message"]
    assert ask("table_exists", "t") == {"exists": True}
    assert ask("drop_table", "t") == {}


@pytest.mark.parametrize("step", ["seal", "delete"])
def test_a_table_whose_drop_is_killed_is_dropped_by_the_next(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    create(ask, "id bigint")
    with monkeypatch.context() as killed:
        killed.setattr(Stream, step, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ask("drop_table", "t")
    assert ask("load_table", "t")["properties"]["format"] == "raw"
    assert create(ask, "n int")["error"] == "table_exists"
    assert ask("drop_table", "t") == {}
    assert create(ask, "n int")["columns"] == "`n` int"


def test_two_statements_that_alter_a_table_at_once_both_count(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one writes after the first has read the description, and before it writes."""
    create(ask, "id bigint")
    describe = Catalog.describe

    def overtaken(catalog: Catalog, scope: str, stream: str) -> Description | None:
        found = describe(catalog, scope, stream)
        monkeypatch.setattr(Catalog, "describe", describe)
        ask("alter_table", "t", set={"columns": "id bigint, item string"})
        return found

    monkeypatch.setattr(Catalog, "describe", overtaken)
    altered = ask("alter_table", "t", set={"corrupt_rows": "drop"})
    assert altered["columns"] == "`id` bigint, `item` string"
    assert altered["options"]["corrupt_rows"] == "drop"
    assert ask("load_table", "t") == altered


def test_a_table_that_was_dropped_is_written_by_no_query_that_began_before(ask: Ask, client: Client) -> None:
    """Also a table of that name that is created later, whose columns may be others."""
    options = create(ask, "id bigint")["options"]
    schema, name = StructType().add("id", LongType()), f"{options['scope']}/{options['stream']}"
    PravegaDataSource(options).streamWriter(schema, False)
    ask("drop_table", "t")
    for write in ("streamWriter", "writer"):
        with pytest.raises(BadInputError, match=f"table {name} was dropped after"):
            getattr(PravegaDataSource(options), write)(schema, False)
    assert not client.stream(name).exists()
    later = create(ask, "item string")["options"]
    with pytest.raises(BadInputError, match="start the query again"):
        PravegaDataSource(options).streamWriter(schema, False)
    PravegaDataSource(later).streamWriter(StructType().add("item", StringType()), False)


def test_a_stream_without_a_description_that_was_dropped_is_not_created_again(
    ask: Ask, client: Client
) -> None:
    options = create(ask, "")["options"]
    ask("drop_table", "t")
    with pytest.raises(BadInputError, match="Create the table"):
        PravegaDataSource(options).streamWriter(StructType().add("event", StringType()), False)
    assert not client.stream(f"{options['scope']}/t").exists()

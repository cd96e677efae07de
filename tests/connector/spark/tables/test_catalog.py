"""The catalog ``pravega``: scopes and streams in SQL, in batch and streaming queries, without DDL."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException

from pravega_lab import Lab, Table
from pravega_lab.client import Client, EventPointer, ScalingPolicy
from pravega_lab.client.registry import Serializer, avro_schema
from pravega_lab.connector.spark.catalog.jar import SETTING, compiled, jar_path
from tests.spark.connect import needs_jvm

pytestmark = pytest.mark.spark
MERGE = "MERGE INTO pravega.{shop}.plain t USING pravega.{shop}.plain u ON t.event = u.event"
PUSHES = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def sql(spark: Any, store: str) -> Iterator[Callable[[str], list[Any]]]:
    """Runs a statement in a session whose catalog has the streams of the store, and returns its rows."""
    spark.conf.set(f"{SETTING}.controller-uri", store)
    yield lambda statement: spark.sql(statement).collect()
    spark.conf.unset(f"{SETTING}.controller-uri")


@pytest.fixture
def registry_lab(spark: Any, sql: Any) -> Iterator[Lab]:
    """A lab with a registry. The catalog has its streams and schemas."""
    before = spark.conf.get(f"{SETTING}.controller-uri")
    with Lab(registry=True) as lab:
        settings = {f"{SETTING}.controller-uri": lab.uri, f"{SETTING}.registry_uri": lab.registry_uri}
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield lab
        spark.conf.set(f"{SETTING}.controller-uri", before)
        spark.conf.unset(f"{SETTING}.registry_uri")


@pytest.fixture
def shop(client: Client, scope_name: Callable[[], str]) -> str:
    """A scope with a stream of three events that nobody described."""
    scope = scope_name().replace("-", "x")
    stream = client.create_stream(f"{scope}/plain", scaling=ScalingPolicy.fixed(2))
    stream.write([b"a", b"b", b"c"], ["k"] * 3)
    return scope


def refused(statement: Callable[[], Any], kind: type[Exception] = AnalysisException) -> str:
    with pytest.raises(kind) as raised:
        statement()
    return str(raised.value)


def test_a_stream_is_a_table_without_a_statement_that_creates_it(sql: Any, shop: str) -> None:
    assert (shop,) in map(tuple, sql("SHOW DATABASES IN pravega"))
    assert [row.tableName for row in sql(f"SHOW TABLES IN pravega.{shop}")] == ["plain"]
    rows = sql(f"SELECT cast(event AS string) AS event, scope, stream FROM pravega.{shop}.plain")
    assert sorted(map(tuple, rows)) == [(event, shop, "plain") for event in "abc"]
    assert sql(f"SELECT count(*) FROM pravega.{shop}.plain")[0][0] == 3


@needs_jvm
def test_a_query_asks_the_reader_for_the_columns_that_it_needs(spark: Any, sql: Any, shop: str) -> None:
    plan = (
        spark.sql(f"SELECT offset FROM pravega.{shop}.plain")._jdf.queryExecution().executedPlan().toString()
    )
    assert "offset" in plan
    assert "event" not in plan
    assert sorted(row.offset for row in sql(f"SELECT offset FROM pravega.{shop}.plain")) == [0, 9, 18]


@pytest.mark.parametrize("format_name", ["csv", "avro"])
def test_values_without_names_are_read_by_the_order_of_all_columns(
    sql: Any, shop: str, format_name: str
) -> None:
    """A query that names some of the columns gets their values, and not those at their places."""
    table = f"pravega.{shop}.byplace"
    sql(f"CREATE TABLE {table} (id bigint, item string, price int, sold int) USING {format_name}")
    sql(f"INSERT INTO {table} VALUES (1, 'tea', 2, 3), (2, NULL, 5, 8)")
    for columns, rows in (
        ("count(*)", [(2,)]),
        ("sold, _stream", [(3, "byplace"), (8, "byplace")]),
        ("price, id", [(2, 1), (5, 2)]),
        ("_stream", [("byplace",)] * 2),
    ):
        assert sorted(map(tuple, sql(f"SELECT {columns} FROM {table}"))) == rows
    found = sql(f"SELECT price FROM {table} WHERE item = 'tea' AND _offset >= 0")
    assert [row.price for row in found] == [2]


def test_unreadable_events_are_found_by_their_column_alone(sql: Any, client: Client, shop: str) -> None:
    table = f"pravega.{shop}.kept"
    sql(f"CREATE TABLE {table} (id bigint, item string) TBLPROPERTIES (corrupt_rows 'keep')")
    client.stream(f"{shop}/kept").write([b'{"id": 1}', b'{"id": "one"}', b"no row"])
    found = sql(f"SELECT cast(_corrupt AS string) AS text FROM {table} WHERE _corrupt IS NOT NULL")
    assert sorted(row.text for row in found) == ["no row", '{"id": "one"}']
    assert sql(f"SELECT count(_corrupt) FROM {table} WHERE item IS NULL")[0][0] == 2
    sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES (corrupt_rows)")
    assert sql(f"SELECT count(_corrupt) FROM {table} WITH (corrupt_rows 'keep')")[0][0] == 2
    said = refused(lambda: sql(f"SELECT count(_corrupt) FROM {table}"))
    assert "Add .option('corrupt_rows', 'keep') to fill it" in said


def test_a_field_of_a_struct_is_read_alone(sql: Any, shop: str) -> None:
    table = f"pravega.{shop}.nested"
    sql(f"CREATE TABLE {table} (id bigint, place struct<row:int, seat:int>) USING avro")
    sql(f"INSERT INTO {table} VALUES (1, named_struct('row', 2, 'seat', 3)), (2, NULL)")
    assert {row[0] for row in sql(f"SELECT place.seat FROM {table}")} == {3, None}


def test_rows_without_a_description_are_event_and_routing_key(sql: Any, client: Client, shop: str) -> None:
    sql(f"INSERT INTO pravega.{shop}.plain SELECT 'd' AS event, 'k' AS routing_key")
    sql(f"INSERT INTO pravega.{shop}.plain (event) VALUES ('e')")
    found = [row.event for row in sql(f"SELECT cast(event AS string) AS event FROM pravega.{shop}.plain")]
    assert sorted(found) == list("abcde")


def test_a_table_of_rows_is_created_filled_altered_and_dropped(sql: Any, client: Client, shop: str) -> None:
    table = f"pravega.{shop}.orders"
    sql(
        f"CREATE TABLE {table} (id bigint, item string, price decimal(10,2)) USING json "
        "COMMENT 'what was sold' TBLPROPERTIES (routing_key_column 'item', default_num_segments '3')"
    )
    assert len(client.stream(f"{shop}/orders").segments()) == 3
    sql(f"INSERT INTO {table} VALUES (1, 'tea', 2.5), (2, 'cup', NULL)")
    sql(f"INSERT INTO {table} (item, id) VALUES ('pot', 3)")
    rows = [(row.id, row.item) for row in sql(f"SELECT * FROM {table}")]
    assert sorted(rows) == [(1, "tea"), (2, "cup"), (3, "pot")]
    assert sql(f"SELECT min(_offset) AS first FROM {table}")[0].first == 0
    created = sql(f"SHOW CREATE TABLE {table}")[0][0]
    sql(created.replace(table, f"pravega.{shop}.again"))
    assert sql(f"SHOW CREATE TABLE pravega.{shop}.again")[0][0] == created.replace(
        table, f"pravega.{shop}.again"
    )
    sql(f"ALTER TABLE {table} SET TBLPROPERTIES (columns 'item string, colour string')")
    assert sql(f"SELECT colour FROM {table} WHERE item = 'tea'")[0].colour is None
    sql(f"DROP TABLE {table}")
    assert not client.stream(f"{shop}/orders").exists()


def test_fields_of_structs_keep_their_names(sql: Any, client: Client, shop: str) -> None:
    people = f"pravega.{shop}.people"
    sql(f"CREATE TABLE {people} (id bigint, who struct<firstName: string, `a b`: array<struct<N: int>>>)")
    who = "named_struct('firstName', 'ann', 'a b', array(named_struct('N', 2)))"
    sql(f"INSERT INTO {people} VALUES (1, {who})")
    with client.stream(f"{shop}/people").read() as batches:
        [event] = [event for batch in batches for event in batch.column("event").to_pylist()]
    assert event == b'{"id":1,"who":{"firstName":"ann","a b":[{"N":2}]}}'
    assert sql(f"SELECT who.firstName AS first, who.`a b`[0].N AS n FROM {people}")[0].asDict() == {
        "first": "ann",
        "n": 2,
    }


@pytest.mark.parametrize("format_name", ["csv", "json"])
def test_texts_of_limited_length_are_read_with_whatever_columns_a_query_needs(
    spark: Any, sql: Any, client: Client, shop: str, format_name: str
) -> None:
    table = f"pravega.{shop}.short"
    sql(f"CREATE TABLE {table} (id bigint, code char(3), item varchar(5)) USING {format_name}")
    sql(f"INSERT INTO {table} VALUES (1, 'a', 'tea'), (2, NULL, NULL)")
    for columns, row in (("count(*)", (2,)), ("sum(id)", (3,)), ("max(item), max(code)", ("tea", "a  "))):
        assert tuple(sql(f"SELECT {columns} FROM {table}")[0]) == row
    assert "VARCHAR(5)" in sql(f"SHOW CREATE TABLE {table}")[0][0]
    assert "EXCEED_LIMIT_LENGTH" in refused(
        lambda: sql(f"INSERT INTO {table} VALUES (3, 'a', 'orange')"), PySparkException
    )
    assert Table.load(client, f"{shop}/short").read_stream(spark).dtypes == spark.table(table).dtypes
    frame = spark.readStream.option("start_stream_cut", "earliest").table(table)
    started = frame.writeStream.format("memory").queryName(f"{shop}_short").trigger(availableNow=True).start()
    assert started.awaitTermination(60)
    assert spark.table(f"{shop}_short").count() == 2


def test_a_timestamp_of_a_table_is_the_same_in_every_session(
    spark: Any, sql: Any, client: Client, shop: str
) -> None:
    """A session may take the word ``timestamp`` for one without a zone."""
    sql(f"CREATE TABLE pravega.{shop}.t (at timestamp, n timestamp_ntz, parts struct<timestamp: timestamp>)")
    values = "SELECT now, date'2026-01-01', named_struct('timestamp', now)"
    sql(f"INSERT INTO pravega.{shop}.t {values} FROM (SELECT timestamp'2026-01-01' AS now)")
    before, rows = spark.table(f"pravega.{shop}.t").schema, sql(f"SELECT * FROM pravega.{shop}.t")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        assert spark.table(f"pravega.{shop}.t").schema == before
        assert sql(f"SELECT * FROM pravega.{shop}.t") == rows
        described = Table.load(client, f"{shop}/t")
        assert described.read_stream(spark).dtypes == spark.table(f"pravega.{shop}.t").dtypes
        described.create_temporary(spark, f"{shop}_t")
        assert spark.table(f"{shop}_t").collect() == rows
    finally:
        spark.conf.unset("spark.sql.timestampType")


def test_changes_have_their_kinds_and_the_primary_key_of_the_description(
    sql: Any, client: Client, shop: str
) -> None:
    described = Table.create(f"{shop}/changes").schema("id bigint, item string, _row_kind string")
    described.format("debezium-json").primary_key("id").on(client).save()
    sql(f"INSERT INTO pravega.{shop}.changes VALUES (1, 'tea', '+I'), (1, 'tea', '-U'), (1, 'cup', '+U')")
    rows = sql(f"SELECT item, _row_kind FROM pravega.{shop}.changes ORDER BY _offset, _row_kind DESC")
    assert [tuple(row) for row in rows] == [("tea", "+I"), ("tea", "-U"), ("cup", "+U")]
    properties = "TBLPROPERTIES (primary_key 'id')"
    sql(f"CREATE TABLE pravega.{shop}.state (id bigint, item string) USING `debezium-json` {properties}")
    sql(f"INSERT INTO pravega.{shop}.state VALUES (1, 'tea')")
    [row] = sql(f"SELECT *, _row_kind FROM pravega.{shop}.state")
    assert tuple(row) == (1, "tea", "+I")
    assert sql(f"SELECT * FROM pravega.{shop}.state")[0].asDict().keys() == {"id", "item"}


@pytest.mark.parametrize("format_name", ["csv", "json"])
def test_a_streaming_query_fills_the_columns_of_its_table_by_their_names(
    spark: Any, sql: Any, client: Client, shop: str, tmp_path: Path, format_name: str
) -> None:
    table, source = f"pravega.{shop}.filled", spark.readStream.option("start_stream_cut", "earliest")
    sql(f"CREATE TABLE {table} (item string, size int, at string) USING {format_name}")
    plain = source.table(f"pravega.{shop}.plain")

    def fill(*columns: str) -> None:
        writer = plain.selectExpr(*columns).writeStream.trigger(availableNow=True)
        options = {"checkpointLocation": str(tmp_path / columns[-1])}
        writer.options(**options).toTable(table).awaitTermination(60)

    fill("stream AS at", "offset AS size")
    found = [tuple(row) for row in sql(f"SELECT at, item, size FROM {table} ORDER BY size")]
    assert found == [("plain", None, size) for size in (0, 9, 18)]
    assert "has no column 'letter'" in refused(lambda: fill("'a' AS letter"), PySparkException)
    assert "and the table has int there" in refused(lambda: fill("stream AS size"), PySparkException)
    assert sql(f"SELECT count(*) FROM {table}")[0][0] == 3


def test_a_table_is_made_of_a_query(sql: Any, shop: str) -> None:
    copy, source = f"pravega.{shop}.copy", f"pravega.{shop}.plain"
    sql(f"CREATE TABLE {copy} AS SELECT cast(event AS string) AS letter, offset AS at FROM {source}")
    assert sorted(row.letter for row in sql(f"SELECT letter FROM {copy}")) == ["a", "b", "c"]
    with pytest.raises(PySparkException):
        sql(f"CREATE TABLE pravega.{shop}.half AS SELECT cast(raise_error('no') AS string) AS x")
    assert "half" not in [row.tableName for row in sql(f"SHOW TABLES IN pravega.{shop}")]


def test_frames_are_saved_in_tables_that_are_new_or_there(spark: Any, sql: Any, shop: str) -> None:
    frame, table = spark.range(2).selectExpr("id", "'tea' AS item"), f"pravega.{shop}.saved"
    frame.write.saveAsTable(table)
    frame.write.mode("append").saveAsTable(table)
    frame.write.insertInto(table)
    assert spark.table(table).count() == 6
    for save in (
        lambda: frame.write.mode("overwrite").saveAsTable(table),
        lambda: frame.write.insertInto(table, overwrite=True),
        lambda: frame.writeTo(table).createOrReplace(),
        lambda: sql(f"REPLACE TABLE {table} AS SELECT 1L AS id, 'x' AS item"),
        lambda: sql(f"CREATE OR REPLACE TABLE {table} (id bigint, item string)"),
    ):
        refused(save, PySparkException)
    assert "a table is not replaced" in refused(save, PySparkException)
    update = f"UPDATE {table} SET item = 'pot'"
    assert "rows are not updated" in refused(lambda: sql(update), PySparkException)
    assert sorted(map(tuple, spark.table(table).collect())) == [(0, "tea")] * 3 + [(1, "tea")] * 3
    frame.writeTo(f"{table}2").using("json").create()
    assert spark.table(f"{table}2").schema == spark.table(table).schema


def test_a_merge_that_only_inserts_appends_the_rows_that_are_new(spark: Any, sql: Any, shop: str) -> None:
    table = f"pravega.{shop}.merged"
    spark.range(3).writeTo(table).create()
    more = "(SELECT id FROM range(2, 5))"
    sql(f"MERGE INTO {table} t USING {more} u ON t.id = u.id WHEN NOT MATCHED THEN INSERT *")
    assert sorted(row.id for row in sql(f"SELECT id FROM {table}")) == [0, 1, 2, 3, 4]


def test_databases_are_created_and_dropped(sql: Any, client: Client, shop: str) -> None:
    sql(f"CREATE DATABASE pravega.{shop}2")
    assert "SCHEMA_ALREADY_EXISTS" in refused(lambda: sql(f"CREATE DATABASE pravega.{shop}2"))
    sql(f"DROP DATABASE pravega.{shop}2")
    assert "SCHEMA_NOT_EMPTY" in refused(lambda: sql(f"DROP DATABASE pravega.{shop}"))
    sql(f"DROP DATABASE pravega.{shop} CASCADE")
    assert shop not in client.list_scopes()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT * FROM pravega.{shop}.nothing", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM pravega.nowhere.nothing", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SHOW TABLES IN pravega.nowhere", "SCHEMA_NOT_FOUND"),
        ("DROP DATABASE pravega.nowhere", "SCHEMA_NOT_FOUND"),
        ("CREATE TABLE pravega.{shop}.plain (id bigint)", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE TABLE pravega.nowhere.a (id bigint)", "SCHEMA_NOT_FOUND"),
        ("CREATE TABLE pravega.{shop}.a (id bigint) USING jsn", "Did you mean 'json'"),
        ("CREATE TABLE pravega.{shop}.a (id bigint) TBLPROPERTIES (formta 'json')", "Did you mean 'format'"),
        ("CREATE TABLE pravega.{shop}.a (id bigint, m binary) USING json", "column 'm'"),
        ("CREATE TABLE pravega.{shop}.a USING json", "needs the columns of its rows"),
        ("CREATE TABLE pravega.{shop}.a (id string) PARTITIONED BY (id)", "routing_key_column"),
        ("CREATE TABLE pravega.{shop}.a (id string) LOCATION '/a'", "LOCATION"),
        ("CREATE EXTERNAL TABLE pravega.{shop}.a (id string)", "DROP TABLE deletes the stream"),
        ("INSERT OVERWRITE pravega.{shop}.plain SELECT 'x' AS event", "a stream is only appended to"),
        ("INSERT INTO pravega.{shop}.plain SELECT 'x' AS even", "no column 'event'"),
        ("CREATE TABLE pravega.{shop}.a (id bigint NOT NULL)", "Leave NOT NULL out"),
        ("CREATE TABLE pravega.{shop}.a (v variant)", "column 'v': there is no type 'variant'"),
        ("DELETE FROM pravega.{shop}.plain WHERE offset = 0", "rows are not deleted"),
        ("DELETE FROM pravega.{shop}.plain", "rows are not deleted"),
        ("DELETE FROM pravega.{shop}.plain WHERE offset IN (SELECT 1L)", "rows are not deleted"),
        ("TRUNCATE TABLE pravega.{shop}.plain", "rows are not deleted"),
        ("DELETE FROM pravega.{shop}.plain WHERE id = 0", "rows are not deleted"),
        ("UPDATE pravega.{shop}.plain SET event = cast('x' AS binary)", "rows are not updated"),
        ("UPDATE pravega.{shop}.plain SET item = 'pot' WHERE id = 1", "rows are not updated"),
        (f"{MERGE} WHEN MATCHED THEN UPDATE SET event = u.event", "rows are not updated"),
        (f"{MERGE} WHEN MATCHED THEN DELETE", "rows are not deleted"),
        (f"{MERGE} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *", "rows are not replaced"),
        ("SELECT * FROM pravega.{shop}.plain VERSION AS OF 1", "WITH (start_stream_cut"),
        ("SELECT * FROM pravega.{shop}.plain TIMESTAMP AS OF '2026-01-01'", "a stream has no versions"),
        ("SELECT * FROM pravega.{shop}.nothing VERSION AS OF 1", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER TABLE pravega.{shop}.plain RENAME TO pravega.{shop}.b", "cannot be renamed"),
        ("ALTER TABLE pravega.{shop}.plain ADD COLUMN c int", "SET TBLPROPERTIES"),
    ],
)
def test_what_cannot_be_is_refused_in_words(sql: Any, shop: str, statement: str, words: str) -> None:
    assert words in refused(lambda: sql(statement.format(shop=shop)), PySparkException)


def test_a_table_is_created_like_another_one(sql: Any, client: Client, shop: str, tmp_path: Path) -> None:
    """LIKE copies columns and properties of a stream, the columns of any other table, and no rows."""
    one, two, three = (f"pravega.{shop}.{name}" for name in ("one", "two", "three"))
    properties = "routing_key_column 'item', default_num_segments '2'"
    sql(f"CREATE TABLE {one} (_id bigint, item string) USING csv TBLPROPERTIES ({properties})")
    sql(f"INSERT INTO {one} VALUES (1, 'tea')")
    sql(f"CREATE TABLE {two} LIKE {one} TBLPROPERTIES (default_num_segments '3')")
    sql(f"INSERT INTO {two} VALUES (2, 'cup')")
    assert [tuple(row) for row in sql(f"SELECT * FROM {two}")] == [(2, "cup")]
    created = {
        row[0].split("TBLPROPERTIES")[0].replace("two", "one") for row in sql(f"SHOW CREATE TABLE {two}")
    }
    assert created == {row[0].split("TBLPROPERTIES")[0] for row in sql(f"SHOW CREATE TABLE {one}")}
    assert len(client.stream(f"{shop}/two").segments()) == 3
    with client.stream(f"{shop}/two").read() as batches:
        assert [e for batch in batches for e in batch.column("event").to_pylist()] == [b'2,"cup"']
    sql(f"CREATE TABLE likeness (_id bigint NOT NULL, item string) USING parquet LOCATION '{tmp_path}'")
    try:
        sql(f"CREATE TABLE {three} LIKE likeness")
        sql(f"CREATE TABLE IF NOT EXISTS {three} LIKE likeness")
        assert "ALREADY_EXISTS" in refused(lambda: sql(f"CREATE TABLE {three} LIKE likeness"))
    finally:
        sql("DROP TABLE likeness")
    columns = [(row.col_name, row.data_type) for row in sql(f"DESCRIBE {three}")]
    assert columns[:2] == [("_id", "bigint"), ("item", "string")]
    sql(f"CREATE TABLE pravega.{shop}.four LIKE pravega.{shop}.plain")
    assert {"event", "offset"} <= {row.col_name for row in sql(f"DESCRIBE pravega.{shop}.four")}
    sql(f"CREATE TABLE pravega.{shop}.five LIKE {one} USING json")
    properties = dict(map(tuple, sql(f"SHOW TBLPROPERTIES pravega.{shop}.five")))
    assert (properties["format"], properties["routing_key_column"]) == ("json", "item")


def test_an_expression_gives_the_routing_key(
    spark: Any, sql: Any, client: Client, shop: str, tmp_path: Path
) -> None:
    """INSERT, CTAS and a streaming query write a row where the client writes an event with its key."""
    keys = ["TEA1", "CUP2", "POT3"]
    client.create_stream(f"{shop}/keys", scaling=ScalingPolicy.fixed(8)).write([b"a"] * 3, keys)
    properties = "TBLPROPERTIES (routing_key 'upper(item) || id', default_num_segments '8')"
    one, two, three = (f"pravega.{shop}.{name}" for name in ("one", "two", "three"))
    sql(f"CREATE TABLE {one} (id bigint, item string) {properties}")
    sql(f"INSERT INTO {one} VALUES (1, 'tea'), (2, 'cup'), (3, 'pot')")
    sql(f"CREATE TABLE {two} {properties} AS SELECT * FROM {one}")
    sql(f"CREATE TABLE {three} LIKE {one}")
    query = (
        spark.readStream.option("start_stream_cut", "earliest")
        .table(one)
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path))
        .toTable(three)
    )
    assert query.awaitTermination(120)
    segments = {}
    for name in ("keys", "one", "two", "three"):
        with client.stream(f"{shop}/{name}").read() as batches:
            segments[name] = sorted(
                id_ for batch in batches for id_ in batch.column("segment_id").to_pylist()
            )
    assert len(set(segments["keys"])) > 1
    assert list(segments.values()) == [segments["keys"]] * 4
    wrong = f"CREATE TABLE pravega.{shop}.a (id int) TBLPROPERTIES (routing_key 'idd % 2')"
    said = refused(lambda: sql(wrong), IllegalArgumentException)
    assert "option 'routing_key' is 'idd % 2': the rows have no column 'idd', but id" in said


def test_a_table_of_a_stream_that_was_created_again_says_so(sql: Any, client: Client, shop: str) -> None:
    sql(f"CREATE TABLE pravega.{shop}.orders (id bigint)")
    stream = client.stream(f"{shop}/orders")
    stream.seal()
    stream.delete()
    client.create_stream(f"{shop}/orders")
    said = refused(lambda: sql(f"SELECT * FROM pravega.{shop}.orders"), IllegalArgumentException)
    assert "was deleted and created again" in said
    sql(f"DROP TABLE pravega.{shop}.orders")


def test_streaming_queries_read_and_write_tables(spark: Any, sql: Any, shop: str, tmp_path: Path) -> None:
    sql(f"CREATE TABLE pravega.{shop}.letters (letter string, n bigint)")
    source = spark.readStream.option("start_stream_cut", "earliest").table(f"pravega.{shop}.plain")

    def copy(batch: Any, _number: int) -> None:
        batch.sparkSession.sql(f"SELECT count(*) FROM pravega.{shop}.plain").collect()
        batch.writeTo(f"pravega.{shop}.letters").append()

    rows = source.selectExpr("cast(event AS string) AS letter", "offset AS n")
    for name, start in (
        ("table", lambda writer: writer.toTable(f"pravega.{shop}.letters")),
        ("each", lambda writer: writer.foreachBatch(copy).start()),
    ):
        writer = rows.writeStream.trigger(availableNow=True)
        start(writer.option("checkpointLocation", str(tmp_path / name))).awaitTermination()
    found = [row.letter for row in sql(f"SELECT letter FROM pravega.{shop}.letters")]
    assert sorted(found) == sorted("abcabc")


def test_a_stream_with_a_group_of_schemas_has_the_columns_of_the_newest(
    spark: Any, registry_lab: Lab, sql: Any
) -> None:
    lab = registry_lab
    registry = lab.registry.in_namespace("shop")
    registry.create_group("orders", "Avro", "Backward")
    fields = [{"name": "id", "type": "long"}, {"name": "item", "type": ["null", "string"], "default": None}]
    old, new = (avro_schema({"type": "record", "name": "Order", "fields": fields[:n]}) for n in (1, 2))
    events = [
        Serializer(registry, "orders", old, register=True).serialize({"id": 1}),
        Serializer(registry, "orders", new, register=True).serialize({"id": 2, "item": "tea"}),
    ]
    lab.create_stream("shop/orders").write(events)
    described = sql("DESCRIBE TABLE pravega.shop.orders")
    assert [(row.col_name, row.data_type) for row in described[:2]] == [("id", "bigint"), ("item", "string")]
    sql("INSERT INTO pravega.shop.orders VALUES (3, 'cup')")
    rows = sql("SELECT id, item, _offset FROM pravega.shop.orders ORDER BY id")
    assert [(row.id, row.item) for row in rows] == [(1, None), (2, "tea"), (3, "cup")]

    sql(
        "CREATE TABLE pravega.shop.cheap USING `pravega-registry` AS SELECT id, item FROM pravega.shop.orders"
    )
    [found] = registry.versions("cheap")
    assert [field["name"] for field in json.loads(found.schema.data)["fields"]] == ["id", "item"]
    assert sql("SELECT count(*) FROM pravega.shop.cheap")[0][0] == 3
    created = sql("SHOW CREATE TABLE pravega.shop.cheap")[0][0]
    sql(created.replace("shop.cheap", "shop.again"))
    sql("ALTER TABLE pravega.shop.again SET TBLPROPERTIES (columns 'id bigint, item string, price double')")
    assert len(registry.versions("again")) == 2
    sql("INSERT INTO pravega.shop.again VALUES (1, 'pot', 2.5)")
    assert sql("SELECT price FROM pravega.shop.again")[0].price == 2.5
    registry.set_compatibility("cheap", "Backward")
    words = "ALTER TABLE pravega.shop.cheap SET TBLPROPERTIES (columns 'id string, item string')"
    assert "its policy is Backward" in refused(lambda: sql(words), Exception)
    sql("DROP TABLE pravega.shop.cheap")
    assert "cheap" not in registry.list_groups()
    sql("DROP DATABASE pravega.shop CASCADE")
    assert registry.list_groups() == {}


def test_a_registry_that_does_not_answer_is_named(spark: Any, sql: Any, shop: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
    spark.conf.set(f"{SETTING}.registry_uri", uri)
    try:
        words = refused(lambda: sql(f"SELECT * FROM pravega.{shop}.plain"), PySparkException)
        assert f"registry at {uri} does not answer" in words
    finally:
        spark.conf.unset(f"{SETTING}.registry_uri")


def read(spark: Any, statement: str) -> tuple[int, int, list[str]]:
    """Return how many rows a query has, and how many rows of which columns the source returned for it."""
    frame = spark.sql(statement)
    found = len(frame.collect())
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    columns = scan.scan().readSchema().fieldNames()
    return found, scan.metrics().apply("numOutputRows").value(), sorted(columns)


@needs_jvm
def test_filters_and_columns_leave_the_rest_unread(
    spark: Any, sql: Any, client: Client, scope_name: Callable[[], str]
) -> None:
    scope = scope_name()
    keys, large = [str(n) for n in range(300)], b"x" * 992
    client.create_stream(f"{scope}/raw", scaling=ScalingPolicy.fixed(3)).write([large] * 300, keys)
    rows = f"pravega.`{scope}`.raw"
    one = sql(f"SELECT count(*) FROM {rows} WHERE segment_id = 1")[0][0]
    assert 50 < one < 150
    for pushes in ("true", "false", "true"):
        spark.conf.set(PUSHES, pushes)
        narrow = read(spark, f"SELECT event FROM {rows} WHERE segment_id = 1 AND offset >= 10000")
        of_source = one - 10 if pushes == "true" else 300
        assert narrow == (one - 10, of_source, ["event", "offset", "segment_id"])
        assert read(spark, f"SELECT offset FROM {rows}") == (300, 300, ["offset"])
        to = EventPointer(f"{scope}/raw", 1, 10000, 1000).to_bytes().hex()
        pointed = read(spark, f"SELECT event FROM {rows} WHERE event_pointer = X'{to}'")
        assert pointed == (1, 1 if pushes == "true" else 300, ["event", "event_pointer"])
    sql(f"CREATE TABLE pravega.`{scope}`.typed (word string) USING raw")
    client.stream(f"{scope}/typed").write([b"a", b"b", b"c"], ["k"] * 3)
    typed = read(spark, f"SELECT word FROM pravega.`{scope}`.typed WHERE _offset > 0 AND word != 'c'")
    assert typed == (1, 2, ["_offset", "word"])
    two = [EventPointer(f"{scope}/typed", 0, offset, 9).to_bytes().hex() for offset in (0, 9)]
    these = f"_event_pointer IN (X'{two[0]}', X'{two[1]}')"
    typed = read(spark, f"SELECT word FROM pravega.`{scope}`.typed WHERE {these}")
    assert typed == (2, 2, ["_event_pointer", "word"])


@needs_jvm
def test_every_session_of_the_application_has_the_catalog(
    spark: Any, store: str, sql: Any, shop: str
) -> None:
    other = spark.newSession()
    other.conf.set(f"{SETTING}.controller-uri", store)
    assert other.table(f"pravega.{shop}.plain").count() == 3


@needs_jvm
def test_the_java_sources_compile_in_this_spark(spark: Any) -> None:
    files = compiled(spark._jvm)
    assert {"pravega_lab.PravegaCatalog", "pravega_lab.LocalCheckpoints"} <= files.keys()
    assert all(data[:4] == b"\xca\xfe\xba\xbe" for data in files.values())
    assert jar_path(spark.version).exists()

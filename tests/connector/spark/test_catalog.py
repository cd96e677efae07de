"""The catalog ``pravega``: scopes and streams in SQL, in batch and streaming queries, without DDL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException

from pravega_lab.client import Client, ScalingPolicy, connect
from pravega_lab.connector.spark.catalog.jar import SETTING, compiled, jar_path

pytestmark = pytest.mark.spark


@pytest.fixture
def client(store: str) -> Iterator[Client]:
    with connect(store) as client:
        yield client


@pytest.fixture
def sql(spark: Any, store: str) -> Iterator[Callable[[str], list[Any]]]:
    """Runs a statement in a session whose catalog has the streams of the store, and returns its rows."""
    spark.conf.set(f"{SETTING}.controller-uri", store)
    yield lambda statement: spark.sql(statement).collect()
    spark.conf.unset(f"{SETTING}.controller-uri")


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


def test_a_query_asks_the_reader_for_the_columns_that_it_needs(spark: Any, sql: Any, shop: str) -> None:
    plan = (
        spark.sql(f"SELECT offset FROM pravega.{shop}.plain")._jdf.queryExecution().executedPlan().toString()
    )
    assert "offset" in plan
    assert "event" not in plan
    assert sorted(row.offset for row in sql(f"SELECT offset FROM pravega.{shop}.plain")) == [0, 9, 18]


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


def test_a_table_is_made_of_a_query(sql: Any, shop: str) -> None:
    copy, source = f"pravega.{shop}.copy", f"pravega.{shop}.plain"
    sql(f"CREATE TABLE {copy} AS SELECT cast(event AS string) AS letter, offset AS at FROM {source}")
    assert sorted(row.letter for row in sql(f"SELECT letter FROM {copy}")) == ["a", "b", "c"]
    with pytest.raises(PySparkException):
        sql(f"CREATE TABLE pravega.{shop}.half AS SELECT cast(raise_error('no') AS string) AS x")
    assert "half" not in [row.tableName for row in sql(f"SHOW TABLES IN pravega.{shop}")]


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
        ("INSERT OVERWRITE pravega.{shop}.plain SELECT 'x' AS event", "a stream is only appended to"),
        ("INSERT INTO pravega.{shop}.plain SELECT 'x' AS even", "no column 'event'"),
        ("ALTER TABLE pravega.{shop}.plain RENAME TO pravega.{shop}.b", "cannot be renamed"),
        ("ALTER TABLE pravega.{shop}.plain ADD COLUMN c int", "SET TBLPROPERTIES"),
    ],
)
def test_what_cannot_be_is_refused_in_words(sql: Any, shop: str, statement: str, words: str) -> None:
    assert words in refused(lambda: sql(statement.format(shop=shop)), PySparkException)


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


def test_every_session_of_the_application_has_the_catalog(
    spark: Any, store: str, sql: Any, shop: str
) -> None:
    other = spark.newSession()
    other.conf.set(f"{SETTING}.controller-uri", store)
    assert other.table(f"pravega.{shop}.plain").count() == 3


def test_the_source_of_the_catalog_compiles_in_this_spark(spark: Any) -> None:
    files = compiled(spark._jvm)
    assert "pravega_lab.PravegaCatalog" in files
    assert all(data[:4] == b"\xca\xfe\xba\xbe" for data in files.values())
    assert jar_path(spark.version).exists()

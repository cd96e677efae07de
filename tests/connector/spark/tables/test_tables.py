"""Tables of Spark's session catalog: what works, and errors that name what works instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pravega_lab.client import connect
from pravega_lab.connector.spark.data_source import PravegaDataSource
from pravega_lab.connector.spark.tables import refuse_new_table, refuse_table_of_query, stored_options
from pravega_lab.errors import BadInputError
from tests.spark.connect import needs_jvm


@pytest.fixture
def address(store: str, scope_name: Callable[[], str]) -> dict[str, str]:
    scope = scope_name()
    with connect(store) as client:
        client.create_stream(f"{scope}/in").write([b"a", b"b"])
    return {"controller": store, "scope": scope, "stream": "in"}


def count(spark: Any, address: dict[str, str]) -> int:
    found: int = spark.read.format("pravega").options(**address).load().count()
    return found


def refused(statement: Callable[[], Any]) -> str:
    with pytest.raises(PySparkException) as raised:
        statement()
    return str(raised.value)


def sql_options(address: dict[str, str]) -> str:
    return "OPTIONS (" + ", ".join(f"{name} '{value}'" for name, value in address.items()) + ")"


def rows(spark: Any) -> Any:
    return spark.range(3).selectExpr("cast(id as string) AS event")


@pytest.fixture
def orders(spark: Any, address: dict[str, str]) -> Iterator[str]:
    """A table of typed rows in the session catalog."""
    options = {**address, "stream": "orders", "format": "json", "columns": "id bigint, item string"}
    options["allow_create_stream"] = "true"
    spark.sql(f"CREATE TABLE orders USING pravega {sql_options(options)}")
    yield "orders"
    spark.sql("DROP TABLE orders")


@pytest.mark.spark
def test_a_table_of_the_session_catalog_is_read_and_filled(spark: Any, orders: str, tmp_path: Path) -> None:
    spark.sql("INSERT INTO orders VALUES (1, 'tea'), (2, 'cup')")
    spark.sql("INSERT INTO orders (id) SELECT 3")
    frame = spark.createDataFrame([(4, "pot")], "id bigint, item string")
    frame.write.insertInto(orders)
    frame.write.format("pravega").mode("append").saveAsTable(orders)
    frame.writeTo(orders).append()
    expected = [(1, "tea"), (2, "cup"), (3, None), (4, "pot"), (4, "pot"), (4, "pot")]
    assert sorted(map(tuple, spark.sql("SELECT * FROM orders").collect())) == expected
    assert spark.read.table(orders).where("item = 'pot'").count() == 3
    rows = spark.readStream.option("start_stream_cut", "earliest").table(orders)
    writer = rows.selectExpr("id + 10 AS id", "item").writeStream.trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path)).toTable(orders)
    assert "a streaming query cannot write into a table USING pravega" in refused(query.awaitTermination)
    assert spark.table(orders).count() == len(expected)


@pytest.mark.spark
@pytest.mark.parametrize("columns", ["id bigint, item string", "id bigint, n int"])
def test_rows_of_a_table_are_written_where_the_statement_says(
    spark: Any, address: dict[str, str], columns: str
) -> None:
    """The columns of a query have the options of the table from which they were read."""
    streams = [f"{name}{columns[-3:]}" for name in ("from", "to", "other")]
    where = {**address, "format": "json", "columns": columns, "allow_create_stream": "true"}
    for stream in streams:
        spark.sql(f"CREATE TABLE {stream} USING pravega {sql_options({**where, 'stream': stream})}")
    source, target, other = streams
    try:
        given = {**address, "format": "json", "stream": source}
        spark.range(2).selectExpr("id", "id AS n", "'x' AS item").write.format("pravega").mode(
            "append"
        ).options(**given).save()
        frame = spark.table(source)
        written = 0
        for write in (
            lambda: spark.sql(f"INSERT INTO {target} SELECT * FROM {source}"),
            lambda: frame.write.insertInto(target),
            lambda: frame.writeTo(target).append(),
            lambda: spark.sql(f"INSERT INTO {target} SELECT * FROM {source} WHERE id < 5"),
        ):
            if "string" in columns:
                write()
                written += 2
            else:
                assert "without a column of text" in refused(write)
        rows = frame.withColumn("more", frame["id"])
        options = {**given, "stream": other}
        rows.write.format("pravega").mode("append").options(**options).save()
        assert [spark.table(stream).count() for stream in streams] == [2, written, 2]
    finally:
        for stream in streams:
            spark.sql(f"DROP TABLE {stream}")


def test_a_table_of_the_session_catalog_has_the_columns_of_its_format() -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "tags", "type": {"type": "array", "items": "string"}}]
    schema = {"type": "record", "name": "order", "fields": fields}
    options = {"controller": "tcp://x:1", "scope": "a", "stream": "b", "format": "avro"}
    options |= {"avro_schema": json.dumps(schema), "provider": "pravega"}
    found = PravegaDataSource(options).schema()
    assert found.simpleString() == "struct<id:bigint,tags:array<string>>"
    assert stored_options(found)["avro_schema"] == json.dumps(schema)


@pytest.mark.spark
def test_a_table_of_the_session_catalog_is_described(spark: Any, orders: str) -> None:
    described = [row.col_name for row in spark.sql("DESCRIBE TABLE orders").collect()]
    assert described[:2] == ["id", "item"]
    assert "id BIGINT" in spark.sql("SHOW CREATE TABLE orders").collect()[0][0]
    spark.sql("CREATE TEMPORARY VIEW cheap AS SELECT item FROM orders")
    assert spark.sql("SELECT * FROM cheap").count() == 0
    with pytest.raises(PySparkException, match="a stream is only appended to"):
        spark.sql("INSERT OVERWRITE orders VALUES (1, 'x')")


@pytest.mark.spark
def test_a_table_of_events_has_the_columns_of_the_source(spark: Any, address: dict[str, str]) -> None:
    spark.catalog.createTable("stored", source="pravega", **address)
    try:
        spark.sql("INSERT INTO stored (event) VALUES (X'63')")
        found = spark.sql("SELECT cast(event AS string) AS event, stream FROM stored").collect()
        assert sorted(map(tuple, found)) == [("a", "in"), ("b", "in"), ("c", "in")]
        with pytest.raises(PySparkException, match="'stream' is filled by the source"):
            spark.sql("INSERT INTO stored (event, stream) VALUES (X'63', 'in')")
    finally:
        spark.sql("DROP TABLE stored")


@pytest.mark.spark
def test_a_statement_that_makes_a_table_of_a_query_writes_no_row(spark: Any, address: dict[str, str]) -> None:
    frame, options = rows(spark), sql_options(address)
    way = f"CREATE TABLE pravega.`{address['scope']}`.`in`"
    assert way in refused(lambda: frame.write.format("pravega").options(**address).saveAsTable("made"))
    assert way in refused(lambda: frame.writeTo("made").using("pravega").options(**address).create())
    said = refused(lambda: spark.sql(f"CREATE TABLE made USING pravega {options} AS SELECT 'x' AS event"))
    assert "CREATE TABLE pravega.`<scope>`.`<stream>`" in said
    assert not spark.catalog.tableExists("made")
    assert count(spark, address) == 2


@pytest.mark.spark
@needs_jvm
def test_a_streaming_query_into_a_table_that_cannot_be_read_writes_no_row(
    spark: Any, address: dict[str, str], tmp_path: Path
) -> None:
    source = spark.readStream.format("pravega").options(**address, start_stream_cut="earliest").load()
    writer = source.select("event").writeStream.format("pravega").trigger(availableNow=True)
    writer = writer.options(**{**address, "stream": "out"}).option("checkpointLocation", str(tmp_path))
    query = writer.toTable("made")
    try:
        said = refused(query.awaitTermination)
        assert "toTable() writes into a table USING pravega that nothing could read" in said
        assert "Or use a temporary view: CREATE TEMPORARY VIEW <name> USING pravega OPTIONS" in said
        assert count(spark, {**address, "stream": "out"}) == 0
    finally:
        query.stop()
        spark.sql("DROP TABLE made")


@pytest.mark.spark
def test_a_table_with_columns_cannot_be_read_and_the_error_names_what_works(spark: Any) -> None:
    spark.sql("CREATE TABLE with_columns (event BINARY) USING pravega")
    try:
        said = refused(lambda: spark.table("with_columns").count())
    finally:
        spark.sql("DROP TABLE with_columns")
    assert "CREATE TABLE pravega.`<scope>`.`<stream>` (<columns>)" in said
    assert "columns 'id bigint, name string'" in said
    assert "CREATE TEMPORARY VIEW <name> USING pravega OPTIONS (controller 'tcp://host:9090'" in said


@pytest.mark.spark
def test_a_view_with_the_columns_of_a_sink_takes_rows(spark: Any, address: dict[str, str]) -> None:
    columns = "(event STRING, routing_key STRING)"
    spark.sql(f"CREATE TEMPORARY VIEW sink_view {columns} USING pravega {sql_options(address)}")
    spark.sql("INSERT INTO sink_view VALUES ('c', 'k')")
    assert count(spark, address) == 3


@pytest.mark.spark
def test_foreach_batch_may_write(spark: Any, address: dict[str, str], tmp_path: Path) -> None:
    def copy(batch: Any, _number: int) -> None:
        sink = batch.write.format("pravega").mode("append").options(**{**address, "stream": "out"})
        sink.save()

    source = spark.readStream.format("pravega").options(**address, start_stream_cut="earliest").load()
    query = source.select("event").writeStream.foreachBatch(copy).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path)).start().awaitTermination()
    assert count(spark, {**address, "stream": "out"}) == 2


@pytest.mark.parametrize(
    ("properties", "allowed"),
    [
        ({"spark.sql.execution.id": "3", "spark.sql.execution.root.id": "3"}, True),
        ({"spark.sql.execution.id": "3", "spark.sql.execution.root.id": "2"}, False),
        (
            {
                "spark.sql.execution.id": "3",
                "spark.sql.execution.root.id": "2",
                "sql.streaming.queryId": "q",
            },
            True,
        ),
        ({}, True),
    ],
)
def test_only_a_write_inside_a_statement_is_that_of_a_table(
    properties: dict[str, str], allowed: bool
) -> None:
    if allowed:
        refuse_new_table({}, properties.get)
    else:
        with pytest.raises(BadInputError, match="creates a table USING pravega"):
            refuse_new_table({}, properties.get)


@pytest.mark.parametrize("properties", [{"callSite.short": "start at Job.java:3"}, {}])
def test_a_query_that_start_started_writes_into_no_table(properties: dict[str, str]) -> None:
    refuse_table_of_query({}, properties.get)


def test_a_query_that_to_table_started_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"toTable\(\) writes into a table USING pravega"):
        refuse_table_of_query({}, {"callSite.short": "toTable at <console>:23"}.get)

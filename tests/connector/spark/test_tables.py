"""Tables of Spark's catalog are refused, no row is written into them, and errors name what works."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pravega_lab.client import connect
from pravega_lab.connector.spark.tables import refuse_new_table
from pravega_lab.errors import BadInputError


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


@pytest.mark.spark
def test_the_error_of_create_table_names_a_view_that_works(spark: Any, address: dict[str, str]) -> None:
    said = refused(lambda: spark.sql(f"CREATE TABLE stored USING pravega {sql_options(address)}"))
    assert "the options of a stored table" in said
    view = re.search(r"CREATE TEMPORARY VIEW .*\)", said)
    assert view is not None
    spark.sql(view[0].replace("<name>", "stored_view"))
    assert spark.sql("SELECT event FROM stored_view").count() == 2
    assert not spark.catalog.tableExists("stored")
    said = refused(lambda: spark.catalog.createTable("stored", source="pravega", **address))
    assert view[0] in said


@pytest.mark.spark
def test_a_statement_that_creates_a_table_writes_no_row(spark: Any, address: dict[str, str]) -> None:
    frame, options = rows(spark), sql_options(address)
    view = f"CREATE TEMPORARY VIEW <name> USING pravega {options}"
    assert view in refused(lambda: frame.write.format("pravega").options(**address).saveAsTable("made"))
    assert view in refused(lambda: frame.writeTo("made").using("pravega").options(**address).create())
    said = refused(lambda: spark.sql(f"CREATE TABLE made USING pravega {options} AS SELECT 'x' AS event"))
    assert "CREATE TEMPORARY VIEW <name> USING pravega OPTIONS" in said
    assert not spark.catalog.tableExists("made")
    assert count(spark, address) == 2


@pytest.mark.spark
def test_a_table_with_columns_cannot_be_read_and_the_error_names_the_view(spark: Any) -> None:
    spark.sql("CREATE TABLE with_columns (event BINARY) USING pravega")
    try:
        said = refused(lambda: spark.table("with_columns").count())
    finally:
        spark.sql("DROP TABLE with_columns")
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

"""Options under the names of Flink's table connector: values, error texts, old keys. The page of options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.client import connect
from pravega_lab.connector.spark.options import OPTIONS, parse_options
from pravega_lab.connector.spark.options.page import page
from pravega_lab.connector.spark.sink.rows import check_rows
from pravega_lab.errors import BadInputError

ROOT = Path(__file__).parents[4]
DDL = {
    "connector": "pravega",
    "controller-uri": "tcp://a:9090",
    "scope": "demo",
    "format": "json",
    "scan.streams": "in;other/in",
    "sink.stream": "out",
}
FLINKS = [
    "connector",
    "format",
    "controller-uri",
    "scope",
    "security.auth-type",
    "security.auth-token",
    "security.validate-hostname",
    "security.trust-store",
    "scan.execution.type",
    "scan.reader-group.name",
    "scan.streams",
    "scan.start-streamcuts",
    "scan.end-streamcuts",
    "scan.uid",
    "scan.reader-group.max-outstanding-checkpoint-request",
    "scan.reader-group.refresh.interval",
    "scan.event-read.timeout.interval",
    "scan.reader-group.checkpoint-initiate-timeout.interval",
    "sink.stream",
    "sink.semantic",
    "sink.txn-lease-renewal.interval",
    "sink.enable.watermark-propagation",
    "sink.routing-key.field.name",
    "pravega-registry.uri",
    "pravega-registry.namespace",
    "pravega-registry.group-id",
    "pravega-registry.format",
]


def test_the_page_of_options_is_that_of_the_declarations() -> None:
    assert (ROOT / "docs" / "options.md").read_text() == page(), (
        "python -m pravega_lab.connector.spark.options.page > docs/options.md"
    )


def test_every_key_of_flinks_connector_is_declared() -> None:
    assert sorted(option.flink for option in OPTIONS if option.flink) == sorted(FLINKS)


def test_the_options_of_a_table_of_flink_are_those_of_spark() -> None:
    more = {
        "scan.start-streamcuts": "H4sIAA1;H4sIAA2",
        "scan.end-streamcuts": "unbounded;UNBOUNDED",
        "sink.semantic": "at-least-once",
        "sink.txn-lease-renewal.interval": "30 s",
        "sink.routing-key.field.name": "id",
        "security.validate-hostname": "false",
        "security.trust-store": "/ca.pem",
        "scan.reader-group.refresh.interval": "3 s",
        "scan.uid": "a-name",
    }
    found = parse_options({**DDL, **more})
    assert found.scoped_streams == ("demo/in", "other/in")
    assert found.output == "demo/out"
    assert (found.start_stream_cut, found.end_stream_cut) == ("H4sIAA1,H4sIAA2", "unbounded")
    assert (found.exactly_once, found.transaction_timeout_ms) == (False, 30_000)
    assert (found.routing_key_column, found.ca_file, found.validate_host_name) == ("id", "/ca.pem", False)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("10 s", 10_000), ("10000", 10_000), ("500000ms", 500_000), ("5 min", 300_000), ("1 MINUTE", 60_000)],
)
def test_durations_have_units(text: str, milliseconds: int) -> None:
    assert (
        parse_options({**DDL, "sink.txn-lease-renewal.interval": text}).transaction_timeout_ms == milliseconds
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"scan.execution.type": "abc"},
            r"Unsupported value 'abc' for 'scan.execution.type'. Supported values are "
            r"\['streaming', 'batch'\].",
        ),
        (
            {"sink.semantic": "abc"},
            r"Unsupported value 'abc' for 'sink.semantic'. Supported values are "
            r"\['at-least-once', 'exactly-once', 'best-effort'\].",
        ),
        (
            {"scan.start-streamcuts": "x"},
            "Start stream cuts are not matching the number of streams, having 1, expected 2",
        ),
        ({"scan.end-streamcuts": "x;y;z"}, "End stream cuts are not matching .* having 3, expected 2"),
        ({"scan.start-streamcuts": "earliest;H4sIAA"}, "or the same word for all"),
        (
            {"scan.reader-group.max-outstanding-checkpoint-request": "-1"},
            "'scan.reader-group.max-outstanding-checkpoint-request' requires a positive integer, received -1",
        ),
        ({"sink.txn-lease-renewal.interval": "9 s"}, "9000 ms; it is between 10000 and 600000 ms"),
        ({"scan.event-read.timeout.interval": "soon"}, "it is a duration, such as"),
        ({"connector": "kafka"}, "this connector is 'pravega'"),
        ({"sink.enable.watermark-propagation": "true"}, "does not pass its watermark"),
        ({"security.auth-type": "Basic"}, "credentials_file"),
        ({"controller": "tcp://b:1"}, "'controller-uri' and 'controller' are the same option"),
        ({"scan.stream": "a"}, "Did you mean 'scan.streams'"),
    ],
)
def test_wrong_values_are_refused_in_flinks_words(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        parse_options({**DDL, **given})


def test_a_token_is_refused_and_not_shown() -> None:
    with pytest.raises(BadInputError, match="credentials_file") as raised:
        parse_options({**DDL, "security.auth-token": "hush-hush"})
    assert "hush" not in str(raised.value)
    with pytest.raises(BadInputError, match=r"Write 'security.auth-token'") as raised:
        parse_options({**DDL, "connector.connection-config.security.auth-token": "hush-hush"})
    assert "hush" not in str(raised.value)


def test_streams_to_read_are_no_stream_to_write_and_the_other_way_round() -> None:
    without = {key: value for key, value in DDL.items() if key not in ("scan.streams", "sink.stream")}
    with pytest.raises(BadInputError, match=r"'sink\.stream' is required but missing"):
        _ = parse_options({**without, "scan.streams": "a"}).output
    with pytest.raises(BadInputError, match=r"'scan\.streams' is required but missing"):
        _ = parse_options({**without, "sink.stream": "a"}).scoped_streams
    with pytest.raises(BadInputError, match=r"^'scan\.streams' is required but missing to read"):
        parse_options(without)
    with pytest.raises(BadInputError, match=r"^option 'stream' is missing"):
        parse_options({"controller": "tcp://localhost:9090", "scope": "demo"})


@pytest.mark.parametrize(
    ("key", "value", "answer"),
    [
        ("connector.connection-config.controller-uri", "tcp://a:1", "Write 'controller-uri' = 'tcp://a:1'"),
        ("connector.reader.stream-info.0.stream", "in", "as 'scan.streams', separated by ';'"),
        ("connector.writer.mode", "atleast_once", "Write 'sink.semantic' = 'at-least-once'"),
        ("connector.writer.txn-lease-renewal-interval", "30000", "Write .*interval' = '30000 ms'"),
        ("update-mode", "append", "Leave it out"),
        ("json.ignore-parse-errors", "true", "Write 'corrupt_rows' = 'drop'"),
    ],
)
def test_an_old_key_is_answered_with_the_new_one(key: str, value: str, answer: str) -> None:
    with pytest.raises(BadInputError, match=answer):
        parse_options({**DDL, key: value})


def test_an_option_wins_over_a_property_and_that_over_the_environment() -> None:
    environ = {"PRAVEGA_CONTROLLER_URI": "tcp://env:1", "PRAVEGA_SCOPE": "from-env"}
    properties = {"pravega.controller.uri": "tcp://property:1"}
    found = parse_options({"stream": "a"}, properties=properties, environ=environ)
    assert (found.controller, found.scope) == ("tcp://property:1", "from-env")
    given = {"stream": "a", "controller-uri": "tcp://option:1", "scope": "s"}
    found = parse_options(given, properties=properties, environ=environ)
    assert (found.controller, found.scope) == ("tcp://option:1", "s")


@pytest.mark.parametrize(
    ("column", "words"),
    [("idd", "Key field 'idd' not found. Did you mean 'id'"), ("n", "Key field must be of string type")],
)
def test_the_column_of_the_key_must_be_one_of_text(column: str, words: str) -> None:
    from pyspark.sql.types import LongType, StringType, StructType

    schema = StructType().add("id", StringType()).add("n", LongType())
    with pytest.raises(BadInputError, match=words):
        check_rows(schema, "json", column)


@pytest.mark.spark
def test_a_query_writes_and_reads_with_the_names_of_flink(
    spark: Any, store: str, scope_name: Callable[[], str]
) -> None:
    names = {"controller-uri": store, "scope": scope_name(), "scan.streams": "out"}
    options = {**DDL, **names, "sink.routing-key.field.name": "id"}
    frame = spark.createDataFrame([("k", 1), ("l", 2)], "id string, n bigint")
    frame.write.format("pravega").mode("append").options(**options).save()
    back = spark.read.format("pravega").options(**options).schema("id string, n bigint").load()
    assert sorted(map(tuple, back.collect())) == [("k", 1), ("l", 2)]
    with connect(store) as client:
        assert client.stream(f"{options['scope']}/out").exists()


@pytest.mark.spark
def test_a_property_of_the_session_reaches_the_workers(
    spark: Any, store: str, scope_name: Callable[[], str]
) -> None:
    from pravega_lab.connector.spark import register

    scope = scope_name()
    with connect(store) as client:
        client.create_stream(f"{scope}/in").write([b"a"])
    properties = {"spark.pravega.controller.uri": store, "spark.pravega.scope": scope}
    try:
        for name, value in properties.items():
            spark.conf.set(name, value)
        register(spark)
        assert spark.read.format("pravega").option("stream", "in").load().count() == 1
    finally:
        for name in properties:
            spark.conf.unset(name)
        register(spark)

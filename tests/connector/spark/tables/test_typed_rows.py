"""Typed rows in Spark: JSON and CSV in both directions, metadata columns, and events that do not parse."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from pyspark.errors import PySparkException
from pyspark.sql.types import BinaryType, LongType, StringType, StructType, YearMonthIntervalType

from pravega_lab.client import Client, ScalingPolicy
from pravega_lab.connector.rows.typed_rows import TypedRows
from pravega_lab.connector.spark.options import parse_options
from pravega_lab.connector.spark.sink.rows import arrays, check_rows
from pravega_lab.connector.spark.source.rows import arrow_schema
from pravega_lab.connector.spark.source.typed_rows import check_typed_schema, default_schema
from pravega_lab.errors import BadInputError, CorruptRowError

ADDRESS = {"scope": "demo", "stream": "orders"}
ORDERS = "id bigint, item string, price decimal(10,2), at timestamp"


@pytest.fixture
def address(client: Client, scope_name: Callable[[], str]) -> dict[str, str]:
    return {"controller": client.uri, "scope": scope_name(), "stream": "orders", "format": "json"}


def frame(spark: Any, count: int) -> Any:
    return spark.range(0, count, 1, 3).selectExpr(
        "id",
        "concat('item ', id) AS item",
        "cast(id / 4 AS decimal(10,2)) AS price",
        "timestamp '2024-01-02 03:04:05' + make_dt_interval(0, 0, id) AS at",
        "cast(id % 7 AS string) AS _routing_key",
    )


def load(spark: Any, address: dict[str, str], schema: str, **more: str) -> Any:
    return spark.read.format("pravega").options(**address, **more).schema(schema).load()


@pytest.mark.spark
def test_rows_are_written_as_json_and_read_again_in_batch(
    spark: Any, client: Client, address: dict[str, str]
) -> None:
    frame(spark, 50).write.format("pravega").mode("append").options(**address).save()
    with client.stream(f"{address['scope']}/orders").read() as batches:
        events = [event for batch in batches for event in batch.column("event").to_pylist()]
    assert {json.loads(event)["item"] for event in events} == {f"item {n}" for n in range(50)}
    assert "_routing_key" not in json.loads(events[0])

    found = load(spark, address, f"{ORDERS}, _segment_id bigint, _offset bigint, _stream string")
    wanted = {tuple(row) for row in frame(spark, 50).drop("_routing_key").collect()}
    assert {tuple(row)[:4] for row in found.collect()} == wanted
    assert found.select("_stream").distinct().collect()[0][0] == "orders"
    assert found.select("_segment_id", "_offset").distinct().count() == 50
    assert load(spark, address, "_offset bigint").count() == 50
    columns = ", ".join(f"{name} '{value}'" for name, value in address.items())
    spark.sql(
        f"CREATE TEMPORARY VIEW sold_rows (id bigint, price decimal(10,2)) USING pravega OPTIONS ({columns})"
    )
    assert spark.sql("SELECT sum(price) FROM sold_rows").collect()[0][0] == sum(row[2] for row in wanted)


@pytest.mark.spark
def test_a_streaming_query_reads_json_and_writes_csv_exactly_once(
    spark: Any, client: Client, address: dict[str, str], tmp_path: Path
) -> None:
    frame(spark, 30).write.format("pravega").mode("append").options(**address).save()
    source = (
        spark.readStream.format("pravega")
        .options(**address, start_stream_cut="earliest")
        .schema("id bigint, item string")
        .load()
    )
    target = {**address, "stream": "copy", "format": "csv"}
    for _ in range(2):
        query = (
            source.selectExpr("id", "item", "item AS _routing_key")
            .writeStream.format("pravega")
            .options(**target, checkpointLocation=str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    rows = load(spark, target, "id bigint, item string").collect()
    assert sorted(tuple(row) for row in rows) == [(n, f"item {n}") for n in range(30)]


@pytest.mark.spark
def test_events_that_do_not_parse_fail_or_are_dropped_or_kept(
    spark: Any, client: Client, address: dict[str, str]
) -> None:
    stream = client.create_stream(f"{address['scope']}/orders", scaling=ScalingPolicy.fixed(1))
    stream.write([b'{"id": 1}', b'{"id": "one"}', b'{"id": 2}', b"\xff"])
    with pytest.raises(
        PySparkException, match=r"offset 17 of segment 0 .*begins with b'\{\"id\": \"one\"\}'"
    ):
        load(spark, address, "id bigint").collect()
    dropped = load(spark, address, "id bigint", corrupt_rows="drop").collect()
    assert [row.id for row in dropped] == [1, 2]
    kept = load(spark, address, "id bigint, _corrupt binary", corrupt_rows="keep").collect()
    assert [(row.id, row._corrupt) for row in kept] == [
        (1, None),
        (None, b'{"id": "one"}'),
        (2, None),
        (None, b"\xff"),
    ]


@pytest.mark.spark
def test_a_format_without_columns_is_refused_where_the_query_is_made(
    spark: Any, address: dict[str, str]
) -> None:
    with pytest.raises(PySparkException, match=r"format 'json' needs the columns of its rows. Add \.schema"):
        spark.read.format("pravega").options(**address).load().schema  # noqa: B018


def typed(schema: StructType, **options: str) -> TypedRows:
    parsed = parse_options({**ADDRESS, "format": "json", **options})
    check_typed_schema(parsed, schema)
    return TypedRows("json", parsed.format_options, arrow_schema(schema), "demo/orders", parsed.corrupt_rows)


def batch(*events: bytes) -> pa.RecordBatch:
    columns = {"event": list(events), "segment_id": [4] * len(events), "offset": list(range(len(events)))}
    types = pa.schema([("event", pa.binary()), ("segment_id", pa.int64()), ("offset", pa.int64())])
    return pa.RecordBatch.from_pydict(columns, schema=types)


def test_a_batch_without_one_good_event() -> None:
    schema = StructType().add("id", LongType()).add("_corrupt", BinaryType())
    rows = typed(schema, corrupt_rows="keep").rows(batch(b"x", b"y"))
    assert rows.to_pydict() == {"id": [None, None], "_corrupt": [b"x", b"y"]}
    builder = typed(StructType().add("id", LongType()), corrupt_rows="drop")
    assert builder.rows(batch(b"x", b"y")) is None
    assert builder.dropped == 2
    assert builder.rows(batch()) is None
    with pytest.raises(
        CorruptRowError, match="offset 0 of segment 4 of demo/orders is no row of format 'json'"
    ):
        typed(StructType().add("id", LongType())).rows(batch(b"x"))


REQUIRED = StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": False, "metadata": {}},
            {
                "name": "inner",
                "nullable": True,
                "metadata": {},
                "type": {
                    "type": "struct",
                    "fields": [
                        {"name": "day", "type": "date", "nullable": False, "metadata": {}},
                        {
                            "name": "counts",
                            "type": {"type": "array", "elementType": "integer", "containsNull": False},
                            "nullable": True,
                            "metadata": {},
                        },
                    ],
                },
            },
        ],
    }
)


def test_an_event_without_a_value_that_is_not_null_is_no_row() -> None:
    """Spark's JVM fails for such a value without a message, or counts it as one."""
    good = (
        b'{"id": 1, "inner": null}',
        b'{"id": 2, "inner": {"day": "2026-01-01"}}',
        b'{"id": 3, "inner": {"day": "2026-01-02", "counts": [1, 2]}}',
    )
    rows = typed(REQUIRED).rows(batch(*good))
    assert rows.schema == arrow_schema(REQUIRED)
    assert rows.to_pylist() == [
        {"id": 1, "inner": None},
        {"id": 2, "inner": {"day": date(2026, 1, 1), "counts": None}},
        {"id": 3, "inner": {"day": date(2026, 1, 2), "counts": [1, 2]}},
    ]
    for bad, name in (
        (b'{"inner": null}', "id"),
        (b'{"id": 4, "inner": {"counts": []}}', "inner.day"),
        (b'{"id": 4, "inner": {"day": "2026-01-01", "counts": [1, null]}}', r"inner.counts\[\]"),
    ):
        with pytest.raises(CorruptRowError, match=f"offset 1 .* '{name}' is NOT NULL"):
            typed(REQUIRED).rows(batch(good[0], bad))
        dropping = typed(REQUIRED, corrupt_rows="drop")
        assert dropping.rows(batch(good[0], bad, good[1])).column("id").to_pylist() == [1, 2]
        assert dropping.dropped == 1
    kept = StructType([*REQUIRED.fields]).add("_corrupt", BinaryType())
    with pytest.raises(BadInputError, match="column 'id' is NOT NULL, and option 'corrupt_rows' is 'keep'"):
        typed(kept, corrupt_rows="keep")


def test_parts_of_a_change_that_are_not_null_may_be_in_a_row_that_is_null() -> None:
    options = parse_options({**ADDRESS, "format": "debezium-json"})
    schema = arrow_schema(REQUIRED)
    reader = TypedRows("debezium-json", options.format_options, schema, "demo/orders")
    inserted = b'{"before": null, "after": {"id": 1, "inner": null}, "op": "c"}'
    assert reader.rows(batch(inserted)).to_pylist() == [{"id": 1, "inner": None}]
    with pytest.raises(CorruptRowError, match="'id' is NOT NULL"):
        reader.rows(batch(b'{"before": null, "after": {"inner": null}, "op": "c"}'))


@pytest.mark.parametrize(
    ("column", "kind", "options", "words"),
    [
        ("_Offset", LongType(), {}, "Write '_offset'"),
        ("_routing_key", StringType(), {}, "'_routing_key' cannot be read: it is the routing key"),
        ("_offset", StringType(), {}, "'_offset' is bigint, not string"),
        ("_row_kind", StringType(), {}, "no '_row_kind'. It belongs to format debezium-json and canal-json"),
        ("_table", LongType(), {"format": "maxwell-json"}, "'_table' is string, not bigint"),
        ("_corrupt", BinaryType(), {}, "Add .option.'corrupt_rows', 'keep'. to fill it"),
        ("id", LongType(), {"corrupt_rows": "keep"}, "the schema has no column '_corrupt binary'"),
        ("id", BinaryType(), {}, "'id' is binary, which format 'json' cannot contain"),
        ("_ofset", LongType(), {}, "Did you mean '_offset'.*set option 'field_columns' to '_ofset'"),
    ],
)
def test_a_schema_that_cannot_be_filled_is_refused(
    column: str, kind: Any, options: dict[str, str], words: str
) -> None:
    with pytest.raises(BadInputError, match=words):
        typed(StructType().add(column, kind), **options)


def test_a_field_may_begin_like_metadata() -> None:
    schema = StructType().add("_id", LongType()).add("_offset", LongType())
    assert typed(schema).rows(batch(b'{"_id":1,"_offset":9}')).to_pylist() == [{"_id": 1, "_offset": 0}]
    misspelt = StructType().add("_ofset", LongType())
    assert typed(misspelt, field_columns="_ofset").rows(batch(b'{"_ofset":9}')).to_pylist() == [{"_ofset": 9}]
    written = StructType().add("_id", LongType()).add("_routing_key", StringType())
    check_rows(written, "json", primary_key=())
    check_rows(StructType().add("_id", LongType()), "json", primary_key=("_id",))
    made = pa.RecordBatch.from_pylist([{"_id": 1, "_routing_key": "a"}], arrow_schema(written))
    events, keys = arrays(made, "json")
    assert (events.to_pylist(), keys.to_pylist()) == ([b'{"_id":1}'], ["a"])
    with pytest.raises(BadInputError, match="'_offset' cannot be written: it has the name of a metadata"):
        check_rows(schema, "json")


def test_an_expression_gives_the_routing_key() -> None:
    schema = StructType().add("id", LongType()).add("item", StringType())
    check_rows(schema, "json", key_expression="id % 7")
    made = pa.RecordBatch.from_pylist([{"id": 8, "item": "a"}, {"item": "b"}], arrow_schema(schema))
    events, keys = arrays(made, "json", key_expression="id % 7")
    assert events.to_pylist() == [b'{"id":8,"item":"a"}', b'{"id":null,"item":"b"}']
    assert keys.to_pylist() == ["1", None]
    with pytest.raises(BadInputError, match=r"Key field 'id % 7' not found.*goes into option 'routing_key'"):
        check_rows(schema, "json", "id % 7")
    with pytest.raises(BadInputError, match="'routing_key' is 'idd % 7': the rows have no column 'idd'"):
        check_rows(schema, "json", key_expression="idd % 7")
    with pytest.raises(BadInputError, match="column '_routing_key', and option 'routing_key' is 'id'"):
        check_rows(schema.add("_routing_key", StringType()), "json", key_expression="id")


def test_a_schema_of_the_events_with_the_name_of_metadata_is_refused() -> None:
    fields = [{"name": "_id", "type": "long"}, {"name": "_offset", "type": "long"}]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    options = parse_options({**ADDRESS, "format": "avro", "avro_schema": schema})
    with pytest.raises(BadInputError, match=r"the schema of Avro has field '_offset'.*Rename .* \.schema"):
        default_schema(options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"format": "json", "avro_schema": "{}"},
            "does not go with format 'json'. It belongs to format 'avro'",
        ),
        ({"avro_schema": "{}"}, "'avro_schema' was given without 'format'"),
        ({"format": "debezum-json"}, "no format 'debezum-json'.*'debezium-json'"),
        ({"primary_key": "id"}, "'primary_key' was given without 'format'"),
        ({"format": "json", "primary_key": "id,id"}, "'primary_key' is 'id,id'; it is one or several"),
        (
            {"format": "json", "primary_key": "id", "routing_key_column": "id"},
            "'primary_key' and 'routing_key_column' were both given",
        ),
        (
            {"format": "json", "routing_key": "id", "routing_key_column": "id"},
            "'routing_key_column' and 'routing_key' were both given",
        ),
        ({"routing_key": "id"}, "'routing_key' was given without 'format'"),
        ({"format": "jsn"}, "no format 'jsn'.*'json'"),
        ({"corrupt_rows": "drop"}, "'corrupt_rows' was given without 'format'"),
        ({"field_columns": "_ofset"}, "'field_columns' was given without 'format'"),
        ({"format": "json", "corrupt_rows": "skip"}, "one of fail, drop, keep"),
        ({"format": "json", "metadata": "Streams"}, "'format' and 'metadata' were both given"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        parse_options({**ADDRESS, **options})


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        ("_offset", LongType(), "'_offset' cannot be written.*Drop it"),
        ("_routing_key", LongType(), "'_routing_key' is bigint.*Cast it"),
        ("_routing_key", StringType(), "no column beside the routing key"),
        ("_routing_kye", StringType(), "'_routing_kye' would be a field.*Did you mean '_routing_key'"),
        ("months", YearMonthIntervalType(), "'months' is interval year to month.*Cast it to string"),
    ],
)
def test_rows_that_cannot_be_written_are_refused(column: str, kind: Any, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        check_rows(StructType().add(column, kind), "json")


def proto(folder: Path) -> dict[str, str]:
    """Write the descriptor of a message with two fields, and return the options."""
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=FieldDescriptorProto.TYPE_INT64, label=1)
    order.field.add(name="item", number=2, type=FieldDescriptorProto.TYPE_STRING, label=1)
    path = folder / "shop.desc"
    path.write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
    return {
        "format": "protobuf",
        "protobuf_message": "shop.Order",
        "protobuf_descriptor_file": str(path),
    }


@pytest.mark.spark
def test_messages_of_protobuf_are_written_and_read_with_the_columns_of_their_descriptor(
    spark: Any, client: Client, address: dict[str, str], tmp_path: Path
) -> None:
    given = {**address, **proto(tmp_path)}
    rows = spark.createDataFrame([(1, "tea"), (2, "cup")], "id bigint, item string")
    rows.write.format("pravega").mode("append").options(**given, primary_key="id").save()
    client.stream(f"{address['scope']}/orders").write([b"\xff"])
    found = spark.read.format("pravega").options(**given, corrupt_rows="drop").load()
    assert found.columns == ["id", "item"]
    assert sorted(map(tuple, found.collect())) == [(1, "tea"), (2, "cup")]


def test_a_descriptor_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    given = {**ADDRESS, **proto(tmp_path)}
    assert default_schema(parse_options(given)).simpleString() == "struct<id:bigint,item:string>"
    with pytest.raises(BadInputError, match=r"no-file', which cannot be read: No such file.*protoc"):
        parse_options({**given, "protobuf_descriptor_file": "no-file"})
    with pytest.raises(BadInputError, match="'protobuf_descriptor' are the same option"):
        parse_options({**given, "protobuf_descriptor": "aaaa"})
    del given["protobuf_descriptor_file"]
    with pytest.raises(BadInputError, match=r"begins with '#' and is not in base64.*descriptor_file"):
        parse_options({**given, "protobuf_descriptor": "#"})
    with pytest.raises(BadInputError, match="needs a descriptor and the name of a message"):
        default_schema(parse_options(given))


CHANGES = StructType().add("id", LongType()).add("_row_kind", StringType())


@pytest.mark.parametrize(
    ("schema", "format_name", "key", "words"),
    [
        (CHANGES, "debezium-json", (), "'_row_kind' and no primary key, .*Add .option.'primary_key'"),
        (CHANGES, "json", ("id",), "events of format 'json' have no row kind. Choose one of debezium-json"),
        (
            CHANGES,
            "canal-json",
            ("i",),
            "'primary_key' names 'i', which is no column of the rows. Did you mean 'id'",
        ),
        (
            StructType().add("id", LongType()).add("_routing_key", StringType()),
            *("json", ("id",), "column '_routing_key', and option 'primary_key' is 'id'. Both give"),
        ),
        (StructType().add("id", BinaryType()), "raw", ("id",), "'id' of the primary key is binary"),
        (
            StructType().add("_row_kind", StringType()),
            "canal-json",
            ("id",),
            "no column beside the routing key",
        ),
    ],
)
def test_a_primary_key_that_does_not_fit_the_rows_is_refused(
    schema: StructType, format_name: str, key: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BadInputError, match=words):
        check_rows(schema, format_name, primary_key=key)


def test_the_routing_key_is_the_primary_key_and_an_update_of_it_is_two_events() -> None:
    rows = [(1, "a", "-U"), (1, "b", "+U"), (1, "b", "-U"), (2, "b", "+U"), (2, "b", "-D")]
    names = ["id", "item", "_row_kind"]
    batch = pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    events, keys = arrays(batch, "maxwell-json", primary_key=("id",))
    assert keys.to_pylist() == ["1", "1", "2", "2"]
    assert [json.loads(event)["type"] for event in events.to_pylist()] == [
        "update",
        "delete",
        "insert",
        "delete",
    ]
    _, keys = arrays(batch.drop_columns(["_row_kind"]), "json", primary_key=("id", "item"))
    assert keys.to_pylist() == ["1|a", "1|b", "1|b", "2|b", "2|b"]
    with pytest.raises(BadInputError, match="'id' of the primary key is null in 1 of 1 rows"):
        arrays(
            pa.RecordBatch.from_pylist([{"id": None}], pa.schema([("id", pa.int64())])),
            "json",
            primary_key=["id"],
        )


@pytest.mark.spark
def test_change_rows_are_written_by_primary_key_and_read_in_order(
    spark: Any, client: Client, address: dict[str, str], tmp_path: Path
) -> None:
    stream = client.create_stream(f"{address['scope']}/orders", scaling=ScalingPolicy.fixed(3))
    columns = "id bigint, item string, _row_kind string"
    rows = [(n % 7, f"v{n // 7}", "+I" if n < 7 else "-D" if n >= 63 else kind) for n in range(70)
            for kind in (["+U"] if n < 7 or n >= 63 else ["-U", "+U"])]  # fmt: skip
    changes = {**address, "format": "debezium-json"}
    made = spark.createDataFrame(rows, columns).coalesce(1)
    made.write.format("pravega").mode("append").options(**changes, primary_key="id").save()
    stream.write([b"", b"{}"])

    found = load(
        spark, changes, f"{columns}, _offset bigint, _segment_id bigint", corrupt_rows="drop"
    ).collect()
    assert len(found) == len(rows)
    for key in range(7):
        mine = [row for row in found if row.id == key]
        assert [(row.item, row._row_kind) for row in mine] == [row[1:] for row in rows if row[0] == key]
        assert len({row._segment_id for row in mine}) == 1
        assert [row._offset for row in mine] == sorted(row._offset for row in mine)
    kept = load(spark, changes, f"{columns}, _corrupt binary", corrupt_rows="keep").collect()
    assert [tuple(row) for row in kept if row._corrupt is not None] == [(None, None, None, b"{}")]
    assert len(kept) == len(rows) + 1
    assert load(spark, changes, "_offset bigint", corrupt_rows="drop").count() == len(rows)

    copy = {**address, "format": "maxwell-json", "stream": "copy"}
    source = spark.readStream.format("pravega").options(**changes, corrupt_rows="drop")
    for _ in range(2):
        sink = source.option("start_stream_cut", "earliest").schema(columns).load().writeStream
        sink = sink.format("pravega").options(**copy, primary_key="id", checkpointLocation=str(tmp_path))
        sink.trigger(availableNow=True).start().awaitTermination()
    copied = load(spark, copy, columns).collect()
    for key in range(7):
        mine = [(row.item, row._row_kind) for row in copied if row.id == key]
        assert mine == [row[1:] for row in rows if row[0] == key]


def test_the_default_columns_of_raw_rows() -> None:
    assert default_schema(parse_options({**ADDRESS, "format": "raw"})) == "event binary"


AVRO = """{"type": "record", "name": "order", "fields": [
    {"name": "id", "type": "long"}, {"name": "item", "type": ["null", "string"]}]}"""
LATER = AVRO.replace("]}]}", ']}, {"name": "place", "type": "string", "default": "Berlin"}]}')


@pytest.mark.spark
def test_avro_is_written_and_read_with_a_given_schema_a_later_one_and_a_derived_one(
    spark: Any, address: dict[str, str]
) -> None:
    rows = spark.createDataFrame([(1, "tea"), (2, None)], "id bigint, item string")
    given = {**address, "format": "avro", "avro_schema": AVRO}
    rows.write.format("pravega").mode("append").options(**given).save()
    found = spark.read.format("pravega").options(**given, avro_reader_schema=LATER).load()
    assert found.columns == ["id", "item", "place"]
    assert sorted(map(tuple, found.collect())) == [(1, "tea", "Berlin"), (2, None, "Berlin")]
    assert sorted(row.id for row in load(spark, given, "id bigint").collect()) == [1, 2]
    wrong = "bytes follow|ends in the middle"
    with pytest.raises(PySparkException, match=rf"segment 0 .*is no row of format 'avro': .*{wrong}"):
        load(spark, {**address, "format": "avro"}, "id bigint").collect()
    with pytest.raises(PySparkException, match=r"column .itm. is not in the Avro schema"):
        load(spark, given, "itm string").collect()

    derived = {**address, "stream": "derived", "format": "avro"}
    frame(spark, 20).write.format("pravega").mode("append").options(**derived).save()
    wanted = {tuple(row) for row in frame(spark, 20).drop("_routing_key").collect()}
    assert {tuple(row) for row in load(spark, derived, ORDERS).collect()} == wanted

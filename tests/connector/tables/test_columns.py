"""Columns as SQL writes them, their Arrow types, and descriptions as bytes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pravega_lab.connector.tables.columns import (
    Column,
    arrow_schema,
    arrow_type,
    ddl,
    exact_ddl,
    parse_columns,
    source_ddl,
)
from pravega_lab.connector.tables.description import Description
from pravega_lab.errors import BadInputError
from tests.connector.tables.described import describe


def test_columns_are_a_name_and_a_type() -> None:
    found = parse_columns(
        "id BIGINT, `a, b` decimal( 10, 2 ), tags array<string>, at: struct<x:int, y: date>"
    )
    assert [column.name for column in found] == ["id", "a, b", "tags", "at"]
    assert arrow_schema(found).types == [
        pa.int64(),
        pa.decimal128(10, 2),
        pa.list_(pa.string()),
        pa.struct([("x", pa.int32()), ("y", pa.date32())]),
    ]
    assert parse_columns(ddl(found)) == found
    assert parse_columns("`a``b` int") == (Column("a`b", "int"),)


def test_exact_types_do_not_depend_on_the_session_of_spark() -> None:
    found = parse_columns("timestamp TIMESTAMP, s struct<timestamp: array<timestamp>, n: timestamp_ntz>")
    exact = "`timestamp` timestamp_ltz, `s` struct<timestamp:array<timestamp_ltz>,n:timestamp_ntz>"
    assert exact_ddl(found) == exact


def test_fields_of_structs_keep_their_names() -> None:
    text = "who STRUCT<firstName: STRING, `a b`: ARRAY<STRUCT<x1:INT>>>, m map<String, struct<`ü`:Date>>"
    found = parse_columns(text)
    assert arrow_schema(found).types == [
        pa.struct([("firstName", pa.string()), ("a b", pa.list_(pa.struct([("x1", pa.int32())])))]),
        pa.map_(pa.string(), pa.struct([("ü", pa.date32())])),
    ]
    assert [column.type for column in found] == [
        "struct<firstName:string,`a b`:array<struct<x1:int>>>",
        "map<string,struct<`ü`:date>>",
    ]
    assert parse_columns(ddl(found)) == found


@pytest.mark.parametrize(
    ("text", "arrow"),
    [
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("map<string,bigint>", pa.map_(pa.string(), pa.int64())),
        ("varchar(20)", pa.string()),
        ("decimal", pa.decimal128(10, 0)),
    ],
)
def test_types_have_arrow_types(text: str, arrow: pa.DataType) -> None:
    assert arrow_type(text) == arrow


def test_a_source_has_columns_that_are_the_same_in_every_session_and_that_spark_takes() -> None:
    columns = parse_columns(
        "at timestamp, `a b` varchar(3), parts array<struct<code:char(2),n:timestamp_ntz>>"
    )
    expected = "`at` timestamp_ltz, `a b` string, `parts` array<struct<code:string,n:timestamp_ntz>>"
    assert source_ddl(columns) == expected
    assert "varchar(3)" in exact_ddl(columns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id bigin", "column 'id': there is no type 'bigin'. Did you mean 'bigint'"),
        ("id", "'id' is no column"),
        ("id int, ID bigint", "'id' is there twice"),
        ("d decimal(50,2)", r"no type 'decimal\(50,2\)'"),
        ("a array<string,int>", "column 'a': there is no type 'array"),
        ("a struct<b:strin>", "column 'a': column 'b': there is no type 'strin'"),
    ],
)
def test_wrong_columns_are_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        parse_columns(text)
    with pytest.raises(BadInputError, match="columns None: write them as a text"):
        parse_columns(None)  # type: ignore[arg-type]


def test_a_description_is_read_back_from_its_bytes() -> None:
    made = describe(
        "id bigint, at timestamp, name string",
        "JSON",
        options={"routing_key_column": "name"},
        primary_key=("id",),
        watermark=("at", "5 s"),
        first_segments=(0, 1),
    )
    assert made.format == "json"
    assert Description.from_bytes(made.to_bytes()) == made
    with pytest.raises(BadInputError, match="Install a newer pravega-lab"):
        Description.from_bytes(made.to_bytes().replace(b'"version": 1', b'"version": 9'))


def test_a_description_names_columns_that_exist() -> None:
    with pytest.raises(BadInputError, match="primary_key names column 'key', and the table has: id"):
        describe("id bigint", "json", primary_key=("key",))
    with pytest.raises(BadInputError, match="Did you mean 'json'"):
        describe("id bigint", "jsn")
    with pytest.raises(BadInputError, match="the delay of the watermark is 'soon'"):
        describe("at timestamp", "json", watermark=("at", "soon"))
    with pytest.raises(
        BadInputError, match=r"column 'at' gives the watermark and is string. Use a timestamp"
    ):
        describe("at string", "json", watermark=("at", "5 s"))
    with pytest.raises(BadInputError, match="'corrupt_rows' is 'skip'; it is one of fail, drop, keep"):
        describe("id bigint", "json", options={"corrupt_rows": "skip"})

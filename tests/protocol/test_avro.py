"""Avro schemas: which are taken and which read which, as a released registry 0.6.0 answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.normal_form import normal_form
from pravega_lab.protocol.avro.resolution import can_read, sources
from pravega_lab.protocol.avro.schema import AvroField, AvroSchema, parse_schema

ANSWERS = json.loads((Path(__file__).parent / "golden" / "avro-answers.json").read_text())
TYPES = ANSWERS["types"]


def record_of(type_: Any) -> AvroSchema:
    fields = [{"name": "a", "type": type_}]
    return parse_schema(json.dumps({"type": "record", "name": "R", "fields": fields}))


@pytest.mark.parametrize("number", range(len(TYPES)), ids=lambda n: json.dumps(TYPES[n]))
def test_what_is_read_as_recorded(number: int) -> None:
    written = record_of(TYPES[number])
    ours = ["=" if n == number else str(int(can_read(record_of(t), written))) for n, t in enumerate(TYPES)]
    assert "".join(ours) == ANSWERS["fits"][number]


@pytest.mark.parametrize(("writer", "reader", "reads"), ANSWERS["records"])
def test_records_as_recorded(writer: Any, reader: Any, reads: bool) -> None:
    assert can_read(parse_schema(json.dumps(reader)), parse_schema(json.dumps(writer))) is reads


@pytest.mark.parametrize(
    ("fields", "written", "expected"),
    [
        ({"b": "a", "z": ""}, "az", {"b": "a", "z": "z"}),
        ({"b": "a", "c": "b"}, "ab", {"b": "a", "c": "b"}),
        ({"b": "a", "c": "b"}, "bc", {"b": "b", "c": "c"}),
        ({"a": "", "b": "a"}, "a", {"b": "a"}),
        ({"a": "", "b": "a"}, "ab", {"a": "a", "b": "b"}),
        ({"a": "b", "b": "a"}, "ab", {"a": "a", "b": "b"}),
        ({"x": "ab"}, "ab", {"x": "a"}),
        ({"x": "a", "y": "a"}, "a", {"x": "a"}),
        ({"d": "c", "c": "b", "b": "a"}, "abc", {"d": "c", "c": "b", "b": "a"}),
    ],
)
def test_a_field_that_is_renamed_is_read_under_its_new_name(
    fields: dict[str, str], written: str, expected: dict[str, str]
) -> None:
    """``fields`` has the aliases of each field of the reader, one letter each."""
    number = AvroSchema("int")
    reader = [AvroField(name, number, aliases=tuple(aliases)) for name, aliases in fields.items()]
    assert sources(reader, written) == expected


@pytest.mark.parametrize(("text", "is_taken"), ANSWERS["schemas"])
def test_schemas_are_taken_as_recorded(text: str, is_taken: bool) -> None:
    if not is_taken:
        with pytest.raises(BadInputError, match="no Avro schema"):
            parse_schema(text)
        return
    normal = normal_form(parse_schema(text))
    assert normal_form(parse_schema(normal)) == normal


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ('{"name":"R", "fields":[], "namespace":"n", "type":"record"}', None),
        ('{"type":"record","name":"n.R","fields":[]}', None),
        ('{"type":"record","namespace":"m","name":"n.R","fields":[]}', None),
        ('{"type":"record","name":"R","fields":[]}', '{"type":"record","name":"R","fields":[]}'),
    ],
)
def test_spellings_of_a_schema_have_one_normal_form(text: str, normal: str | None) -> None:
    expected = normal or '{"type":"record","name":"R","namespace":"n","fields":[]}'
    assert normal_form(parse_schema(text)) == expected


def test_a_type_is_written_out_once() -> None:
    text = (
        '{"type":"record","name":"R","namespace":"n","fields":['
        '{"name":"f","type":{"type":"fixed","name":"F","namespace":"m","size":2}},'
        '{"name":"g","type":["null","m.F","R"],"default":null}]}'
    )
    assert normal_form(parse_schema(text)) == text


def test_a_schema_nested_without_end_is_refused_in_words() -> None:
    with pytest.raises(BadInputError, match="nested too deeply"):
        parse_schema('{"type":"array","items":' * 20_000 + '"int"' + "}" * 20_000)

"""One description of rows, with the options of its format, serves Arrow, pandas and the engine."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from pravega_lab.client import Client
from pravega_lab.connector.tables.engine import TableEvents, TableRows
from pravega_lab.connector.tables.table import Table
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.errors import BadInputError
from tests.connector.tables.described import describe

COLUMNS = "id bigint, item string"
ROWS = [{"id": 1, "item": "tea"}, {"id": 2, "item": "cup"}]


def descriptor_set() -> bytes:
    """Return the descriptor of message ``shop.Order`` with the fields of `COLUMNS`."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=descriptor_pb2.FieldDescriptorProto.TYPE_INT64, label=1)
    order.field.add(name="item", number=2, type=descriptor_pb2.FieldDescriptorProto.TYPE_STRING, label=1)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


DESCRIPTOR = descriptor_set()
AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "item", "type": "string"}, {"name": "id", "type": "long"}],  # the other order
    }
)
EVENTS = {
    "protobuf": [b"\x08\x01\x12\x03tea", b"\x08\x02\x12\x03cup"],
    "csv": [b'1,"tea"', b'2,"cup"'],
    "avro": [b"\x06tea\x02", b"\x06cup\x04"],
}
OPTIONS = {
    "protobuf": {
        "protobuf_descriptor": base64.b64encode(DESCRIPTOR).decode(),
        "protobuf_message": "shop.Order",
    },
    "csv": {"ordered": "false"},
    "avro": {"avro_schema": AVRO},
}


@pytest.mark.parametrize("name", EVENTS)
def test_options_of_the_format_reach_every_reader(
    name: str, client: Client, scope_name: Callable[[], str], tmp_path: Path
) -> None:
    table = Table.create(f"{scope_name()}/orders").schema(COLUMNS).format(name).on(client)
    for option, value in OPTIONS[name].items():
        table = table.option(option, value)
    table.save()
    stream = client.stream(table.scoped_stream)
    stream.write(EVENTS[name], ["k", "k"])
    found = Table.load(client, table.scoped_stream)
    assert found.arrow().read_all().to_pylist() == ROWS
    assert found.to_pandas().to_dict("records") == ROWS
    description = describe(COLUMNS, name, options=OPTIONS[name])
    assert TableEvents(description=description).of(Batch.of_rows(ROWS))[0] == EVENTS[name]
    with stream.read() as batches:
        (batch,) = batches.next_batches()
    assert TableRows(description=description).batch(table.scoped_stream, batch).rows == ROWS
    if name == "protobuf":
        (tmp_path / "shop.desc").write_bytes(DESCRIPTOR)
        in_file = {"protobuf_descriptor_file": str(tmp_path / "shop.desc"), "protobuf_message": "shop.Order"}
        assert (
            describe(COLUMNS, name, options=in_file).row_format().parse(batch.column("event")).to_pylist()
            == ROWS
        )


def test_changes_are_read_as_arrow_with_their_kinds(client: Client, scope_name: Callable[[], str]) -> None:
    table = Table.create(f"{scope_name()}/changes").schema(f"{COLUMNS}, _row_kind string").on(client)
    table = table.format("debezium-json").save()
    tea, cup = ROWS[0], {"id": 1, "item": "cup"}
    changes = [(None, tea, "c"), (tea, cup, "u"), (cup, None, "d")]
    events = [json.dumps({"before": old, "after": new, "op": op}).encode() for old, new, op in changes]
    client.stream(table.scoped_stream).write([*events, b""], ["1"] * 4)
    found = table.arrow().read_all()
    assert found.schema.names == ["id", "item", "_row_kind"]
    assert [(row["item"], row["_row_kind"]) for row in found.to_pylist()] == [
        ("tea", "+I"), ("tea", "-U"), ("cup", "+U"), ("cup", "-D")
    ]  # fmt: skip


def test_a_registry_format_has_the_group_of_the_stream() -> None:
    orders = Table.create("shop/orders").schema(COLUMNS).format("pravega-registry")
    with_registry = orders.option("pravega-registry.uri", "http://127.0.0.1:1")
    with_registry.described().check()
    assert with_registry.described().options["registry_group"] == "orders"
    with pytest.raises(BadInputError, match="option 'registry_uri' is missing"):
        orders.described().check()


def test_options_that_do_not_fit_the_format_are_refused() -> None:
    with pytest.raises(BadInputError, match="not in base64"):
        describe(COLUMNS, "protobuf", options={**OPTIONS["protobuf"], "protobuf_descriptor": "?"})
    with pytest.raises(BadInputError, match="needs a descriptor and the name of a message"):
        describe(COLUMNS, "protobuf")
    with pytest.raises(
        BadInputError, match=r"'avro_schema' does not go with format 'csv'.*belongs to format 'avro'"
    ):
        describe(COLUMNS, "csv", options=OPTIONS["avro"])

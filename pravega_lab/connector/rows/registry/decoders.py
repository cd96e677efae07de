"""Decode the events of one encoding id into rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pravega_lab.client.registry.serializers import codecs
from pravega_lab.connector.rows.avro.decode import AvroDecoder
from pravega_lab.connector.rows.avro.schema import NOT_GIVEN, AvroField, AvroType, parse_schema
from pravega_lab.connector.rows.json_rows import JsonRows
from pravega_lab.connector.rows.parsing import UnreadableRowError
from pravega_lab.connector.rows.protobuf.protobuf_rows import ProtobufRows
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.resolution import sources
from pravega_lab.protocol.registry.header import HEADER_BYTES, PROTOCOL
from pravega_lab.protocol.registry.names import AVRO, JSON, NO_CODEC, PROTOBUF
from pravega_lab.protocol.registry.values import SchemaInfo


class Decoder:
    """Decodes the events of one encoding id."""

    def __init__(self, schema: SchemaInfo, codec: str, columns: Any, latest: SchemaInfo | None) -> None:
        self._codec = codec
        self._columns = columns
        kind = schema.format.kind
        if latest is not None and latest.format.kind != kind:
            raise BadInputError(f"it is {schema.format.name}, and the latest one is {latest.format.name}")
        self._avro: AvroDecoder | None = None
        self._rows: JsonRows | _Messages | None = None
        if kind == AVRO:
            self._avro = _avro_decoder(schema, codec, columns, latest)
        elif kind == JSON:
            self._rows = JsonRows(known_columns(schema, columns) if latest is None else columns)
        elif kind == PROTOBUF:
            self._rows = _Messages(message_rows(schema, columns, may_lack=latest is not None))
        else:
            raise BadInputError(f"format 'pravega-registry' has no rows of {schema.format.name}")

    def parse(self, events: Any) -> Any:
        """Return the rows of events. Raises UnreadableRowError."""
        if self._avro is not None and self._codec == NO_CODEC:
            return self._avro.decode(events)
        bodies = self._bodies(events)
        if self._avro is not None:
            return self._avro.decode(bodies)
        assert self._rows is not None
        return self._rows.parse(bodies)

    def _bodies(self, events: Any) -> Any:
        import pyarrow as pa

        bodies = _without_headers(events)
        if self._codec == NO_CODEC:
            return bodies
        try:
            decoded = [codecs.decode(self._codec, body) for body in bodies.to_pylist()]
        except BadInputError as error:
            raise UnreadableRowError(str(error)) from None
        if isinstance(self._rows, JsonRows):  # Java compresses whole buffers, so that zeros follow
            decoded = [body.rstrip(b"\0") for body in decoded]
        return pa.array(decoded, pa.binary())


def _avro_decoder(schema: SchemaInfo, codec: str, columns: Any, latest: SchemaInfo | None) -> AvroDecoder:
    in_header = HEADER_BYTES if codec == NO_CODEC else 0
    written = parse_schema(schema.data)
    return AvroDecoder(
        written,
        columns,
        None if latest is None else _reader(parse_schema(latest.data), written, columns),
        header_bytes=in_header,
        may_be_followed=codec != NO_CODEC,
    )


def _reader(latest: AvroType, written: AvroType, columns: Iterable[Any]) -> AvroType:
    """Return the latest record with the columns that it no longer has: a running query keeps them.

    They have the values with which the events were written. What neither an event nor a default has is null.
    The same holds for the fields of records inside the record.
    """
    kinds = {column.name: column.type for column in columns}
    there = {field.name for field in latest.fields}
    fields = {field.name: field for field in written.fields}
    absent = AvroType("null")
    dropped = [fields.get(name, AvroField(name, absent)) for name in kinds if name not in there]
    known = list(latest.fields)
    if dropped:  # an alias is no reason to take a column from a query that began with an earlier schema
        known = [replace(field, aliases=tuple(n for n in field.aliases if n not in kinds)) for field in known]
    read = sources(known, fields)
    kept = []
    for field in known:
        if field.name in read and field.name in kinds:
            written_type = fields[read[field.name]].type
            field = replace(field, type=_reader_type(field.type, written_type, kinds[field.name]))
        kept.append(field)
    return replace(latest, fields=tuple(map(_or_null, (*kept, *dropped))))


def _reader_type(latest: AvroType, written: AvroType, kind: Any) -> AvroType:
    """Return the latest type of a column with the fields of its records that the latest no longer has."""
    import pyarrow.types as types

    if latest.kind == "union":
        return replace(latest, parts=tuple(_reader_type(part, written, kind) for part in latest.parts))
    source = next((part for part in written.without_null if part.kind == latest.kind), None)
    if source is None:
        return latest
    if latest.kind == "record" and types.is_struct(kind):
        return _reader(latest, source, kind)
    if latest.kind == "array" and types.is_list(kind):
        return replace(latest, parts=(_reader_type(latest.parts[0], source.parts[0], kind.value_type),))
    if latest.kind == "map" and types.is_map(kind):
        return replace(latest, parts=(_reader_type(latest.parts[0], source.parts[0], kind.item_type),))
    return latest


def _or_null(field: AvroField) -> AvroField:
    return replace(field, default=None) if field.default is NOT_GIVEN else field


def known_columns(schema: SchemaInfo, columns: Any) -> Any:
    """Return the columns. Raises `BadInputError` if one is not in a JSON Schema that lists its properties."""
    import json

    properties = json.loads(schema.data).get("properties")
    for name in columns.names:
        if isinstance(properties, dict) and properties and name not in properties:
            known = ", ".join(properties)
            raise BadInputError(
                f"column '{name}' is not in the JSON Schema '{schema.type}', which has {known}"
            )
    return columns


class _Messages:
    """Rows of messages, which Java may have compressed."""

    def __init__(self, inner: ProtobufRows) -> None:
        self._inner = inner

    def parse(self, bodies: Any) -> Any:
        import pyarrow as pa

        try:
            return self._inner.parse(bodies)
        except UnreadableRowError:  # or of buffers that Java compressed, so that zeros follow
            stripped = [body.rstrip(b"\0") for body in bodies.to_pylist()]
            return self._inner.parse(pa.array(stripped, pa.binary()))


def message_rows(schema: SchemaInfo, columns: Any, *, may_lack: bool = False) -> ProtobufRows:
    return ProtobufRows(columns, schema.data, schema.type, may_lack=may_lack)


def _parts(events: Any) -> tuple[Any, Any]:
    """Return the offsets of an Arrow array of binary, and the bytes that they are in."""
    import numpy as np

    offsets = np.frombuffer(events.buffers()[1], np.int32)[events.offset : events.offset + len(events) + 1]
    return offsets, np.frombuffer(events.buffers()[2] or b"", np.uint8)


def _without_headers(events: Any) -> Any:
    """Return events that have a header, without it."""
    import numpy as np
    import pyarrow as pa

    offsets, data = _parts(events)
    is_body = np.ones(offsets[-1] - offsets[0], bool)
    is_body[(offsets[:-1, None] - offsets[0] + np.arange(HEADER_BYTES)).ravel()] = False
    bodies = data[offsets[0] : offsets[-1]][is_body]
    ends = offsets - offsets[0] - HEADER_BYTES * np.arange(len(offsets))
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(bodies)]
    return pa.Array.from_buffers(pa.binary(), len(events), buffers)


def encoding_ids(events: Any) -> Any:
    """Return the encoding id of each event. Raises UnreadableRowError if one has no header."""
    import numpy as np

    offsets, data = _parts(events)
    starts = offsets[:-1]
    if (np.diff(offsets) < HEADER_BYTES).any() or (data[starts] != PROTOCOL).any():
        raise UnreadableRowError("it has no header of a schema registry, which is 01 and an encoding id")
    places = starts[:, None] + np.arange(1, HEADER_BYTES)
    return data[places].astype(np.int64) @ np.array([1 << 24, 1 << 16, 1 << 8, 1])

"""Encode rows as events of one encoding id."""

from __future__ import annotations

from typing import Any

from pravega_lab.client.registry.serializers import codecs
from pravega_lab.connector.rows.avro.arrow_types import arrow_schema_of
from pravega_lab.connector.rows.avro.encode import AvroEncoder
from pravega_lab.connector.rows.json_rows import JsonRows
from pravega_lab.connector.rows.registry.decoders import known_columns, message_rows
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.names import AVRO, JSON, NO_CODEC, PROTOBUF
from pravega_lab.protocol.registry.values import SchemaInfo


class Encoder:
    """Encodes rows with one schema."""

    def __init__(self, schema: SchemaInfo, codec: str, columns: Any, header: bytes) -> None:
        self._codec, self._header = codec, header
        kind = schema.format.kind
        if kind == AVRO:
            arrow_schema_of(schema.data)  # refuses what has no columns
            self._encode = AvroEncoder(schema.data, columns).encode
        elif kind == JSON:
            self._encode = JsonRows(known_columns(schema, columns)).encode
        elif kind == PROTOBUF:
            self._encode = message_rows(schema, columns).encode
        else:
            raise BadInputError(f"format 'pravega-registry' writes no rows of {schema.format.name}")

    def encode(self, rows: Any) -> Any:
        """Return the events of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        bodies = self._encode(rows)
        if self._codec != NO_CODEC:
            bodies = pa.array([codecs.encode(self._codec, body) for body in bodies.to_pylist()], pa.binary())
        header = pa.scalar(self._header, pa.binary())
        return pc.binary_join_element_wise(header, bodies, pa.scalar(b"", pa.binary()))

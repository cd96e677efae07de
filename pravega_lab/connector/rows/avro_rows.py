"""Rows as Avro's binary encoding, one datum per event, without a header or a container.

Events of Avro do not say with which schema they were written, so the reader must know it. A schema that is
not given is derived from the columns. Reader and writer then need the same columns in the same order.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.connector.rows.avro.arrow_types import avro_json_of
from pravega_lab.connector.rows.avro.decode import AvroDecoder
from pravega_lab.connector.rows.avro.encode import AvroEncoder


class AvroRows:
    """Parses and encodes rows of one Arrow schema as Avro.

    Args:
        schema: The Arrow schema of the columns.
        avro_schema: The JSON of the schema of the events. None derives it from the columns.
        avro_reader_schema: The JSON of a later schema, whose aliases and defaults apply when events are read.

    Raises:
        BadInputError: A schema is none, or the columns do not fit it.
    """

    def __init__(
        self, schema: Any, avro_schema: str | None = None, avro_reader_schema: str | None = None
    ) -> None:
        import pyarrow as pa

        self._schema = pa.schema(list(schema))
        self._written = avro_schema or avro_json_of(self._schema)
        self._reader = avro_reader_schema
        self._decoder: AvroDecoder | None = None
        self._encoder: AvroEncoder | None = None

    def check_reading(self) -> None:
        """Refuse columns that cannot be read.

        Raises:
            BadInputError: A column is not in the schema, or has another type there.
        """
        self._decoder = self._decoder or AvroDecoder(self._written, self._schema, self._reader)

    def check_writing(self) -> None:
        """Refuse columns that cannot be written.

        Raises:
            BadInputError: A column and its field do not fit, or one of them is missing.
        """
        self._encoder = self._encoder or AvroEncoder(self._written, self._schema)

    def parse(self, events: Any) -> Any:
        """Return one row per event.

        Raises:
            UnreadableRowError: An event is not exactly one datum of the schema.
        """
        self.check_reading()
        assert self._decoder is not None
        return self._decoder.decode(events)

    def encode(self, rows: Any) -> Any:
        """Return one datum per row.

        Raises:
            BadInputError: A value is null where the schema has no null, or is no symbol of an enum.
        """
        self.check_writing()
        assert self._encoder is not None
        return self._encoder.encode(rows)

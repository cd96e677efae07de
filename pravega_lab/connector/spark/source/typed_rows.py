"""Typed rows of the source: events parsed into the columns of the user's schema, with option ``format``.

A column with the name of a metadata column is metadata of the event, and every other is a field of the row.
Spark passes on only the columns of the user's schema, so fields that it leaves out are not parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pravega_lab.connector.rows.formats import row_format
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY, registry_columns
from pravega_lab.connector.rows.typed_rows import (
    KEEP,
    TypedRows,
    check_corrupt,
    check_fields,
    check_metadata,
    fields_of,
)
from pravega_lab.connector.spark.options import PravegaOptions
from pravega_lab.connector.spark.source.rows import arrow_schema
from pravega_lab.errors import BadInputError


def default_schema(options: PravegaOptions) -> Any:
    """Return the columns that the options give a format without a schema of the user's.

    Raises:
        BadInputError: Only the user can know the columns.
    """
    if options.format == "raw":
        return "event binary"
    if options.format == REGISTRY:
        return _of_fields(options, registry_columns(options.format_options), "the schema of the group")
    if options.format == "avro" and options.avro_schema:
        from pravega_lab.connector.rows.avro.arrow_types import arrow_schema_of

        fields = arrow_schema_of(options.avro_reader_schema or options.avro_schema)
        return _of_fields(options, fields, "the schema of Avro")
    if options.format == "protobuf":
        from pravega_lab.connector.rows.protobuf import arrow_types
        from pravega_lab.connector.rows.protobuf.protobuf_rows import class_of

        message = class_of(options.protobuf_descriptor, options.protobuf_message)
        fields = arrow_types.arrow_schema_of(message.DESCRIPTOR)
        return _of_fields(options, fields, f"message '{options.protobuf_message}'")
    known = ", or .option('avro_schema', …)" if options.format == "avro" else ""
    raise BadInputError(
        f"format '{options.format}' needs the columns of its rows. Add "
        f".schema('id bigint, name string'), with names and types of your rows{known}"
    )


def _of_fields(options: PravegaOptions, fields: Any, where: str) -> Any:
    """Return the columns of fields in Arrow. Raises `ReservedFieldError` if one has the name of metadata."""
    from pyspark.sql.pandas.types import from_arrow_schema

    check_fields(fields.names, str(options.format), where)
    return from_arrow_schema(fields)


def check_typed_schema(options: PravegaOptions, schema: Any) -> None:
    """Refuse a schema that the format or the metadata of events cannot fill.

    Raises:
        BadInputError: A type is none of the format's, a metadata column is of another format or type, or
            column ``_corrupt`` and option ``corrupt_rows`` contradict each other.
    """
    for field in schema.fields:
        check_metadata(
            *(field.name, field.dataType.simpleString(), str(options.format)), options.field_columns
        )
    if not (options.corrupt_rows == KEEP and options.in_catalog):  # which asks for the columns that it needs
        check_corrupt(options.corrupt_rows, schema.fieldNames())
    fields = fields_of(arrow_schema(schema), str(options.format))
    required = [field.name for field in fields if not field.nullable]
    if options.corrupt_rows == KEEP and required:
        raise BadInputError(
            f"column '{required[0]}' is NOT NULL, and option 'corrupt_rows' is 'keep', which leaves the "
            "columns of an event that does not parse null. Leave NOT NULL out"
        )
    if fields or options.format == "raw":
        row_format(str(options.format), fields, options.format_options).check_reading()


def typed_rows(
    options: PravegaOptions, schema: Any, scoped_stream: str, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield the typed rows of all ``batches`` of one stream, and say at the end how many were dropped.

    Raises:
        CorruptRowError: An event does not parse, and such events are not to be dropped or kept.
    """
    name = str(options.format)
    yield from TypedRows(name, options.format_options, schema, scoped_stream, options.corrupt_rows).all_rows(
        batches
    )

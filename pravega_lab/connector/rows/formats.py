"""The formats of rows, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pravega_lab.connector.rows.avro_rows import AvroRows
from pravega_lab.connector.rows.changes.debezium import METADATA as DEBEZIUM_METADATA
from pravega_lab.connector.rows.changes.debezium import DebeziumRows
from pravega_lab.connector.rows.changes.partial import (
    CANAL_METADATA,
    MAXWELL_METADATA,
    CanalRows,
    MaxwellRows,
)
from pravega_lab.connector.rows.csv_rows import CsvRows
from pravega_lab.connector.rows.json_rows import JsonRows
from pravega_lab.connector.rows.parsing import RowFormat
from pravega_lab.connector.rows.protobuf.protobuf_rows import ProtobufRows
from pravega_lab.connector.rows.raw_rows import RawRows
from pravega_lab.connector.rows.registry.registry_rows import RegistryRows
from pravega_lab.errors import BadInputError

FORMATS: dict[str, Callable[..., RowFormat]] = {
    "json": JsonRows,
    "csv": CsvRows,
    "raw": RawRows,
    "avro": AvroRows,
    "pravega-registry": RegistryRows,
    "protobuf": ProtobufRows,
    "debezium-json": DebeziumRows,
    "canal-json": CanalRows,
    "maxwell-json": MaxwellRows,
}
#: The metadata columns of the formats of changes, with their types in Spark. Other formats have none.
FORMAT_METADATA: dict[str, dict[str, str]] = {
    "debezium-json": DEBEZIUM_METADATA,
    "canal-json": CANAL_METADATA,
    "maxwell-json": MAXWELL_METADATA,
}
#: The options of a format: keyword arguments of its class, and names of options of Spark's source and sink.
FORMAT_OPTIONS: dict[str, tuple[str, ...]] = {
    "avro": ("avro_schema", "avro_reader_schema"),
    "protobuf": ("protobuf_descriptor", "protobuf_message"),
    "pravega-registry": (
        *("registry_uri", "registry_namespace", "registry_group", "registry_format"),
        *("registry_codec", "registry_register", "registry_access"),
    ),
}


def check_format(name: str) -> str:
    """Return the name of a format in lower case.

    Raises:
        BadInputError: There is no such format. The message suggests the nearest name.
    """
    lower = name.lower()
    if lower not in FORMATS:
        near = get_close_matches(lower, FORMATS, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(FORMATS)}"
        raise BadInputError(f"there is no format '{name}' of rows. {hint}")
    return lower


def check_options(format_name: str | None, options: Iterable[str]) -> None:
    """Refuse options of another format than the given one.

    Raises:
        BadInputError: An option does not go with the format. The message names the format that has it.
    """
    for option in options:
        if option not in FORMAT_OPTIONS.get(format_name or "", ()):
            owners = [f"'{other}'" for other, names in FORMAT_OPTIONS.items() if option in names]
            hint = f"It belongs to format {' and '.join(owners)}" if owners else "Leave it out"
            found = (
                f"does not go with format '{format_name}'" if format_name else "was given without 'format'"
            )
            raise BadInputError(f"option '{option}' {found}. {hint}")


def row_format(name: str, schema: Any, options: Mapping[str, Any] | None = None) -> RowFormat:
    """Return the format ``name`` of rows with the columns of an Arrow ``schema``.

    Args:
        name: A name of `FORMATS`.
        schema: The columns.
        options: The options of the format, by the names of `FORMAT_OPTIONS`.

    Raises:
        BadInputError: There is no such format, it has no such option, or it cannot contain a type of the
            schema.
    """
    format_name, given = check_format(name), dict(options or {})
    check_options(format_name, given)
    return FORMATS[format_name](schema, **given)

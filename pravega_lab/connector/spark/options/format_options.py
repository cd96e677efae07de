"""Options of the formats of typed rows, of source and sink."""

from __future__ import annotations

from pravega_lab.connector.spark.options.option import SOURCE, Option
from pravega_lab.connector.spark.options.values import text

FORMAT_OPTIONS: tuple[Option, ...] = (
    Option(
        "avro_schema",
        SOURCE,
        "JSON",
        "",
        "Format `avro`: the schema of the events, also in a sink. By default that of the columns.",
        text,
    ),
    Option(
        "avro_reader_schema",
        SOURCE,
        "JSON",
        "",
        "Format `avro`: a later schema, whose aliases and defaults apply.",
        text,
    ),
)

"""Options of the source, some of them of the sink too."""

from __future__ import annotations

from pravega_lab.connector.rows.typed_rows import DROP, FAIL, KEEP
from pravega_lab.connector.spark.options import address_values as parsers
from pravega_lab.connector.spark.options.checked import (
    METADATA_TABLES,
)
from pravega_lab.connector.spark.options.format_options import FORMAT_OPTIONS
from pravega_lab.connector.spark.options.option import SOURCE, Option
from pravega_lab.connector.spark.options.values import (
    Parser,
    boolean,
    duration_ms,
    integer,
    one_of,
    positive,
    supported,
    text,
)


def _no_effect(name: str, kind: str, default: str, why: str, parse: Parser) -> Option:
    return Option(name, SOURCE, kind, default, f"No effect in Spark: {why}.", parse, flink=name, field="")


_CUT = "`earliest`, `latest`, `unbounded`, or cuts as text"
_NO_GROUP = "its source needs no reader group"
_BY_OFFSETS = "its checkpoint keeps the cuts"
SOURCE_OPTIONS: tuple[Option, ...] = (
    Option(
        "format",
        SOURCE,
        "name",
        "",
        "The format of typed rows, also in a sink: spark.md, typed rows.",
        parsers.format_name,
        flink="format",
    ),
    Option(
        "corrupt_rows",
        SOURCE,
        "`fail`, `drop`, `keep`",
        FAIL,
        "What becomes of events that are no rows.",
        one_of(FAIL, DROP, KEEP),
    ),
    Option(
        "field_columns",
        SOURCE,
        "columns, separated by commas",
        "",
        "Fields of the events whose names look like misspelt ones of metadata columns, also in a sink.",
        parsers.columns,
    ),
    Option(
        "columns",
        SOURCE,
        "columns",
        "",
        "The columns of typed rows, such as `id bigint, name string`, for want of a schema, also in a sink.",
        parsers.typed_columns,
    ),
    *FORMAT_OPTIONS,
    Option(
        "start_stream_cut",
        SOURCE,
        _CUT,
        "",
        "Where to begin: `earliest` in batch, `latest` in streaming queries.",
        parsers.cut,
        flink="scan.start-streamcuts",
        flink_type="list with `;`, a cut for each stream",
        flink_parse=parsers.flink_cuts,
        official=True,
    ),
    Option(
        "end_stream_cut",
        SOURCE,
        _CUT,
        "",
        "Where to end: `latest` in batch, `unbounded` in streaming queries.",
        parsers.cut,
        flink="scan.end-streamcuts",
        flink_type="list with `;`, a cut for each stream",
        flink_parse=parsers.flink_cuts,
        official=True,
    ),
    Option(
        "fail_on_data_loss",
        SOURCE,
        "boolean",
        "true",
        "`false` continues at the head where events were truncated before they were read.",
        boolean,
    ),
    Option(
        "approx_bytes_per_trigger",
        SOURCE,
        "whole number",
        "",
        "The most that a micro-batch reads, in bytes.",
        integer(1),
        official=True,
    ),
    Option(
        "prefetch_bytes",
        SOURCE,
        "whole number",
        "1048576",
        "A micro-batch of so many bytes is read while Spark plans it. `0` leaves all reading to tasks.",
        integer(0),
    ),
    Option("ordered", SOURCE, "boolean", "true", "`false` reads every segment in parallel.", boolean),
    Option(
        "metadata",
        SOURCE,
        "`StreamInfo`, `Streams`",
        "",
        "Read a table of metadata in place of events.",
        one_of(*METADATA_TABLES),
        official=True,
    ),
    Option(
        "scan.execution.type",
        SOURCE,
        "`streaming`, `batch`",
        "",
        "`batch` refuses streaming queries.",
        supported("streaming", "batch"),
        flink="scan.execution.type",
        field="execution_type",
    ),
    _no_effect("scan.reader-group.name", "text", "", _NO_GROUP, text),
    _no_effect("scan.uid", "text", "", _BY_OFFSETS, text),
    _no_effect(
        "scan.reader-group.max-outstanding-checkpoint-request", "whole number", "3", _NO_GROUP, positive
    ),
    _no_effect("scan.reader-group.refresh.interval", "duration", "3 s", _NO_GROUP, duration_ms()),
    _no_effect("scan.event-read.timeout.interval", "duration", "1 s", _NO_GROUP, duration_ms()),
    _no_effect(
        "scan.reader-group.checkpoint-initiate-timeout.interval", "duration", "5 s", _NO_GROUP, duration_ms()
    ),
)

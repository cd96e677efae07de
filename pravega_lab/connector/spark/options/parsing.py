"""From the options that Spark passes to the checked `PravegaOptions`.

Spark passes names in lower case and values as text. `parse_options` runs when ``load()`` or ``start()`` is
called, before the first request to a store.

Plans, event logs and the checkpoint of a query contain the options in clear text. Secrets are therefore not
options: ``credentials_file`` names the file that contains them. Without such a file they come from the
environment, as in the official connector.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from pravega_lab.connector.rows.formats import FORMAT_OPTIONS, check_options
from pravega_lab.connector.spark.options.checked import EARLIEST, LATEST, UNBOUNDED, PravegaOptions
from pravega_lab.connector.spark.options.declared import (
    BY_NAME,
    OPTION_NAMES,
)
from pravega_lab.connector.spark.options.old_keys import new_key
from pravega_lab.connector.spark.options.option import SECRET, SECRET_NAMES, Option
from pravega_lab.connector.spark.tables import NO_OPTIONS, ways_that_work
from pravega_lab.errors import BadInputError

#: A command of the catalog in place of the options of a source (`catalog.commands`).
COMMAND = "catalog.command"
#: Marks the options of a table of the catalog. It has the first segments of a described stream, with commas.
CATALOG_TABLE = "catalog.table"
#: Names that Spark itself adds to the options of a source or sink.
SPARKS_OWN = ("checkpointlocation", "queryname", "outputmode", "triggerinterval", "mode")
#: Options that a property or the environment can give too, in this order: field, property, variable.
FALLBACKS = (
    ("controller", "pravega.controller.uri", "PRAVEGA_CONTROLLER_URI"),
    ("scope", "pravega.scope", "PRAVEGA_SCOPE"),
)
_WORDS = (EARLIEST, LATEST, UNBOUNDED)


def parse_options(
    given: Mapping[str, str],
    *,
    properties: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> PravegaOptions:
    """Return the options that Spark passes, checked and typed.

    Args:
        given: The options. They win over the properties, and these over the environment.
        properties: ``pravega.controller.uri`` and ``pravega.scope``, if the session has them.
        environ: ``PRAVEGA_CONTROLLER_URI`` and ``PRAVEGA_SCOPE``; by default the environment of the process.

    Raises:
        BadInputError: An option is unknown (the message suggests the nearest name), a value has the wrong
            type or range, ``scope`` or ``stream`` is missing, or two options contradict each other.

    Source: flink.md 11.2 for Flink's names and errors, 13.3 for the precedence.
    """
    options = {name.lower(): str(value).strip() for name, value in given.items()}
    names: dict[str, str] = {}  # of the fields: the names under which they were given
    values: dict[str, Any] = {}
    for name, text in options.items():
        if name in SPARKS_OWN or name == CATALOG_TABLE:
            continue
        option = _declared(name, text)
        value = option.value(name, text)
        if option.sets in names:
            raise BadInputError(
                f"options '{names[option.sets]}' and '{name}' are the same option. Leave one of them out"
            )
        if option.sets:
            names[option.sets], values[option.sets] = name, value
    _fall_back(values, properties or {}, os.environ if environ is None else environ)
    if not values.get("scope"):
        hint = "" if values else f". {NO_OPTIONS}. {ways_that_work({})}"
        raise BadInputError(f"option 'scope' is missing. Add .option('scope', '<scope of the stream>'){hint}")
    if not (values.get("streams") or values.get("sink_stream") or values.get("metadata") == "Streams"):
        raise BadInputError(_no_stream(names.values()))
    _join_cuts(values)
    _refuse_contradictions(values)
    segments = options.get(CATALOG_TABLE)
    return PravegaOptions(
        **values,
        streams_key=names.get("streams", "stream"),
        in_catalog=segments is not None,
        table_segments=tuple(map(int, segments.split(","))) if segments else (),
        checkpoint=options.get("checkpointlocation", ""),
    )


def _no_stream(names: Iterable[str]) -> str:
    """Return the error for a missing stream. It is Flink's if an option has a name that only Flink uses."""
    if any(name == BY_NAME[name].flink != BY_NAME[name].name for name in names):
        return (
            "'scan.streams' is required but missing to read, and 'sink.stream' to write. Name the streams, "
            "separated by ';', or the stream"
        )
    return "option 'stream' is missing. Add .option('stream', '<name>'); separate several with commas"


def _declared(name: str, text: str) -> Option:
    if name in SECRET_NAMES:
        raise BadInputError(f"option '{name}' is not accepted{SECRET}")
    if name in BY_NAME:
        return BY_NAME[name]
    if (new := new_key(name, text)) is not None:
        raise BadInputError(f"option '{name}' is of Flink's connector before Flink 1.11. {new}")
    if name.endswith(".ignore-parse-errors"):
        raise BadInputError(
            f"option '{name}' is not known to format('pravega'). Write 'corrupt_rows' = 'drop', which counts "
            "the events that do not parse, or 'keep'"
        )
    near = difflib.get_close_matches(name, BY_NAME, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(sorted(OPTION_NAMES))}"
    raise BadInputError(f"option '{name}' is not known to format('pravega'). {hint}")


def _fall_back(values: dict[str, Any], properties: Mapping[str, str], environ: Mapping[str, str]) -> None:
    for field, key, variable in FALLBACKS:
        for place, name in ((properties, key), (environ, variable)):
            if field not in values and place.get(name):
                values[field] = BY_NAME[field].value(name, place[name].strip())


def _join_cuts(values: dict[str, Any]) -> None:
    """Turn a cut for each stream, in Flink's notation, into the text of the Spark option."""
    for field, word in (("start_stream_cut", "Start"), ("end_stream_cut", "End")):
        cuts = values.get(field)
        if not isinstance(cuts, tuple):
            continue
        streams = values.get("streams") or ()
        if len(cuts) != len(streams):
            raise BadInputError(
                f"{word} stream cuts are not matching the number of streams, having {len(cuts)}, expected "
                f"{len(streams)}. Write a cut for each stream, separated by ';'"
            )
        words = {cut for cut in cuts if cut in _WORDS}
        if words and len(set(cuts)) > 1:
            raise BadInputError(
                f"{word.lower()} stream cuts are '{';'.join(cuts)}'. Write a cut for each stream, or the "
                f"same word for all of them: {', '.join(_WORDS)}"
            )
        values[field] = cuts[0] if words else ",".join(cuts)


def _refuse_contradictions(values: dict[str, Any]) -> None:
    pairs = (
        ("default_segment_target_rate_bytes_per_sec", "default_segment_target_rate_events_per_sec"),
        ("default_retention_duration_milliseconds", "default_retention_size_bytes"),
    )
    for one, other in pairs:
        if one in values and other in values:
            raise BadInputError(f"options '{one}' and '{other}' were both given. Leave one of them out")
    for names in FORMAT_OPTIONS.values():
        check_options(values.get("format"), [name for name in names if name in values])
    for name in ("corrupt_rows", "field_columns"):
        if name in values and "format" not in values:
            raise BadInputError(
                f"option '{name}' was given without 'format'. Events are only parsed if a format is named, "
                "such as .option('format', 'json')"
            )
    if "primary_key" in values and "format" not in values:
        raise BadInputError(
            "option 'primary_key' was given without 'format'. Rows only have such columns if a format is "
            "named, such as .option('format', 'debezium-json')"
        )
    ways = [name for name in ("primary_key", "routing_key_column", "routing_key") if name in values]
    if len(ways) > 1:
        raise BadInputError(
            f"options '{ways[0]}' and '{ways[1]}' were both given, and both give the routing key. "
            "Leave one of them out"
        )
    if "columns" in values and "format" not in values:
        raise BadInputError(
            "option 'columns' was given without 'format'. Name the format in which the columns are an event, "
            "such as .option('format', 'json')"
        )
    if ways and "format" not in values:
        raise BadInputError(
            f"option '{ways[0]}' was given without 'format'. Without a format, column routing_key is "
            "the key. Name a format, such as .option('format', 'json')"
        )
    if "format" in values and "metadata" in values:
        raise BadInputError("options 'format' and 'metadata' were both given. Leave one of them out")
    if not values.get("read_after_write_consistency", True) and values.get("exactly_once", True):
        raise BadInputError(
            "option 'read_after_write_consistency' is false: an exactly-once sink always waits until its "
            "transactions are committed. Leave the option out, or set exactly_once to false"
        )

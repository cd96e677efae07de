"""The operations of Spark's catalog, answered in a Python worker of Spark.

A command is JSON in the option ``catalog.command``. The answer is JSON too, and travels in the metadata of
the one column of the schema that the data source returns. An error that Spark has a class for is in the
answer as a word, so that Spark reports it in its own terms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pravega_lab.client.registry import SchemaRegistry
from pravega_lab.connector.rows.formats import check_format
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY
from pravega_lab.connector.rows.typed_rows import known_metadata
from pravega_lab.connector.spark.connections import client_of
from pravega_lab.connector.spark.options import CATALOG_TABLE, COMMAND, PravegaOptions, parse_options
from pravega_lab.connector.spark.options.declared import BY_NAME
from pravega_lab.connector.spark.options.format_options import FORMAT_OPTIONS
from pravega_lab.connector.spark.options.option import CREATION
from pravega_lab.connector.spark.source.rows import SCHEMA
from pravega_lab.connector.spark.source.streams import create_stream, creation_options
from pravega_lab.connector.tables.catalog import Catalog
from pravega_lab.connector.tables.columns import Column, ddl, exact_ddl, parse_columns
from pravega_lab.connector.tables.description import Description
from pravega_lab.connector.tables.descriptions import StoredDescriptions
from pravega_lab.connector.tables.registered import RegisteredDescriptions
from pravega_lab.errors import (
    AlreadyExistsError,
    BadInputError,
    ConditionFailedError,
    NotEmptyError,
    PravegaError,
    ScopeNotFoundError,
    StreamNotFoundError,
)

#: Settings of the catalog itself; Flink has them too (flink.md 12.4).
SETTINGS = ("type", "default-database", "serialization.format")
#: Names of the setting with the address of a schema registry: that of the option, and Flink's two.
REGISTRY_SETTINGS = ("registry_uri", "schema-registry-uri", "pravega-registry.uri")
#: Properties that Spark adds to a table, and that say nothing about the stream.
SPARKS_PROPERTIES = ("owner", "provider", "external", "is_managed_location", "collation", "table_type")
#: Properties of a table that are no options.
COLUMNS, COMMENT, KEY, WATERMARK = "columns", "comment", "primary_key", "watermark"
DEFAULT_FORMAT = "json"
#: Options of which a table has one or none.
ALTERNATIVES = (
    {KEY, "routing_key_column", "routing_key"},
    {"default_segment_target_rate_bytes_per_sec", "default_segment_target_rate_events_per_sec"},
    {"default_retention_duration_milliseconds", "default_retention_size_bytes"},
)
_ERRORS = {
    ScopeNotFoundError: "no_database",
    StreamNotFoundError: "no_table",
    NotEmptyError: "not_empty",
}


def answer(given: Mapping[str, str], properties: Mapping[str, str]) -> str:
    """Return the answer to the command in the options ``given``, as JSON.

    Args:
        given: The settings of the catalog, and the command.
        properties: The properties of the session; see `parse_options`.
    """
    options = {name.lower(): value for name, value in given.items()}
    command = json.loads(options.pop(COMMAND))
    try:
        return json.dumps(_Commands(options, properties).run(command))
    except AlreadyExistsError:
        kind = "table_exists" if "stream" in command else "database_exists"
        return json.dumps({"error": kind})
    except PravegaError as error:
        for class_, kind in _ERRORS.items():
            if isinstance(error, class_):
                return json.dumps({"error": kind, "message": str(error)})
        return json.dumps({"error": "refused", "message": str(error)})


class _Commands:
    """Carries out commands with the settings of a catalog."""

    def __init__(self, options: Mapping[str, str], properties: Mapping[str, str]) -> None:
        self._settings = {name: options[name] for name in SETTINGS if name in options}
        named = [options[name] for name in REGISTRY_SETTINGS if name in options]
        self._options = {k: v for k, v in options.items() if k not in (*SETTINGS, *REGISTRY_SETTINGS)}
        self._properties = properties
        self._registered: RegisteredDescriptions | None = None
        self._catalog = self._open(self._parsed("_", "_"), named[0] if named else "")

    def run(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the operation ``do`` of the command returns."""
        do: Callable[..., dict[str, Any]] = getattr(self, command["do"])
        return do(**{name: value for name, value in command.items() if name != "do"})

    def list_databases(self) -> dict[str, Any]:
        return {"names": self._catalog.databases()}

    def load_database(self, scope: str) -> dict[str, Any]:
        self._catalog.check_database(scope)
        return {"properties": {}}

    def create_database(self, scope: str) -> dict[str, Any]:
        self._catalog.create_database(scope)
        return {}

    def drop_database(self, scope: str, cascade: bool) -> dict[str, Any]:
        self._catalog.drop_database(scope, cascade=cascade)
        return {}

    def list_tables(self, scope: str) -> dict[str, Any]:
        return {"names": self._catalog.tables(scope)}

    def table_exists(self, scope: str, stream: str) -> dict[str, Any]:
        return {"exists": self._catalog.client.stream(f"{scope}/{stream}").exists()}

    def load_table(self, scope: str, stream: str) -> dict[str, Any]:
        return self._table(scope, stream, self._catalog.describe(scope, stream))

    def create_table(
        self,
        scope: str,
        stream: str,
        columns: str,
        properties: Mapping[str, str],
        partitioned: bool,
        like: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Create a stream and describe it; ``like`` has the properties of the table that it is like."""
        if partitioned:
            raise BadInputError(
                "PARTITIONED BY: a stream is divided into segments by its routing keys. Leave it out, and "
                "name a column of text: TBLPROPERTIES (routing_key_column 'name')"
            )
        given = self._given(properties)
        provider = properties.get("provider", "pravega").lower()
        if provider not in ("pravega", "parquet"):  # parquet is Spark's own default
            given.setdefault("format", provider)
        if like is not None:
            given = _like(self._given(like), given)
        if columns or given.get(COLUMNS):
            given.setdefault("format", self._default_format)
        options = self._parsed(
            scope, stream, {k: v for k, v in given.items() if k in BY_NAME and k != COLUMNS}
        )
        columns = columns or given.pop(COLUMNS, "")
        is_new = bool(columns)
        if options.format == REGISTRY and not columns:
            columns = self._newest(scope, stream, given)
        description = self._description(f"{scope}/{stream}", columns, given)
        client = self._catalog.client

        def make() -> None:
            name = f"{scope}/{stream}"
            if is_new and description is not None and not client.stream(name).exists():
                self._register(scope, stream, description)  # before the stream: it may be refused
            create_stream(client, options, name)

        self._catalog.create_table(scope, stream, description, make)
        return self._table(scope, stream, self._catalog.describe(scope, stream))

    def alter_table(self, scope: str, stream: str, set: Mapping[str, str | None]) -> dict[str, Any]:
        given_now = self._given(set)
        for name in given_now:
            if name in BY_NAME and BY_NAME[name].group == CREATION:
                raise BadInputError(
                    f"property '{name}' is for a stream that is created, and {scope}/{stream} is there "
                    "already. Change it in Python, by update(…) or scale(…) of client.stream(…)"
                )
        # The description consists of what is there and what is given: of two statements at once, the second
        # to write reads it again.
        while True:
            version = self._catalog.descriptions.version(scope, stream)
            with suppress(ConditionFailedError):
                self._alter(scope, stream, given_now, version)
                return self._table(scope, stream, self._catalog.describe(scope, stream))

    def _alter(self, scope: str, stream: str, given_now: Mapping[str, Any], version: int) -> None:
        old = self._catalog.describe(scope, stream)
        now: dict[str, str | None] = {**self._written(old), **given_now}
        given = {name: value for name, value in now.items() if value is not None}
        description = self._description(f"{scope}/{stream}", given.pop(COLUMNS, ""), given)
        if description is None:
            self._catalog.descriptions.remove(scope, stream)
        else:
            self._parsed(scope, stream, {"format": description.format, **description.options})
            if COLUMNS in given_now:
                self._register(scope, stream, description)
            self._catalog.descriptions.put(scope, stream, description, version)

    def drop_table(self, scope: str, stream: str) -> dict[str, Any]:
        self._catalog.drop_table(scope, stream)
        return {}

    @property
    def _default_format(self) -> str:
        """The format of a table with columns that names none."""
        return self._settings.get("serialization.format", DEFAULT_FORMAT).lower()

    def _open(self, options: PravegaOptions, registry: str) -> Catalog:
        client = client_of(options.cluster)
        stored = StoredDescriptions(client)
        if not registry:
            return Catalog(client, stored)
        access = options.cluster.access()
        access.pop("rewrite")  # is for the addresses of segment stores
        self._registered = RegisteredDescriptions(stored, SchemaRegistry(registry, **access))
        return Catalog(client, self._registered)

    def _register(self, scope: str, stream: str, description: Description) -> None:
        """Add the schema of a table to its group. Without a setting, the sink does that, or nothing does."""
        if description.format == REGISTRY and self._registered is not None:
            self._registered.register(scope, stream, description)

    def _newest(self, scope: str, stream: str, options: Mapping[str, str]) -> str:
        """Return the columns of the newest schema of the group of a stream, "" if there is none."""
        found = None if self._registered is None else self._registered.newest(scope, stream, options)
        return "" if found is None else ddl(found)

    def _parsed(self, scope: str, stream: str, more: Mapping[str, str] | None = None) -> PravegaOptions:
        address = {"scope": scope, "stream": stream, **(more or {})}
        return parse_options({**self._options, **address}, properties=self._properties)

    def _given(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties of a statement that are the user's. Spark repeats options with a prefix."""
        found = {name.lower().removeprefix("option."): value for name, value in properties.items()}
        if "location" in found:
            raise BadInputError("LOCATION: a table is a stream, whose place is its name. Leave it out")
        if found.get("external") == "true":
            raise BadInputError("EXTERNAL: DROP TABLE deletes the stream of every table. Leave it out")
        for name in found:
            if name not in BY_NAME and name not in (COLUMNS, COMMENT, KEY, WATERMARK, *SPARKS_PROPERTIES):
                self._parsed("_", "_", {name: ""})  # raises with the nearest name
        return {name: value for name, value in found.items() if name not in SPARKS_PROPERTIES}

    def _description(self, table: str, columns: str, given: Mapping[str, str]) -> Description | None:
        """Return the description of ``scope/stream`` with these columns and properties, or None."""
        if columns and given.get("format") == "raw" and parse_columns(columns) == parse_columns(SCHEMA):
            columns = ""  # SHOW CREATE TABLE of a stream that is not described
        name = given.get("format", self._default_format if columns else "raw")
        if not columns and name != "raw":
            raise BadInputError(
                f"format '{name}' needs the columns of its rows. Write them as CREATE TABLE … (id bigint, "
                "name string), or as TBLPROPERTIES (columns 'id bigint, name string')"
            )
        if not columns:
            return None
        options = {k: v for k, v in given.items() if k in BY_NAME and BY_NAME[k].group != CREATION}
        for name_of_its_own in ("format", COLUMNS):
            options.pop(name_of_its_own, None)
        if name == REGISTRY and self._registered and not options.keys() & set(REGISTRY_SETTINGS):
            options["registry_uri"] = self._registered.registry.uri
        column, _, delay = given.get(WATERMARK, "").strip().partition(" ")
        made = Description(
            parse_columns(columns),
            check_format(name),
            options=options,
            comment=given.get(COMMENT, ""),
            primary_key=tuple(part.strip() for part in given.get(KEY, "").split(",") if part.strip()),
            watermark=(column, delay.strip()) if column else None,
        )
        made.of_stream(table).check_writing()
        return made

    def _written(self, description: Description | None) -> dict[str, str]:
        """Return the properties of a description as a statement has them."""
        if description is None:
            return {}
        found = {COLUMNS: ddl(description.columns), "format": description.format, **description.options}
        found[COMMENT] = description.comment
        found[KEY] = ", ".join(description.primary_key)
        found[WATERMARK] = " ".join(description.watermark or ())
        return {name: value for name, value in found.items() if value}

    def _table(self, scope: str, stream: str, description: Description | None) -> dict[str, Any]:
        found = self._catalog.client.stream(f"{scope}/{stream}")
        written = {name: value for name, value in self._written(description).items() if name != COLUMNS}
        properties = {**creation_options(found.configuration()), **written}
        segments = ",".join(map(str, description.first_segments)) if description else ""
        options = {**self._options, "scope": scope, "stream": stream, CATALOG_TABLE: segments}
        if description is None:
            # A table of the source has its five columns; a sink takes event and routing_key.
            return {
                "columns": exact_ddl(parse_columns(SCHEMA)),
                "hidden": "event_pointer binary",
                "options": options,
                "properties": {"format": "raw", **properties},
                "any_schema": True,
                "unnamed_values": False,
            }
        options |= description.spark_options()
        return {
            "columns": exact_ddl(description.columns),
            "hidden": exact_ddl(hidden_columns(description)),
            "options": options,
            "properties": properties,
            "any_schema": False,
            "unnamed_values": description.has_unnamed_values,
        }


def _like(source: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a new table: those of ``source``, unless those ``given`` replace them.

    A new format also replaces the options of the old one, and a new way to the routing key the old way.
    """
    replaced = {_option_of(name) for name in given}
    if given.get("format", source["format"]).lower() != source["format"]:
        replaced |= {option.name for option in FORMAT_OPTIONS}
    for ways in ALTERNATIVES:
        if replaced & ways:
            replaced |= ways
    return {name: value for name, value in source.items() if _option_of(name) not in replaced} | dict(given)


def _option_of(name: str) -> str:
    """Return Spark's name of the option that a property is, or the name of the property."""
    return BY_NAME[name].name if name in BY_NAME else name


def hidden_columns(description: Description) -> tuple[Column, ...]:
    """Return the metadata columns that a table does not name. A query of ``_corrupt`` may set its option."""
    named = {column.name for column in description.columns}
    found = known_metadata(description.format)
    return parse_columns(", ".join(f"{name} {kind}" for name, kind in found.items() if name not in named))


def answer_schema(text: str) -> Any:
    """Return the schema that carries an answer to the JVM."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([StructField("answer", StringType(), metadata={"answer": text})])

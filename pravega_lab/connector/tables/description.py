"""What is known about a table besides its stream: columns, format, options; and how that is stored.

The bytes are JSON. A description also has the ids of the stream's first segments: a stream that was
deleted and created again has other ids, so that an old description is found out (pravega.md A8).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN
from pravega_lab.connector.rows.formats import FORMAT_METADATA, check_format, row_format
from pravega_lab.connector.rows.key_expression import EXPRESSION_OPTION, check_expression
from pravega_lab.connector.rows.parsing import RowFormat
from pravega_lab.connector.rows.primary_key import hint_for_expression
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY
from pravega_lab.connector.rows.stored_options import FLINK_NAMES, stored_format_options
from pravega_lab.connector.rows.typed_rows import (
    DROP,
    FAIL,
    FIELDS_OPTION,
    KEEP,
    TypedRows,
    check_corrupt,
    check_metadata,
    fields_of,
)
from pravega_lab.connector.tables.columns import Column, arrow_schema, ddl
from pravega_lab.connector.tables.durations import EXAMPLES, milliseconds
from pravega_lab.errors import BadInputError

VERSION = 1
#: The option that says what becomes of events that are no rows.
CORRUPT_OPTION = "corrupt_rows"
#: The option that names the column whose values are the routing keys.
KEY_OPTION = "routing_key_column"
KEY_OPTIONS = (KEY_OPTION, EXPRESSION_OPTION)


@dataclass(frozen=True)
class Description:
    """A description of a table; hashable and picklable but for its options.

    Attributes:
        columns: The columns of the rows.
        format: The format of the events.
        options: Options of the connector that always belong to the table, under their names in Spark.
        primary_key: Columns that identify a row.
        watermark: A column of event time and how late its rows may be, such as ``("time", "5 s")``.
        comment: What the table is for.
        first_segments: The ids of the first segments of the stream.
    """

    columns: tuple[Column, ...]
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    watermark: tuple[str, str] | None = None
    comment: str = ""
    first_segments: tuple[int, ...] = ()

    def check(self) -> None:
        """Check that the format has its options and can contain the columns, and that named columns exist.

        Raises:
            BadInputError: The format is unknown, lacks an option, has one of another format, or cannot
                contain a column; a column is missing, or has the name of metadata and not its type;
                or the delay of the watermark is no duration.
        """
        check_format(self.format)
        if not self.columns:
            raise BadInputError("a table needs at least one column. Write them as id bigint, name string")
        for column in self.columns:
            check_metadata(column.name, column.type, self.format, self._field_columns)
        self.row_format()
        if self.watermark and milliseconds(self.watermark[1]) is None:
            raise BadInputError(f"the delay of the watermark is '{self.watermark[1]}'. Write {EXAMPLES}")
        corrupt = self.option(CORRUPT_OPTION) or FAIL
        if corrupt.lower() not in (FAIL, DROP, KEEP):
            raise BadInputError(
                f"option '{CORRUPT_OPTION}' is '{corrupt}'; it is one of {FAIL}, {DROP}, {KEEP}"
            )
        names = [column.name for column in self.columns]
        wanted = {"primary_key": self.primary_key, "watermark": self.watermark[:1] if self.watermark else ()}
        if key := self.option(KEY_OPTION):
            wanted[KEY_OPTION] = (key,)
        for what, columns in wanted.items():
            for name in columns:
                if name not in names:
                    way = hint_for_expression(name) if what == KEY_OPTION else ""
                    raise BadInputError(
                        f"{what} names column '{name}', and the table has: {', '.join(names)}. "
                        f"Name one{way and '.' + way}"
                    )
        self._check_event_time()

    def option(self, name: str) -> str | None:
        """Return an option under its name in Spark, None if it is not set. It may be stored as Flink's."""
        named = {FLINK_NAMES.get(key.lower(), key.lower()): value for key, value in self.options.items()}
        return named.get(name)

    @property
    def has_unnamed_values(self) -> bool:
        """Whether only the order of all columns says which value of an event is which."""
        return self.format == "csv" or (self.format == "avro" and self.option("avro_schema") is None)

    def misreads(self, old: Description) -> bool:
        """Return whether events that were written under an ``old`` description would have other values.

        An event of Avro does not name its schema, which is that of the columns if no option gives it. Events
        of other formats have the names of their values, or one line in the order that the user knows.
        """
        is_avro = {self.format, old.format} == {"avro"}
        types = [[column.type for column in description.columns] for description in (self, old)]
        return is_avro and self.has_unnamed_values and old.has_unnamed_values and types[0] != types[1]

    def check_writing(self) -> None:
        """Check the description, and the expression of its routing key, which readers need not evaluate.

        Raises:
            BadInputError: As `check`; or the expression is not one of the columns.
            SetupError: There is an expression, and DuckDB is not installed.
        """
        self.check()
        expression = self.option(EXPRESSION_OPTION)
        if expression is None:
            return
        if column := self.option(KEY_OPTION):
            raise BadInputError(
                f"option '{KEY_OPTION}' is '{column}' and option '{EXPRESSION_OPTION}' is '{expression}'. "
                "Both give the routing key. Leave one of them out"
            )
        check_expression(expression, self.arrow_schema())

    @property
    def _field_columns(self) -> tuple[str, ...]:
        names = (self.option(FIELDS_OPTION) or "").split(",")
        return tuple(name.strip() for name in names if name.strip())

    def _check_event_time(self) -> None:
        """Refuse a watermark on a column that is no time: Spark takes timestamps, the engine numbers too."""
        import pyarrow.types as types

        for column in self.arrow_schema():
            is_time = types.is_timestamp(column.type) or types.is_integer(column.type)
            if self.watermark and column.name == self.watermark[0] and not is_time:
                raise BadInputError(
                    f"column '{column.name}' gives the watermark and is {column.type}. Use a timestamp, or a "
                    "number of milliseconds since 1970"
                )

    def arrow_schema(self, *, with_kinds: bool = False) -> Any:
        """Return the columns in Arrow; ``with_kinds`` adds the kind of row where the format has one."""
        schema = arrow_schema(self.columns)
        if with_kinds and self.format in FORMAT_METADATA and KIND_COLUMN not in schema.names:
            import pyarrow as pa

            schema = schema.append(pa.field(KIND_COLUMN, pa.string()))
        return schema

    def row_format(self, access: Mapping[str, Any] | None = None, *, with_kinds: bool = False) -> RowFormat:
        """Return what turns events into rows of the table, and rows into events.

        Args:
            access: Items of `AccessOptions`, with which a schema registry is asked. None: the environment
                decides.
            with_kinds: Whether the rows have the column of `arrow_schema` for their kind.

        Raises:
            BadInputError: The format is unknown, lacks an option, has one of another format, or cannot
                contain a column.
        """
        schema = fields_of(self.arrow_schema(with_kinds=with_kinds), self.format)
        return row_format(self.format, schema, self._format_options(access))

    def _format_options(self, access: Mapping[str, Any] | None) -> dict[str, Any]:
        options = stored_format_options(self.options)
        if access and self.format == REGISTRY:
            options["registry_access"] = {k: v for k, v in access.items() if k != "rewrite"}
        return options

    def typed_rows(
        self, scoped_stream: str, access: Mapping[str, Any] | None = None, *, with_kinds: bool = False
    ) -> TypedRows:
        """Return what turns batches of events of a stream into rows of the table, with their metadata.

        Args:
            scoped_stream: ``scope/stream``, for the metadata and for errors.
            access, with_kinds: As for `row_format`.

        Raises:
            BadInputError: As `row_format`; or a column has the name of metadata and not its type, or
                contradicts option ``corrupt_rows``.
        """
        for column in self.columns:
            check_metadata(column.name, column.type, self.format, self._field_columns)
        corrupt = (self.option(CORRUPT_OPTION) or FAIL).lower()
        if corrupt != KEEP:  # with it, a table need not have the column
            check_corrupt(corrupt, [column.name for column in self.columns])
        schema = self.arrow_schema(with_kinds=with_kinds)
        return TypedRows(self.format, self._format_options(access), schema, scoped_stream, corrupt)

    def of_stream(self, scoped_stream: str) -> Description:
        """Return the description with the group of a schema registry that is the stream's by default."""
        if self.format != REGISTRY:
            return self
        scope, _, stream = scoped_stream.partition("/")
        names = {FLINK_NAMES.get(name.lower(), name.lower()) for name in self.options}
        group = {"registry_namespace": scope, "registry_group": stream}
        missing = {name: value for name, value in group.items() if name not in names}
        return replace(self, options={**self.options, **missing})

    def spark_options(self) -> dict[str, str]:
        """Return the options of ``format("pravega")`` that the description gives.

        The primary key gives the routing key, also if a column or an expression is named for that, as in the
        engine.
        """
        found = {"format": self.format, "columns": ddl(self.columns)} if self.columns else {}
        found |= self.options
        if self.primary_key:
            names = {name: FLINK_NAMES.get(name.lower(), name.lower()) for name in found}
            found = {name: value for name, value in found.items() if names[name] not in KEY_OPTIONS}
            found["primary_key"] = ", ".join(self.primary_key)
        return found

    def to_bytes(self) -> bytes:
        """Return the description as JSON."""
        return json.dumps(
            {
                "version": VERSION,
                "columns": [[column.name, column.type] for column in self.columns],
                "format": self.format,
                "options": dict(self.options),
                "primary_key": self.primary_key,
                "watermark": self.watermark,
                "comment": self.comment,
                "first_segments": self.first_segments,
            }
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Description:
        """Return the description in JSON.

        Raises:
            BadInputError: It was written by a later version of this package.
        """
        found = json.loads(data)
        if found["version"] != VERSION:
            raise BadInputError(
                f"the description of the table has version {found['version']}, and this is version {VERSION}"
                ". Install a newer pravega-lab"
            )
        return cls(
            columns=tuple(Column(name, type_) for name, type_ in found["columns"]),
            format=found["format"],
            options=found["options"],
            primary_key=tuple(found["primary_key"]),
            watermark=tuple(found["watermark"]) if found["watermark"] else None,
            comment=found["comment"],
            first_segments=tuple(found["first_segments"]),
        )

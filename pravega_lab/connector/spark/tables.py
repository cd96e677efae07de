"""Tables of Spark's session catalog: ``CREATE TABLE t USING pravega OPTIONS (…)``.

Spark stores the options of such a table and never passes them to a Python data source, except once: when it
asks for the schema of a table that is created without columns. The options therefore travel in the metadata
of the columns, which Spark stores and passes back. What cannot work that way is refused, and the error names
what does.

Source: spark.md 13.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pravega_lab.connector.tables.columns import Column, arrow_schema, parse_columns
from pravega_lab.errors import BadInputError

#: Options that Spark adds when it creates a table. It also repeats each option with a prefix.
MARKS = ("provider", "owner", "comment", "location", "path", "external", "is_managed_location", "collation")
REPEATED = "option."
#: The key of the options in the metadata of a column.
KEY = "pravega"
#: No text is longer. The greatest length of a ``varchar`` is twice as much, less one.
GREAT_LENGTH = 2**30
#: The key that says whether writes find the options of the table, and not those of the table that is read.
IS_MARKED = "pravega.is_marked"
#: Columns of the source that a sink has no use for. INSERT INTO t (event) leaves them null.
OF_THE_SOURCE = ("scope", "stream", "segment_id", "offset")
NO_OPTIONS = (
    "Spark passes this source no options of a table whose CREATE lists columns, or that is made of a "
    "query or of a frame"
)


def view_statement(options: Mapping[str, str]) -> str:
    """Return the SQL of a temporary view with the address in ``options``, or with placeholders for it."""
    return f"CREATE TEMPORARY VIEW <name> USING pravega OPTIONS ({_address(options)})"


def ways_that_work(options: Mapping[str, str]) -> str:
    """Return sentences with the statements that create a table that can be used."""
    scope, stream = (options.get(name) or f"<{name}>" for name in ("scope", "stream"))
    return (
        f"Use the catalog: CREATE TABLE pravega.`{scope}`.`{stream}` (<columns>), also with AS SELECT. Or "
        f"write columns as an option: CREATE TABLE <name> USING pravega OPTIONS ({_address(options)}, "
        f"format 'json', columns 'id bigint, name string'). Or use a temporary view: "
        f"{view_statement(options)}"
    )


def _address(options: Mapping[str, str]) -> str:
    address = {"controller": "tcp://host:9090", "scope": "<scope>", "stream": "<stream>"}
    return ", ".join(f"{name} '{options.get(name) or missing}'" for name, missing in address.items())


def is_created(options: Mapping[str, str]) -> bool:
    """Return whether Spark asks for the schema of a table that is being created."""
    return "provider" in options


def own_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a table without those that Spark added."""
    lower = {name.lower(): value for name, value in options.items()}
    return {
        name: value for name, value in lower.items() if name not in MARKS and not name.startswith(REPEATED)
    }


def table_schema(columns: str, options: Mapping[str, str]) -> Any:
    """Return the Spark schema of a new table, whose columns carry its options.

    The first column of text is marked as a ``varchar`` of a great length, which is that of these options.
    Without such a mark, Spark passes rows that fit the table already with the metadata that they have: with
    none, or with that of another table, from which they were read.

    Args:
        columns: The columns, such as ``id bigint, name string``.
        options: The user's options.
    """
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    found: Sequence[Column] = parse_columns(columns)
    schema = from_arrow_schema(arrow_schema(found), prefer_timestamp_ntz=True)
    texts = [field.name for field in schema.fields if isinstance(field.dataType, StringType)]
    stored = json.dumps(dict(options), sort_keys=True)
    fields = []
    for field in schema.fields:
        metadata = {KEY: stored, IS_MARKED: bool(texts)}
        if field.name in texts[:1]:
            length = GREAT_LENGTH + zlib.crc32(stored.encode()) % GREAT_LENGTH
            metadata["__CHAR_VARCHAR_TYPE_STRING"] = f"varchar({length})"
        fields.append(StructField(field.name, field.dataType, metadata=metadata))
    return StructType(fields)


def stored_options(schema: Any) -> dict[str, str]:
    """Return the options that the columns of a stored table carry; none for any other schema."""
    for field in schema.fields:
        if KEY in (field.metadata or {}):
            found: dict[str, str] = json.loads(field.metadata[KEY])
            return found
    return {}


def refuse_unmarked(schema: Any) -> None:
    """Refuse rows that may be those of another table than the one with the stored options of their columns.

    Raises:
        BadInputError: The table has no column of text, so that Spark may have left its options out.
    """
    if not all((field.metadata or {}).get(IS_MARKED) for field in schema.fields):
        raise BadInputError(
            "the rows are for a table USING pravega without a column of text. Spark may pass the options of "
            "the table that they were read from. No row was written. Add a column of type string, use a "
            "table of the catalog, or write with .format('pravega') and the options of the stream"
        )


def refuse_new_table(options: Mapping[str, str], local_property: Callable[[str], str | None]) -> None:
    """Refuse the rows of a statement that creates a table, such as ``saveAsTable``; called in a task.

    Its options are those of ``save()``. The difference is that the write is an execution inside the execution
    of the statement, so that the task has two execution ids. In ``foreachBatch`` it has two as well, and also
    the id of a query. Spark deletes the new table when the task fails.

    Args:
        options: The address of the stream, for the message.
        local_property: Returns a local property of the task.

    Raises:
        BadInputError: The rows are those of a new table. The message has the statements that work.
    """
    execution, root = (local_property(f"spark.sql.execution.{name}") for name in ("id", "root.id"))
    if execution != root and local_property("sql.streaming.queryId") is None:
        raise BadInputError(
            f"this statement creates a table USING pravega. {NO_OPTIONS}. No row was written. Write with "
            f".format('pravega').mode('append').save(). {ways_that_work(options)}"
        )


def refuse_table_of_query(options: Mapping[str, str], local_property: Callable[[str], str | None]) -> None:
    """Refuse the rows of a streaming query that ``toTable`` started; called in a task.

    The options and ids of such a query are those of ``start()``. The difference is the method that started
    the query, which Spark notes in each task. A Spark Connect server notes the same method for both. Spark
    keeps the new table when the query fails.

    Args:
        options: The address of the stream, for the message.
        local_property: Returns a local property of the task.

    Raises:
        BadInputError: The rows are those of a table. The message has the statements that work.
    """
    if (local_property("callSite.short") or "").startswith("toTable "):
        raise BadInputError(
            f"toTable() writes into a table USING pravega that nothing could read. {NO_OPTIONS}. No row was "
            f"written. Drop the table, and write with .format('pravega').start(). {ways_that_work(options)}"
        )

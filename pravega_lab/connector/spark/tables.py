"""The refusal of tables of Spark's catalog, and the temporary view that works instead.

Spark stores the options of a table and never passes them to a Python data source (spark.md 13). A stored
table could therefore not be read, and rows written into it would seem to be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pravega_lab.errors import BadInputError

NO_OPTIONS = "Spark does not pass the options of a stored table to this source, so the table cannot be read"


def view_statement(options: Mapping[str, str]) -> str:
    """Return the SQL of a temporary view with the address in ``options``, or with placeholders for it."""
    address = {"controller": "tcp://host:9090", "scope": "<scope>", "stream": "<stream>"}
    written = ", ".join(f"{name} '{options.get(name) or missing}'" for name, missing in address.items())
    return f"CREATE TEMPORARY VIEW <name> USING pravega OPTIONS ({written})"


def refuse_stored_table(options: Mapping[str, str]) -> None:
    """Refuse ``CREATE TABLE … USING pravega``, which Spark marks with an option ``provider``.

    Raises:
        BadInputError: The options are those of a table. The message has the statement of a temporary view.
    """
    if "provider" in options:
        raise BadInputError(
            f"CREATE TABLE … USING pravega: {NO_OPTIONS}. Use a temporary view: {view_statement(options)}"
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
        BadInputError: The rows are those of a new table. The message has the statement of a temporary view.
    """
    execution, root = (local_property(f"spark.sql.execution.{name}") for name in ("id", "root.id"))
    if execution != root and local_property("sql.streaming.queryId") is None:
        raise BadInputError(
            f"this statement creates a table USING pravega. {NO_OPTIONS}. No row was written. Write with "
            ".format('pravega').mode('append').save(), and read the stream through a temporary view: "
            f"{view_statement(options)}"
        )

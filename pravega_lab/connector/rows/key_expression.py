"""Routing keys from an expression of SQL over the columns of rows, which DuckDB evaluates on Arrow batches.

The expression may be that of a table which another user has described, and a repeated task has to compute
the same keys again. It therefore consists of columns, constants, operators and functions whose result depends
on their arguments alone. Subqueries, aggregates, windows and functions such as ``random`` are refused, and
DuckDB has no access to files, to the network or to extensions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pravega_lab.errors import BadInputError, SetupError

#: The option with the expression.
EXPRESSION_OPTION = "routing_key"
#: What an expression consists of, in DuckDB's words for the nodes of its parser.
LEAVES = {"COLUMN_REF", "CONSTANT"}
PARTS = LEAVES | {"FUNCTION", "OPERATOR", "COMPARISON", "CONJUNCTION", "BETWEEN", "CASE", "CAST"}
#: Functions of the session, which DuckDB calls consistent all the same, and the list of two expressions.
NOT_ALLOWED = ("current_setting", "getvariable", "version", "row")
_CONFIG = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",  # keeps the order of rows, and a task of Spark has one core
}


def check_expression(expression: str, schema: Any) -> None:
    """Refuse an expression that rows of an Arrow ``schema`` cannot have.

    Raises:
        BadInputError: It does not parse, has a part that is not allowed, names a column that the rows do not
            have, or does not fit the types of the columns.
        SetupError: DuckDB is not installed.
    """
    import pyarrow as pa

    names = _columns(expression)
    for name in names:
        if name not in schema.names:
            raise _refused(expression, f"the rows have no column '{name}', but {', '.join(schema.names)}")
    folded = [name.lower() for name in schema.names]
    if same := [name for name in names if folded.count(name.lower()) > 1]:
        raise _refused(expression, f"another column differs from '{same[0]}' in capital letters only")
    fields = [schema.field(name) for name in names]
    _evaluated(expression, pa.RecordBatch.from_pylist([], pa.schema(fields)))


def keys_by(expression: str, batch: Any) -> Any:
    """Return the routing keys of rows as an Arrow array of text. A row without one has null.

    Raises:
        BadInputError: The expression fails for a row.
    """
    import pyarrow as pa

    found = _evaluated(expression, batch.select(_columns(expression))).column(0).cast(pa.string())
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()


def _evaluated(expression: str, batch: Any) -> Any:
    import duckdb

    with _database().cursor() as cursor:
        cursor.register("rows", batch)
        try:
            return cursor.sql(f"SELECT CAST(({expression}\n) AS VARCHAR) FROM rows").to_arrow_table()
        except duckdb.Error as error:
            raise _refused(expression, str(error).split("\n")[0]) from None


@lru_cache(maxsize=100)
def _columns(expression: str) -> list[str]:
    """Return the columns that an expression names, each once. Raises as `check_expression`."""
    query = f"SELECT ({expression}\n) FROM rows"
    with _database().cursor() as cursor:
        tree = json.loads(cursor.execute("SELECT json_serialize_sql(?)", [query]).fetchone()[0])
        if tree["error"]:
            raise _refused(expression, tree["error_message"])
        # Each list has what one statement selects. The union of two statements has no such list.
        selected = [statement["node"].get("select_list", []) for statement in tree["statements"]]
        if len(selected) != 1 or len(selected[0]) != 1:
            raise _refused(expression, "it is more than one expression")
        parts = list(_parts(selected[0][0]))
        for part in parts:
            if part["class"] not in PARTS:
                raise _refused(expression, f"it has a {part['class'].lower()}, which is not allowed")
            if part["class"] == "FUNCTION":
                _check_function(cursor, expression, part["function_name"])
    names = dict.fromkeys(part["column_names"][0] for part in parts if part["class"] == "COLUMN_REF")
    if not names:
        raise _refused(expression, "it names no column, so all rows would have the same key")
    return list(names)


def _parts(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a parsed expression that are expressions themselves."""
    if isinstance(node, dict):
        if "class" in node:
            yield node
        children = list(node.values())
    else:
        children = node if isinstance(node, list) else []
    for child in children:
        yield from _parts(child)


def _check_function(cursor: Any, expression: str, name: str) -> None:
    kinds = cursor.execute(
        "SELECT DISTINCT function_type, stability FROM duckdb_functions() WHERE function_name = ?", [name]
    ).fetchall()
    if not kinds:
        raise _refused(expression, f"it calls '{name}', which is not known")
    if kinds != [("scalar", "CONSISTENT")] or name in NOT_ALLOWED:
        why = "which is not allowed, because it gives no value for each row, or not always the same"
        raise _refused(expression, f"it calls '{name}', {why}")


@lru_cache(maxsize=1)
def _database() -> Any:
    try:
        import duckdb
    except ImportError:
        raise SetupError(
            f"option '{EXPRESSION_OPTION}' is an expression, which DuckDB evaluates, and DuckDB is not "
            "installed here. Run pip install 'pravega-lab[frames]' where rows are written, or name a column "
            "by option 'routing_key_column'"
        ) from None
    database = duckdb.connect(":memory:", config=_CONFIG)
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET lock_configuration = true")
    return database


def _refused(expression: str, why: str) -> BadInputError:
    return BadInputError(
        f"option '{EXPRESSION_OPTION}' is '{expression}': {why}. Write an expression of columns in DuckDB's "
        "SQL, such as upper(item)"
    )

"""The columns of a table: names and types as Spark's SQL writes them, and their Arrow types.

A type is ``bigint``, ``decimal(10,2)``, ``array<string>``, ``struct<a:int,b:date>`` and so on. Case and
blanks do not matter.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError

#: Types without parameters, under each of their names, with the function of pyarrow that makes them.
SIMPLE = {
    "boolean": "bool_",
    "tinyint": "int8",
    "byte": "int8",
    "smallint": "int16",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "long": "int64",
    "float": "float32",
    "real": "float32",
    "double": "float64",
    "string": "string",
    "binary": "binary",
    "date": "date32",
}
#: Text of a limited length, which Spark checks when it writes.
LIMITED = ("varchar", "char")
_OTHERS = ("decimal(p,s)", "timestamp", "timestamp_ntz", "array<…>", "map<…>", "struct<…>")
#: How Spark writes the order of text that everything has anyway.
DEFAULT_COLLATION = " collate utf8_binary"


@dataclass(frozen=True)
class Column:
    """A column: its name, and its type as SQL writes it."""

    name: str
    type: str

    @property
    def ddl(self) -> str:
        """The column as a statement of SQL has it."""
        return f"{quoted(self.name)} {self.type}"


def quoted(name: str) -> str:
    """Return a name that SQL takes as it is."""
    return "`" + name.replace("`", "``") + "`"


def ddl(columns: Sequence[Column]) -> str:
    """Return the columns as a statement of SQL lists them."""
    return ", ".join(column.ddl for column in columns)


def exact_ddl(columns: Sequence[Column]) -> str:
    """Return the columns as a statement of SQL lists them, with types that are the same in every session.

    In Spark, ``spark.sql.timestampType`` says what ``timestamp`` is.
    """
    return ", ".join(f"{quoted(column.name)} {_with_leaves(column.type, _exact)}" for column in columns)


def source_ddl(columns: Sequence[Column]) -> str:
    """Return the columns as `exact_ddl` does, for the schema of a source, which may not have ``varchar``."""
    found = (Column(column.name, _with_leaves(column.type, _without_length)) for column in columns)
    return exact_ddl(tuple(found))


def parse_columns(text: str) -> tuple[Column, ...]:
    """Return the columns of ``id bigint, name string``.

    Raises:
        BadInputError: A part is not a name and a type, a type is unknown, or a name is there twice.
    """
    if not isinstance(text, str):
        raise BadInputError(f"columns {text!r:.80}: write them as a text, such as 'id bigint, name string'")
    columns = []
    for part in _split(text, ","):
        found = re.fullmatch(r"\s*(?:`((?:[^`]|``)+)`|([^\s`:]+))\s*[\s:]\s*(.+?)\s*", part, re.DOTALL)
        if found is None:
            raise BadInputError(f"'{part.strip()}' is no column. Write a name and a type, such as id bigint")
        name = (found[1] or found[2]).replace("``", "`")
        try:
            column = Column(name, _written(found[3]))
            arrow_type(column.type)
        except BadInputError as error:
            raise BadInputError(f"column '{name}': {error}") from None
        columns.append(column)
    names = [column.name.lower() for column in columns]
    doubled = [name for i, name in enumerate(names) if name in names[:i]]
    if doubled:
        raise BadInputError(f"column '{doubled[0]}' is there twice. Name each column once")
    return tuple(columns)


def arrow_schema(columns: Sequence[Column]) -> Any:
    """Return the Arrow schema of the columns. Timestamps are in UTC, as Spark's are."""
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def columns_of_arrow(schema: Any) -> tuple[Column, ...]:
    """Return the columns with the types of an Arrow schema. Raises `BadInputError`."""
    return tuple(Column(field.name, sql_type(field.type)) for field in schema)


def sql_type(kind: Any) -> str:
    """Return the type of SQL for an Arrow type, the inverse of `arrow_type`.

    Raises:
        BadInputError: SQL has no such type.
    """
    import pyarrow as pa
    import pyarrow.types as types

    for name, made in SIMPLE.items():
        if kind == getattr(pa, made)():
            return name
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return "string" if types.is_large_string(kind) else "binary"
    if types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_list(kind):
        return f"array<{sql_type(kind.value_type)}>"
    if types.is_map(kind):
        return f"map<{sql_type(kind.key_type)},{sql_type(kind.item_type)}>"
    if types.is_struct(kind):
        return f"struct<{','.join(f'{quoted(field.name)}:{sql_type(field.type)}' for field in kind)}>"
    raise BadInputError(f"SQL has no type for {kind}. Name columns of your own with .schema(…)")


def arrow_type(text: str) -> Any:
    """Return the Arrow type of a type of SQL.

    Raises:
        BadInputError: There is no such type. The message suggests the nearest.
    """
    import pyarrow as pa

    name, parameters = _parts(text)
    if name in SIMPLE and not parameters:
        return getattr(pa, SIMPLE[name])()
    if name in LIMITED and re.fullmatch(r"\d+", parameters):
        return pa.string()
    if name == "timestamp" and not parameters:
        return pa.timestamp("us", "UTC")
    if name == "timestamp_ntz" and not parameters:
        return pa.timestamp("us")
    if name in ("decimal", "dec", "numeric") and (
        found := re.fullmatch(r"(\d+)(?:\s*,\s*(\d+))?|", parameters)
    ):
        precision, scale = int(found[1] or 10), int(found[2] or 0)
        if 0 < precision <= 38 and scale <= precision:
            return pa.decimal128(precision, scale)
    build = _NESTED.get(name)
    if build is not None and (made := build(_split(parameters, ","))) is not None:
        return made
    near = difflib.get_close_matches(name, (*SIMPLE, *_OTHERS), n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join((*SIMPLE, *_OTHERS))}"
    raise BadInputError(f"there is no type '{text}'. {hint}")


def _array(parts: list[str]) -> Any:
    import pyarrow as pa

    return pa.list_(arrow_type(parts[0])) if len(parts) == 1 else None


def _map(parts: list[str]) -> Any:
    import pyarrow as pa

    return pa.map_(arrow_type(parts[0]), arrow_type(parts[1])) if len(parts) == 2 else None


def _struct(parts: list[str]) -> Any:
    import pyarrow as pa

    fields = parse_columns(",".join(parts)) if parts else ()
    return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in fields])


_NESTED: dict[str, Callable[[list[str]], Any]] = {"array": _array, "map": _map, "struct": _struct}


def _parts(text: str) -> tuple[str, str]:
    """Return the name of a type in lower case, and what is between its brackets."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\)|<(.*)>)?\s*", text, re.DOTALL)
    return (text, "?") if found is None else (found[1].lower(), (found[2] or found[3] or "").strip())


def _written(text: str) -> str:
    """Return a type in lower case. The names of fields keep theirs: they are those of the events."""
    return _with_leaves(text, lambda leaf: leaf.lower().replace(DEFAULT_COLLATION, ""))


def _exact(leaf: str) -> str:
    return "timestamp_ltz" if leaf == "timestamp" else leaf


def _without_length(leaf: str) -> str:
    return "string" if _parts(leaf)[0] in LIMITED else leaf


def _with_leaves(text: str, change: Callable[[str], str]) -> str:
    """Return a type in which each type that has no types in it is changed."""
    name, parameters = _parts(text)
    if name in ("array", "map"):
        parts = (_with_leaves(part, change) for part in _split(parameters, ","))
        return f"{name}<{','.join(parts)}>"
    if name == "struct":
        fields = parse_columns(parameters) if parameters else ()
        parts = (f"{_as_needed(field.name)}:{_with_leaves(field.type, change)}" for field in fields)
        return f"struct<{','.join(parts)}>"
    return change(text)


def _as_needed(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else quoted(name)


def _split(text: str, separator: str) -> list[str]:
    """Return the parts between separators that are in no brackets and no backticks."""
    parts, depth, in_ticks = [""], 0, False
    for letter in text:
        in_ticks ^= letter == "`"
        if not in_ticks:
            depth += (letter in "<(") - (letter in ">)")
        if letter == separator and not depth and not in_ticks:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]

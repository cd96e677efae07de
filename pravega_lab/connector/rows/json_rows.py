"""Rows as JSON objects, one per event.

A field that the schema does not name is ignored, and a field that is absent is null. A value of another type
than the column's makes the event unreadable; no value is converted silently. Dates and times are texts in
ISO 8601. Decimals are written as numbers, and read from numbers and texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pravega_lab.connector.rows.parsing import UnreadableRowError, as_text, joined
from pravega_lab.connector.rows.required import optional, with_type
from pravega_lab.connector.rows.years import check_years
from pravega_lab.errors import BadInputError

NEXT = "Declare it as string, and convert it in the query"
#: Types without a form in JSON that both sides agree on, or that the parser does not know.
_REFUSED = ("binary", "map", "duration", "interval", "time")
SHOWN_LETTERS = 60
_REASONS = (": JSON parse error: ", "JSON parse error: ")


class JsonRows:
    """Parses and encodes rows of one Arrow schema as JSON objects.

    Raises:
        BadInputError: The schema has a type that JSON cannot contain.
    """

    def __init__(self, schema: Any) -> None:
        import pyarrow as pa

        for field in schema:
            _check(field.name, field.type)
        self.schema = pa.schema(list(schema))
        self._optional = pa.schema(list(optional(pa.struct(list(schema)))))
        self._read_as = pa.schema([pa.field(field.name, _parsed_as(field.type)) for field in schema])

    def check_reading(self) -> None:
        """Do nothing: what can be written can be read."""

    def check_writing(self) -> None:
        """Do nothing: what can be read can be written."""

    def parse(self, events: Any) -> Any:
        """Return one row per event.

        Raises:
            UnreadableRowError: An event is not exactly one JSON object with fields of the schema's types.
        """
        import pyarrow as pa

        _check_objects(as_text(events))
        text = joined(events)
        try:
            table = _table(text, self._read_as)
            # No event is blank and each is in braces, so the number tells whether each is one object.
            if table.num_rows != len(events):
                raise UnreadableRowError("it is not exactly one JSON object")
            table = table.cast(self._optional)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            unfit = self._unfit(events[0].as_py()) if len(events) == 1 else None
            raise UnreadableRowError(unfit or _reason(str(error))) from None
        rows = table.combine_chunks().to_batches()[0]
        if self._optional == self.schema:
            return rows
        columns = [with_type(*pair) for pair in zip(rows.columns, self.schema.types, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _unfit(self, event: bytes) -> str | None:
        """Return which column the event does not fit, with both types, or None if it fits each by itself."""
        try:
            values = json.loads(event)
        except (ValueError, RecursionError):
            return None
        columns = [(field.name, field.type, values.get(field.name)) for field in self._optional]
        found = _first_unfit(columns)
        return None if found is None else _unfit(*found)

    def encode(self, rows: Any) -> Any:
        """Return one JSON object per row. A null is written as null, and so are not-a-number and infinity.

        Raises:
            BadInputError: A date or a time has a year that JSON cannot contain.
        """
        import pyarrow as pa

        return objects(rows.schema.names, rows.columns).cast(pa.binary())


def _check(name: str, kind: Any) -> None:
    """Refuse types without a form in JSON that both sides agree on."""
    import pyarrow.types as types

    if types.is_struct(kind):
        for field in kind:
            _check(f"{name}.{field.name}", field.type)
    elif types.is_list(kind):
        _check(f"{name}[]", kind.value_type)
    elif any(getattr(types, f"is_{name}")(kind) for name in _REFUSED):
        raise BadInputError(f"column '{name}' is {kind}, which format 'json' cannot contain. {NEXT}")


def _parsed_as(kind: Any) -> Any:
    """Return the type as which the parser reads a column.

    It knows dates only as texts. A text with a zone would become a timestamp without one, in UTC.
    """
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None):
        return pa.string()
    if types.is_list(kind):
        return pa.list_(_parsed_as(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, _parsed_as(field.type)) for field in kind])
    return kind


def _table(text: Any, schema: Any) -> Any:
    """Return the objects in a buffer as a table with the types of `_parsed_as`. Raises `ArrowInvalid`."""
    import pyarrow as pa

    table = _read(text, schema)
    endless = infinities(table.columns)
    # The parser refuses a number beyond a double, and makes infinity of one beyond a float.
    if endless and endless != infinities(_read(text, _with_doubles(schema)).columns):
        raise pa.ArrowInvalid("Number too big to be stored in float.")
    return table


def _read(text: Any, schema: Any) -> Any:
    import pyarrow as pa
    import pyarrow.json as pj

    return pj.read_json(
        pa.BufferReader(text),
        pj.ReadOptions(use_threads=False, block_size=max(len(text), 1)),
        pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore", newlines_in_values=True),
    )


def _with_doubles(schema: Any) -> Any:
    """Return a schema with double in place of float, also in lists and structs."""
    import pyarrow as pa
    import pyarrow.types as types

    def wide(kind: Any) -> Any:
        if types.is_float32(kind):
            return pa.float64()
        if types.is_list(kind):
            return pa.list_(wide(kind.value_type))
        if types.is_struct(kind):
            return pa.struct([field.with_type(wide(field.type)) for field in kind])
        return kind

    return pa.schema([field.with_type(wide(field.type)) for field in schema])


def infinities(columns: Iterable[Any]) -> int:
    """Return how many values of columns are infinite, also in lists and structs."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    count = 0
    for column in columns:
        kind = column.type
        if types.is_floating(kind):
            count += pc.sum(pc.is_inf(column)).as_py() or 0
        elif types.is_list(kind):
            count += infinities([pc.list_flatten(column)])
        elif types.is_struct(kind):
            count += infinities(pc.struct_field(column, index) for index in range(kind.num_fields))
    return count


_Column = tuple[str, Any, Any]


def _first_unfit(columns: Sequence[_Column]) -> _Column | None:
    """Return the first of columns, each a name, a type and a value of JSON, whose value is not of its type.

    The columns are halved, so that all steps together take little longer than parsing the event once.
    """
    if _fit(columns):
        return None
    while len(columns) > 1:
        first, second = columns[: len(columns) // 2], columns[len(columns) // 2 :]
        columns = second if _fit(first) else first
    return columns[0]


def _fit(columns: Sequence[_Column]) -> bool:
    """Return whether each value of JSON is one of its type."""
    import pyarrow as pa

    names = [str(place) for place in range(len(columns))]
    text = json.dumps({name: value for name, (_, _, value) in zip(names, columns, strict=True)})
    kinds = pa.schema([(name, kind) for name, (_, kind, _) in zip(names, columns, strict=True)])
    read_as = pa.schema([field.with_type(_parsed_as(field.type)) for field in kinds])
    try:
        _table(pa.py_buffer(text.encode()), read_as).cast(kinds)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _unfit(name: str, kind: Any, value: Any) -> str:
    """Return in words that a value does not fit a column, or the innermost part of it that does not."""
    import pyarrow.types as types

    parts: list[_Column] = []
    if types.is_struct(kind) and isinstance(value, dict):
        parts = [(f"{name}.{field.name}", field.type, value.get(field.name)) for field in kind]
    elif types.is_list(kind) and isinstance(value, list):
        parts = [(f"{name}[]", kind.value_type, item) for item in value]
    if parts and (part := _first_unfit(parts)) is not None:
        return _unfit(*part)
    text = json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()
    shown = f"{text[:SHOWN_LETTERS]}{'…' if len(text) > SHOWN_LETTERS else ''}"
    return f"column '{name}' is {kind}, and the event has the {_WORDS[type(value)]} {shown} there"


_WORDS = {
    str: "text",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "value",
}


def _check_objects(texts: Any) -> None:
    import pyarrow.compute as pc

    trimmed = pc.ascii_trim_whitespace(texts)
    braced = pc.and_(pc.starts_with(trimmed, "{"), pc.ends_with(trimmed, "}"))
    if not pc.all(braced).as_py():
        raise UnreadableRowError("it is not a JSON object")


def _reason(text: str) -> str:
    for mark in _REASONS:
        text = text.removeprefix(mark)
    return text.removesuffix(" in row 0")


def objects(names: Sequence[str], columns: Sequence[Any]) -> Any:
    """Return the JSON objects whose fields are ``columns``, as an Arrow array of text.

    Raises:
        BadInputError: A date or a time has a year that JSON cannot contain.
    """
    import pyarrow.compute as pc

    parts: list[Any] = []
    for index, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [f"{',' if index else '{'}{json.dumps(name, ensure_ascii=False)}:", _texts(name, column)]
    return pc.binary_join_element_wise(*parts, "}", "")


def _texts(name: str, column: Any) -> Any:
    """Return the JSON of each value of a column, as an Arrow array of text without nulls."""
    import pyarrow.compute as pc

    texts = _of_valid(name, column)
    return pc.if_else(column.is_valid(), pc.fill_null(texts, "null"), "null")


def _of_valid(name: str, column: Any) -> Any:
    """Return the JSON of each value of a column that is not null; what stands for a null does not matter."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    kind = column.type
    if types.is_string(kind):
        return _quoted(column)
    if types.is_struct(kind):
        if not kind.num_fields:
            return pa.array(["{}"] * len(column), pa.string())
        return objects([field.name for field in kind], column.flatten())
    if types.is_list(kind):
        values = pa.ListArray.from_arrays(column.offsets, _texts(name, column.values))
        return pc.binary_join_element_wise("[", pc.binary_join(values, ","), "]", "")
    if types.is_floating(kind):
        return pc.if_else(pc.is_finite(column), column.cast(pa.string()), "null")
    if types.is_null(kind):
        return pa.nulls(len(column), pa.string())
    check_years(name, column)
    text = column.cast(pa.string())
    if types.is_timestamp(kind):
        text = pc.replace_substring(text, " ", "T", max_replacements=1)
    if types.is_temporal(kind):
        return pc.binary_join_element_wise('"', text, '"', "")
    return text


def _quoted(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    # Control characters are rare, and no single call escapes them.
    if pc.any(pc.match_substring_regex(column, r"[\x00-\x1f]")).as_py():
        texts = column.to_pylist()
        return pa.array(
            [None if text is None else json.dumps(text, ensure_ascii=False) for text in texts], pa.string()
        )
    escaped = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    return pc.binary_join_element_wise('"', escaped, '"', "")

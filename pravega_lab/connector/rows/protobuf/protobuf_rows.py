"""Rows as messages of Protocol Buffers, one per event, without a header.

The library parses each message, and columns are collected field by field. A field that has presence
(`optional`, a message, a member of a `oneof`) and is absent is null; any other absent field has its default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from operator import attrgetter
from typing import Any

from pravega_lab.connector.rows.parsing import UnreadableRowError
from pravega_lab.connector.rows.protobuf.arrow_types import TIMESTAMP, check_columns, is_map
from pravega_lab.connector.rows.protobuf.descriptors import message_class
from pravega_lab.errors import BadInputError

MICROS = 1_000_000
#: The smallest double that as a float would be infinite.
FLOAT_END = (2 - 2**-24) * 2.0**127


class ProtobufRows:
    """Parses and encodes rows of one Arrow schema as messages.

    Args:
        schema: The Arrow schema of the columns, which are fields of the message.
        protobuf_descriptor: The bytes of a ``FileDescriptorSet``.
        protobuf_message: The name of the message, ``package.Message``.
        may_lack: The message, or one inside it, may lack fields of the columns: they are null.

    Raises:
        BadInputError: The descriptor or the message is missing or wrong, or a column is no field of it.
    """

    def __init__(
        self,
        schema: Any,
        protobuf_descriptor: bytes | None = None,
        protobuf_message: str | None = None,
        *,
        may_lack: bool = False,
    ) -> None:
        import pyarrow as pa

        self._schema = pa.schema(list(schema))
        self._class = class_of(protobuf_descriptor, protobuf_message)
        check_columns(self._schema, self._class.DESCRIPTOR, may_lack=may_lack)

    def check_reading(self) -> None:
        """Do nothing: what can be written can be read."""

    def check_writing(self) -> None:
        """Do nothing: what can be read can be written."""

    def parse(self, events: Any) -> Any:
        """Return one row per event.

        Raises:
            UnreadableRowError: An event is no message.
        """
        import pyarrow as pa
        from google.protobuf.message import DecodeError

        try:
            messages = list(map(self._class.FromString, events.to_pylist()))
            fields = self._class.DESCRIPTOR.fields_by_name
            columns = [_column(messages, fields.get(field.name), field.type) for field in self._schema]
        except (DecodeError, UnicodeDecodeError, pa.ArrowInvalid, OverflowError) as error:
            name = self._class.DESCRIPTOR.full_name
            raise UnreadableRowError(f"it is no message '{name}': {error}") from None
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def encode(self, rows: Any) -> Any:
        """Return one message per row. Of a null, the field stays absent.

        Raises:
            BadInputError: A value is no value of its field, such as a symbol that an enum does not have.
        """
        import pyarrow as pa

        message = self._class.DESCRIPTOR
        kinds = pa.schema([field.with_type(_numbered(field.type)) for field in rows.schema])
        arguments = _arguments(message)
        try:
            events = [
                self._class(**arguments(row)).SerializeToString(deterministic=True)
                for row in rows.cast(kinds).to_pylist()
            ]
        except (TypeError, ValueError) as error:
            raise BadInputError(
                f"a row is no message '{message.full_name}': {error}. Cast or filter the values"
            ) from None
        return pa.array(events, pa.binary())


def class_of(descriptor: bytes | None, message: str | None) -> Any:
    """Return the class of the message that both options of the format name.

    Raises:
        BadInputError: One of them is missing, or there is no such message.
    """
    if descriptor is None or message is None:
        raise BadInputError(
            "format 'protobuf' needs a descriptor and the name of a message. Add "
            ".option('protobuf_descriptor_file', '<file of protoc --descriptor_set_out>') and "
            ".option('protobuf_message', '<package.Message>')"
        )
    return message_class(descriptor, message)


def _column(messages: Sequence[Any], field: Any, kind: Any) -> Any:
    """Return one field of all messages as an Arrow array. It is null if their schema has no such field."""
    import pyarrow as pa

    if field is None:
        return pa.nulls(len(messages), kind)
    values = list(map(attrgetter(field.name), messages))
    if is_map(field):
        return _map(values, field, kind)
    if field.is_repeated:
        items = [item for value in values for item in value]
        offsets = _offsets(values)
        made = _items(items, field, kind.value_type)
        return pa.Array.from_buffers(kind, len(values), [None, offsets], children=[made])
    present = None
    if field.has_presence:
        name = field.name
        present = [message.HasField(name) for message in messages]
    return _items(values, field, kind, present)


def _items(values: Sequence[Any], field: Any, kind: Any, present: Sequence[bool] | None = None) -> Any:
    """Return values of a field, of which some are absent, as an Arrow array."""
    import pyarrow as pa

    if field.message_type and field.message_type.full_name != TIMESTAMP:
        inner = field.message_type.fields_by_name
        children = [_column(values, inner.get(child.name), child.type) for child in kind]
        mask = None if present is None else pa.array([not one for one in present], pa.bool_())
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if field.message_type:
        values = [value.seconds * MICROS + value.nanos // 1000 for value in values]
    elif field.enum_type:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        values = [names.get(value, str(value)) for value in values]
    if present is not None and not all(present):
        values = [value if there else None for value, there in zip(values, present, strict=True)]
    return pa.array(values, kind)


def _map(values: Sequence[Any], field: Any, kind: Any) -> Any:
    import pyarrow as pa

    entry = field.message_type.fields_by_name
    keys = _items([key for value in values for key in value], entry["key"], kind.key_type)
    items = _items([value[key] for value in values for key in value], entry["value"], kind.item_type)
    pairs = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(kind, len(values), [None, _offsets(values)], children=[pairs])


def _offsets(values: Sequence[Any]) -> Any:
    import numpy as np
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, values)])
    return pa.py_buffer(ends.astype(np.int32))


def _numbered(kind: Any) -> Any:
    """Return an Arrow type with numbers in place of timestamps, which Python would make objects of."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_timestamp(kind):
        return pa.int64()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_numbered(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(kind.key_type, _numbered(kind.item_type))
    return pa.list_(_numbered(kind.value_type)) if types.is_list(kind) else kind


def _arguments(message: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return what turns the values of a row into the arguments of a message, without its nulls."""
    converters = {field.name: _converter(field) for field in message.fields}

    def convert(row: dict[str, Any]) -> dict[str, Any]:
        return {name: converters[name](value) for name, value in row.items() if value is not None}

    return convert


def _converter(field: Any) -> Callable[[Any], Any]:
    """Return what turns a value of a column into one of a field."""
    if is_map(field):
        item = _of_one(field.message_type.fields_by_name["value"])
        return lambda pairs: {key: _not_null(item, value, field) for key, value in pairs}
    one = _of_one(field)
    return (lambda values: [_not_null(one, value, field) for value in values]) if field.is_repeated else one


def _not_null(one: Callable[[Any], Any], value: Any, field: Any) -> Any:
    if value is None:
        raise ValueError(f"field '{field.name}' has a null among its items")
    return one(value)


def _of_one(field: Any) -> Callable[[Any], Any]:
    if field.message_type and field.message_type.full_name == TIMESTAMP:
        return lambda micros: {"seconds": micros // MICROS, "nanos": micros % MICROS * 1000}
    if field.message_type:
        inner: list[Callable[[dict[str, Any]], dict[str, Any]]] = []

        def message(row: dict[str, Any]) -> dict[str, Any]:
            if not inner:  # made when it is needed: a message may contain itself
                inner.append(_arguments(field.message_type))
            return inner[0](row)

        return message
    if field.enum_type:
        return lambda symbol: int(symbol) if symbol.lstrip("-").isdigit() else symbol
    if field.cpp_type == field.CPPTYPE_FLOAT:
        return _float
    return int if field.cpp_type == field.CPPTYPE_UINT64 else _same


def _float(value: float) -> float:
    """Return a value of a column that may be double. The library makes infinity of one that is too large."""
    if FLOAT_END <= abs(value) < inf:
        raise ValueError(f"{value} is too large for a float")
    return value


def _same(value: Any) -> Any:
    return value

"""Avro: the type is the full name of the record, completed from the schema."""

from __future__ import annotations

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.avro.normal_form import normal_form
from pravega_lab.protocol.avro.schema import parse_schema

MISMATCH = "Type mismatch. Type should be full name for avro message. Hint: namespace.recordname"


def normal_avro(type_: str, data: bytes) -> tuple[str, bytes]:
    """Return the type and the normal form of an Avro schema. Of a union, the branch with the name counts."""
    try:
        schema = parse_schema(data)
    except BadInputError as error:
        raise BadInputError(f"Unable to parse schema: {error}") from None
    given_space, _, given = type_.rpartition(".")
    if given_space and not given:
        raise BadInputError("Namespace without name not allowed")
    name = given or schema.short_name
    space = given_space or schema.namespace
    if schema.kind == "union":
        schema = next((part for part in schema.parts if part.short_name == name), schema)
    if schema.short_name != name or (space and space != schema.namespace):
        raise BadInputError(MISMATCH)
    return (f"{space}.{name}" if space else name), normal_form(schema).encode()

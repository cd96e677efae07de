"""Protobuf: a serialized ``FileDescriptorSet``, whose type is one of its messages on the top level."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from pravega_lab.errors import BadInputError

MISMATCH = "Type mismatch. Type should match one of the protobuf messages in the descriptor set."


def normal_protobuf(type_: str, data: bytes) -> tuple[str, bytes]:
    """Return the type and the bytes by which descriptor sets are compared. Raises `BadInputError`."""
    try:
        found = FileDescriptorSet.FromString(data)
    except DecodeError as error:
        raise BadInputError(f"Unable to parse schema: {error}") from None
    given_package, _, given = type_.rpartition(".")
    if given_package and not given:
        raise BadInputError("Package without name not allowed.")
    if not given or not given_package:
        if not found.file or not found.file[0].message_type:
            raise BadInputError("Unable to parse schema: the descriptor set has no message")
        given_package = given_package or found.file[0].package
        given = given or found.file[0].message_type[0].name
    messages = (
        message.name
        for file in found.file
        if not given_package or file.package == given_package
        for message in file.message_type
    )
    if given not in messages:
        raise BadInputError(MISMATCH)
    type_ = f"{given_package}.{given}" if given_package else given
    return type_, found.SerializeToString(deterministic=True)


def text_of_descriptors(data: bytes) -> str:
    """Return a stored descriptor set as JSON, laid out as Protobuf's Java library does."""
    found = FileDescriptorSet.FromString(data)
    return _laid_out(json_format.MessageToDict(found, preserving_proto_field_name=True), "")


def _laid_out(value: Any, indent: str) -> str:
    if isinstance(value, dict):
        inner = indent + "  "
        members = (f"{inner}{json.dumps(name)}: {_laid_out(one, inner)}" for name, one in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}" if value else "{\n" + indent + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_laid_out(one, indent) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)

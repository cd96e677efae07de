"""Message classes of Protobuf, made from the descriptors in a registry."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    from google.protobuf.message import Message

CLASSES_MAX = 256


@lru_cache(CLASSES_MAX)
def message_class(descriptors: bytes, name: str) -> type[Message]:
    """Return the class of a message from a serialized ``FileDescriptorSet``.

    Raises:
        BadInputError: The set is none, lacks a file that it needs, or has no message of that name.
    """
    from google.protobuf import message_factory
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError

    try:
        found = FileDescriptorSet.FromString(descriptors)
    except DecodeError as error:
        raise BadInputError(f"no descriptors of Protobuf: {error}") from None
    files: dict[str, Any] = {file.name: file for file in found.file}
    pool, added = DescriptorPool(), set[str]()

    def add(file_name: str) -> None:
        if file_name in added or file_name not in files:
            return
        added.add(file_name)
        for needed in files[file_name].dependency:
            add(needed)
            if needed not in files:
                _add_well_known(pool, needed)
        pool.Add(files[file_name])

    try:
        for file_name in files:
            add(file_name)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except (KeyError, TypeError, RecursionError) as error:
        raise BadInputError(f"the descriptors have no whole message {name!r}: {error}") from None


def _add_well_known(pool: Any, file_name: str) -> None:
    """Add a file that comes with Protobuf, ``google/protobuf/timestamp.proto`` for example."""
    from google.protobuf import descriptor_pool
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    for module in ("timestamp", "duration", "wrappers", "struct", "any", "empty", "field_mask"):
        __import__(f"google.protobuf.{module}_pb2")
    proto = FileDescriptorProto()
    descriptor_pool.Default().FindFileByName(file_name).CopyToProto(proto)
    pool.Add(proto)

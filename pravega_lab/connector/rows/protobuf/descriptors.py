"""From the bytes of a ``FileDescriptorSet`` to the class of a message.

``protoc --include_imports --descriptor_set_out=FILE`` writes such bytes. A schema registry stores them too.
"""

from __future__ import annotations

import base64
import binascii
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from pravega_lab.errors import BadInputError


def descriptor_file(name: str, given: str) -> bytes:
    """Return the bytes of the file ``given``, which option ``name`` names.

    Raises:
        BadInputError: The file cannot be read.
    """
    try:
        return Path(given).read_bytes()
    except OSError as error:
        raise BadInputError(
            f"option '{name}' is '{given}', which cannot be read: {error.strerror}. Name a file that "
            "protoc --include_imports --descriptor_set_out has written, on the machine of the driver"
        ) from None


def descriptor(name: str, given: str) -> bytes:
    """Return the bytes that the text ``given`` of option ``name`` has in base64.

    Raises:
        BadInputError: The text is not in base64.
    """
    try:
        return base64.b64decode(given, validate=True)
    except binascii.Error as error:
        raise BadInputError(
            f"option '{name}' begins with '{given[:20]}' and is not in base64: {error}. Encode the bytes of "
            "a FileDescriptorSet, or name its file with option 'protobuf_descriptor_file'"
        ) from None


@lru_cache(maxsize=16)
def message_class(descriptor_set: bytes, name: str) -> Any:
    """Return the class of message ``name``, which is ``package.Message``.

    Raises:
        BadInputError: The bytes are no descriptor set, a file is missing in it, or it has no such message.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError

    try:
        files = list(descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file)
    except DecodeError:
        files = []
    if not files:
        raise BadInputError(
            f"the descriptor of format 'protobuf' is no FileDescriptorSet: it begins with "
            f"{descriptor_set[:20]!r}. Write one with protoc --include_imports --descriptor_set_out=FILE"
        )
    pool = descriptor_pool.DescriptorPool()
    known = {file.name for file in files}
    for file in files:
        for needed in file.dependency:
            if needed not in known:
                pool.Add(_well_known(needed))
                known.add(needed)
        pool.Add(file)
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except KeyError:
        names = [found for file in files for found in _messages(file.message_type, file.package)]
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(names)}"
        raise BadInputError(f"the descriptor has no message '{name}'. {hint}") from None


def _well_known(name: str) -> Any:
    """Return the file of protobuf itself that the set does not contain."""
    import importlib

    from google.protobuf import descriptor_pb2

    found = descriptor_pb2.FileDescriptorProto()
    try:
        if not name.startswith("google/protobuf/"):
            raise ImportError
        module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        raise BadInputError(
            f"the descriptor does not contain '{name}', which it imports. Write it with "
            "protoc --include_imports"
        ) from None
    module.DESCRIPTOR.CopyToProto(found)
    return found


def _messages(messages: Any, package: str) -> list[str]:
    found = []
    for message in messages:
        name = f"{package}.{message.name}" if package else message.name
        if not message.options.map_entry:
            found += [name, *_messages(message.nested_type, name)]
    return found

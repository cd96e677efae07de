"""The options of a format as a description of a table stores them: texts, under Spark's or Flink's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pravega_lab.connector.rows.formats import FORMAT_OPTIONS
from pravega_lab.connector.rows.protobuf.descriptors import descriptor, descriptor_file
from pravega_lab.errors import BadInputError

#: Flink's names of the options that tables use, also those of formats.
FLINK_NAMES = {
    "sink.routing-key.field.name": "routing_key_column",
    "pravega-registry.uri": "registry_uri",
    "pravega-registry.namespace": "registry_namespace",
    "pravega-registry.group-id": "registry_group",
    "pravega-registry.format": "registry_format",
}
DESCRIPTOR, DESCRIPTOR_FILE = "protobuf_descriptor", "protobuf_descriptor_file"
_OF_FORMATS = {name for names in FORMAT_OPTIONS.values() for name in names} | {DESCRIPTOR_FILE}


def stored_format_options(stored: Mapping[str, str]) -> dict[str, Any]:
    """Return those of the ``stored`` options that are a format's, as keyword arguments of its class.

    The other options, such as ``ordered``, are those of the connector and are left out.

    Raises:
        BadInputError: A value is malformed, or names a file that cannot be read.
    """
    named = {FLINK_NAMES.get(name.lower(), name.lower()): text for name, text in stored.items()}
    found: dict[str, Any] = {name: text for name, text in named.items() if name in _OF_FORMATS}
    if DESCRIPTOR in found:
        found[DESCRIPTOR] = descriptor(DESCRIPTOR, found[DESCRIPTOR])
    if DESCRIPTOR_FILE in found:
        found[DESCRIPTOR] = descriptor_file(DESCRIPTOR_FILE, found.pop(DESCRIPTOR_FILE))
    if register := found.get("registry_register"):
        if register.lower() not in ("true", "false"):
            raise BadInputError(f"option 'registry_register' is '{register}'; it is true or false")
        found["registry_register"] = register.lower() == "true"
    return found

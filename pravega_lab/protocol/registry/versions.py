"""`VersionInfo`: the place of a schema in its group."""

from __future__ import annotations

from typing import Any, NamedTuple

from pravega_lab.errors import BadInputError


class VersionInfo(NamedTuple):
    """The place of a schema in its group.

    Attributes:
        type: The name of what the schema describes, ``namespace.name`` for Avro.
        format_name: Name of the serialization format, or the user's name of a custom one.
        version: Number among the schemas of this type and format, from 0.
        id: Number among all schemas of the group, from 0.
    """

    type: str
    format_name: str
    version: int
    id: int

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the version."""
        return {
            "type": self.type,
            "serializationFormat": self.format_name,
            "version": self.version,
            "id": self.id,
        }

    @classmethod
    def of_json(cls, found: Any) -> VersionInfo:
        """Return the version that an object stands for. Raises `BadInputError`."""
        if not isinstance(found, dict):
            raise BadInputError(
                "versionInfo cannot be null: it has type, serializationFormat, version and id"
            )
        kind, format_name = found.get("type"), found.get("serializationFormat")
        if not isinstance(kind, str) or not isinstance(format_name, str):
            raise BadInputError("versionInfo needs the texts type and serializationFormat")
        return cls(kind, format_name, _number(found, "version"), _number(found, "id"))


def _number(found: dict[str, Any], name: str) -> int:
    number = found.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise BadInputError(f"versionInfo: {name} is {number!r} and not a whole number")
    return number

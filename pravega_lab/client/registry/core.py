"""Provide `AsyncSchemaRegistry`: the groups, schemas and encodings of a registry."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack
from urllib.parse import quote, urlencode

from pravega_lab.client.connection.access import Access, AccessOptions
from pravega_lab.client.registry.rest import RestAnswer, RestLink
from pravega_lab.errors import (
    AccessDeniedError,
    BadInputError,
    ConditionFailedError,
    IncompatibleSchemaError,
    NotFoundError,
    RefusedError,
    RegistryUnavailableError,
)
from pravega_lab.protocol.registry.compatibility import Compatibility
from pravega_lab.protocol.registry.names import ALLOW_ANY, FORMATS, NO_CODEC, POLICIES, SerializationFormat
from pravega_lab.protocol.registry.values import (
    CodecType,
    EncodingInfo,
    GroupProperties,
    HistoryRecord,
    SchemaInfo,
    SchemaWithVersion,
)
from pravega_lab.protocol.registry.versions import VersionInfo

TIMEOUT_S = 5.0
PAGE = 1000
_OK = (200, 201, 204)


_WANTED = {
    "Backward": "A reader with the new schema has to read old events: an added field needs a default. ",
    "Forward": "A reader with the old schema has to read the new events: a removed field needs a default. ",
    "Full": "Old and new schema have to read each other's events: added and removed fields need defaults. ",
    "DenyAll": "A group with this policy keeps its first schema. ",
}


def _wanted(policy: str) -> str:
    """Return a sentence about what a policy wants of a new Avro schema; none where it is a combination."""
    return _WANTED.get(policy.removesuffix("Transitive"), "")


class AsyncSchemaRegistry:
    """Implements `sync.SchemaRegistry` with asyncio, under the same contract. Each call connects."""

    def __init__(
        self, uri: str, *, namespace: str = "", timeout_s: float = TIMEOUT_S, **access: Unpack[AccessOptions]
    ) -> None:
        self._link = RestLink(uri, Access.of(access), timeout_s)
        self.uri = self._link.uri
        self.namespace = namespace
        self._encodings: dict[tuple[str, int], EncodingInfo] = {}

    def in_namespace(self, namespace: str) -> AsyncSchemaRegistry:
        """Return a client of the same registry for the groups of another namespace, such as a scope."""
        made = copy.copy(self)
        made.namespace, made._encodings = namespace, {}
        return made

    # Groups

    async def list_groups(self) -> dict[str, GroupProperties]:
        """Return the groups of the namespace with their properties."""
        found: dict[str, GroupProperties] = {}
        token = ""
        while True:
            query = {"limit": str(PAGE), **({"continuationToken": token} if token else {})}
            page = await self._json("GET", "/groups", query=query)
            groups = page.get("groups", {})
            new = {
                name: GroupProperties.of_json(value) for name, value in groups.items() if name not in found
            }
            found |= new
            token = str(page.get("continuationToken", ""))
            if not new or not token:
                return found

    async def create_group(
        self,
        group: str,
        serialization_format: str | SerializationFormat,
        compatibility: str | Compatibility = ALLOW_ANY,
        *,
        allow_multiple_types: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> bool:
        """Create a group and return True, or False if it existed, whatever its properties."""
        wanted = GroupProperties(
            _format(serialization_format), _policy(compatibility), allow_multiple_types, properties or {}
        )
        body = {"groupName": _group(group), "groupProperties": wanted.to_json()}
        answer = await self._call("POST", "/groups", body, also=(409,))
        if answer.status == 409:
            return False
        self._forget_encodings(group)  # those of an earlier group of this name
        return True

    async def delete_group(self, group: str) -> None:
        """Delete a group with its schemas. A group that does not exist is fine."""
        await self._call("DELETE", _path(group))
        self._forget_encodings(group)

    async def group_properties(self, group: str) -> GroupProperties:
        """Return the properties of a group."""
        return GroupProperties.of_json(await self._json("GET", _path(group)))

    async def set_compatibility(
        self, group: str, compatibility: str | Compatibility, previous: str | Compatibility | None = None
    ) -> None:
        """Change the policy of a group, on the condition that it is ``previous`` if that is given."""
        body: dict[str, Any] = {"compatibility": _policy(compatibility).to_json()}
        if previous is not None:
            body["previousCompatibility"] = _policy(previous).to_json()
        answer = await self._call("PUT", _path(group, "compatibility"), body, also=(409,))
        if answer.status == 409:
            raise ConditionFailedError(
                f"the policy of group {group!r} is not {_policy(previous or '').policy}"
            )

    async def history(self, group: str) -> list[HistoryRecord]:
        """Return the schemas of a group with the policies and times of their addition, oldest first."""
        found = await self._json("GET", _path(group, "history"))
        return [HistoryRecord.of_json(one) for one in found["history"]]

    # Schemas

    async def add_schema(self, group: str, schema: SchemaInfo) -> VersionInfo:
        """Add a schema and return its version. A schema that is there already keeps its version."""
        answer = await self._call("POST", _path(group, "schemas"), schema.to_json(), also=(409, 417))
        if answer.status in _OK:
            return VersionInfo.of_json(json.loads(answer.body))
        properties = await self.group_properties(group)
        if answer.status == 417:
            raise IncompatibleSchemaError(
                f"group {group!r} takes {properties.format.name} schemas, and {schema.type!r} is a schema of"
                f" {schema.format.name}"
            )
        raise IncompatibleSchemaError(
            f"group {group!r} refuses the schema {schema.type!r}: its policy is"
            f" {properties.compatibility.policy}"
            + ("" if properties.allow_multiple_types else ", and it has one type")
            + f". {_wanted(properties.compatibility.policy)}"
            + "Compare it with history(group), or change the policy"
        )

    async def schemas(self, group: str, schema_type: str | None = None) -> list[SchemaWithVersion]:
        """Return the latest schema of each type, or of one type. An unknown type has none."""
        # The released server fails for an unknown type.
        found = await self._json("GET", _path(group, "schemas"))
        every = [SchemaWithVersion.of_json(one) for one in found["schemas"]]
        return [one for one in every if schema_type in (None, one.version.type)]

    async def versions(self, group: str, schema_type: str | None = None) -> list[SchemaWithVersion]:
        """Return all schemas that are not deleted, of all types or of one, oldest first."""
        query = {} if schema_type is None else {"type": schema_type}
        found = await self._json("GET", _path(group, "schemas", "versions"), query=query)
        return [SchemaWithVersion.of_json(one) for one in found["schemas"]]

    async def find_version(self, group: str, schema: SchemaInfo) -> VersionInfo | None:
        """Return the version of a schema, None if the group does not have it."""
        path = _path(group, "schemas", "versions", "find")
        answer = await self._call("POST", path, schema.to_json(), also=(404,))
        if answer.status == 404:
            await self.group_properties(group)  # says so if there is no such group
            return None
        return VersionInfo.of_json(json.loads(answer.body))

    async def schema(self, group: str, schema_id: int) -> SchemaInfo:
        """Return a schema by its id, also a deleted one."""
        return SchemaInfo.of_json(await self._json("GET", _path(group, "schemas", "schema", str(schema_id))))

    async def delete_schema(self, group: str, schema_id: int) -> None:
        """Hide a schema. It is still found by its id, and by the encoding ids of events."""
        await self._call("DELETE", _path(group, "schemas", "schema", str(schema_id)))

    async def is_valid(
        self, group: str, schema: SchemaInfo, compatibility: str | Compatibility | None = None
    ) -> bool:
        """Return whether a group would take a schema, under its policy or under another one."""
        policy = None if compatibility is None else _policy(compatibility)
        if policy is None:  # the released server fails without one
            policy = (await self.group_properties(group)).compatibility
        body = {"schemaInfo": schema.to_json(), "compatibility": policy.to_json()}
        return bool(
            (await self._json("POST", _path(group, "schemas", "versions", "validate"), body))["valid"]
        )

    async def can_read(self, group: str, schema: SchemaInfo) -> bool:
        """Return whether a schema reads the events of a group, as far as its policy promises that."""
        path = _path(group, "schemas", "versions", "canRead")
        return bool((await self._json("POST", path, schema.to_json()))["compatible"])

    async def groups_with(self, schema: SchemaInfo) -> dict[str, VersionInfo]:
        """Return the version of a schema in each group of the namespace that has it."""
        found = await self._json("POST", "/schemas/addedTo", schema.to_json())
        return {name: VersionInfo.of_json(version) for name, version in found["groups"].items()}

    # Codecs and encodings

    async def codecs(self, group: str) -> list[CodecType]:
        """Return the codecs of a group. No codec at all is always allowed, and not among them."""
        found = await self._json("GET", _path(group, "codecTypes"))
        return [CodecType.of_json(one) for one in found["codecTypes"]]

    async def add_codec(self, group: str, codec: str | CodecType) -> None:
        """Add a codec. One that is there keeps its properties."""
        given = CodecType(codec) if isinstance(codec, str) else codec
        await self._call("POST", _path(group, "codecTypes"), given.to_json())

    async def encoding_id(self, group: str, version: VersionInfo, codec: str = NO_CODEC) -> int:
        """Return the id that events of a version and a codec begin with. The first call makes it."""
        body = {"versionInfo": version.to_json(), "codecType": codec}
        answer = await self._call("PUT", _path(group, "encodings"), body, also=(412,))
        if answer.status == 412:
            raise RefusedError(f"group {group!r} has no codec {codec!r}: add it by add_codec({group!r}, …)")
        return int(json.loads(answer.body)["encodingId"])

    async def encoding(self, group: str, encoding_id: int) -> EncodingInfo:
        """Return what an encoding id stands for. It is asked for once: it does not change while the group is
        there, and in the embedded registry never.
        """
        known = self._encodings.get((group, encoding_id))
        if known is None:
            known = EncodingInfo.of_json(await self._json("GET", _path(group, "encodings", str(encoding_id))))
            self._encodings[group, encoding_id] = known
        return known

    def _forget_encodings(self, group: str) -> None:
        for key in [key for key in self._encodings if key[0] == group]:
            del self._encodings[key]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r}, namespace={self.namespace!r})"

    # Calls

    async def _json(
        self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> Any:
        answer = await self._call(method, path, body, query)
        try:
            found = json.loads(answer.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise RegistryUnavailableError(
                f"{self.uri} is no schema registry: it answers {answer.text[:100]!r}"
            )
        return found

    async def _call(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        also: Sequence[int] = (),
    ) -> RestAnswer:
        """Return an answer with a good status or one of ``also``."""
        asked = {**(query or {}), **({"namespace": self.namespace} if self.namespace else {})}
        target = f"/v1{path}" + (f"?{urlencode(asked)}" if asked else "")
        answer = await self._link.call(method, target, body)
        if answer.status in _OK or answer.status in also:
            return answer
        raise _refusal(self.uri, method, path, answer)


def _refusal(uri: str, method: str, path: str, answer: RestAnswer) -> Exception:
    said = f": {answer.text}" if answer.text and not answer.text.startswith("<") else ""
    what = f"{method} {path} at {uri} ended with {answer.status}{said}"
    match answer.status:
        case 400:
            return BadInputError(what)
        case 401 | 403:
            return AccessDeniedError(f"{what}. Give credentials= of a user who may do this")
        case 404:
            return NotFoundError(f"{what}. There is no such group, schema or encoding")
        case status if status >= 500 and status != 507:
            return RegistryUnavailableError(what)
    return RefusedError(what)


def _path(group: str, *parts: str) -> str:
    return "/groups/" + "/".join(quote(part, safe="") for part in (_group(group), *parts))


def _group(name: str) -> str:
    if not name:
        raise BadInputError("a group without a name: give one, of the stream for example")
    return name


def _policy(given: str | Compatibility) -> Compatibility:
    if not isinstance(given, str):
        return given
    if given not in POLICIES:
        raise BadInputError(f"the compatibility policy {given!r} is not one of {', '.join(POLICIES)}")
    return Compatibility.of_json({"policy": given})


def _format(given: str | SerializationFormat) -> SerializationFormat:
    if isinstance(given, SerializationFormat):
        return given
    if given not in FORMATS:
        raise BadInputError(f"the serialization format {given!r} is not one of {', '.join(FORMATS)}")
    return SerializationFormat(given)

"""Which call a path and a method name, and what its caller has to be allowed (schema-registry.md A1, A4)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple
from urllib.parse import quote_plus, unquote

from . import calls


class Need(Enum):
    """What a caller has to be allowed: which resource, and whether to change it."""

    NOTHING = "nothing"
    READ_NAMESPACE = "read the namespace"
    CHANGE_NAMESPACE = "change the namespace"
    READ_GROUP = "read the group"
    CHANGE_GROUP = "change the group"
    CHANGE_SCHEMAS = "change the schemas of the group"
    CHANGE_CODECS = "change the codecs of the group"


class Route(NamedTuple):
    """A call: its method, its path after ``/v1/`` with names in braces, and what its caller needs."""

    method: str
    path: tuple[str, ...]
    call: calls.Call
    need: Need


def _route(method: str, path: str, call: calls.Call, need: Need) -> Route:
    return Route(method, tuple(path.split("/")), call, need)


_GROUP = "groups/{group}"
_ID = f"{_GROUP}/schemas/schema/{{id}}"
_VERSION = f"{_GROUP}/schemas/format/{{format}}/type/{{type}}/versions/{{version}}"
ROUTES = (
    _route("GET", "groups", calls.list_groups, Need.READ_NAMESPACE),
    _route("POST", "groups", calls.create_group, Need.CHANGE_NAMESPACE),
    _route("GET", _GROUP, calls.get_group, Need.READ_GROUP),
    _route("DELETE", _GROUP, calls.delete_group, Need.CHANGE_GROUP),
    _route("GET", f"{_GROUP}/history", calls.get_history, Need.READ_GROUP),
    _route("PUT", f"{_GROUP}/compatibility", calls.set_compatibility, Need.CHANGE_GROUP),
    _route("GET", f"{_GROUP}/schemas", calls.get_schemas, Need.READ_GROUP),
    _route("POST", f"{_GROUP}/schemas", calls.add_schema, Need.CHANGE_SCHEMAS),
    _route("GET", f"{_GROUP}/schemas/versions", calls.get_versions, Need.READ_GROUP),
    _route("POST", f"{_GROUP}/schemas/versions/find", calls.find_version, Need.READ_GROUP),
    _route("POST", f"{_GROUP}/schemas/versions/validate", calls.validate, Need.READ_GROUP),
    _route("POST", f"{_GROUP}/schemas/versions/canRead", calls.can_read, Need.READ_GROUP),
    _route("GET", _ID, calls.get_schema, Need.READ_GROUP),
    _route("DELETE", _ID, calls.delete_schema, Need.CHANGE_SCHEMAS),
    _route("GET", _VERSION, calls.get_schema, Need.READ_GROUP),
    _route("DELETE", _VERSION, calls.delete_schema, Need.CHANGE_SCHEMAS),
    _route("PUT", f"{_GROUP}/encodings", calls.get_encoding_id, Need.CHANGE_GROUP),
    _route("GET", f"{_GROUP}/encodings/{{id}}", calls.get_encoding, Need.READ_GROUP),
    _route("GET", f"{_GROUP}/codecTypes", calls.get_codecs, Need.READ_GROUP),
    _route("POST", f"{_GROUP}/codecTypes", calls.add_codec, Need.CHANGE_CODECS),
    _route("POST", "schemas/addedTo", calls.references, Need.READ_NAMESPACE),
)
PING = Route("GET", ("ping",), calls.ping, Need.NOTHING)


class Found(NamedTuple):
    """What a path names: the routes of all its methods, the named parts, and a namespace if it has one."""

    routes: list[Route]
    parts: dict[str, str]
    namespace: str | None


def find(path: str) -> Found:
    """Return what a path names. ``routes`` is empty if it names nothing.

    ``/v1/namespace/NAME/groups/…`` is another way to write ``/v1/groups/…?namespace=NAME``.
    """
    segments = path.split("/")[1:]
    if segments == ["ping"]:
        return Found([PING], {}, None)
    if len(segments) < 2 or segments[0] != "v1":
        return Found([], {}, None)
    del segments[0]
    namespace: str | None = None
    if segments[0] == "namespace" and len(segments) > 2:
        namespace = unquote(segments[1])
        del segments[:2]
    routes = [route for route in ROUTES if _fits(route.path, segments)]
    named = zip(routes[0].path, segments, strict=True) if routes else ()
    parts = {name[1:-1]: unquote(segment) for name, segment in named if name.startswith("{")}
    return Found(routes, parts, namespace)


def _fits(path: tuple[str, ...], segments: list[str]) -> bool:
    return len(path) == len(segments) and all(
        name.startswith("{") or name == segment for name, segment in zip(path, segments, strict=True)
    )


def resource_of(need: Need, namespace: str, group: str) -> str:
    """Return the resource of a need, ``prn::/namespace:a/group:b`` for example."""
    of_namespace = "prn::/" + (f"namespace:{quote_plus(namespace)}" if namespace else "")
    if need in (Need.READ_NAMESPACE, Need.CHANGE_NAMESPACE):
        return of_namespace
    of_group = f"prn::/namespace:{quote_plus(namespace)}/group:{quote_plus(group)}"
    return of_group + {Need.CHANGE_SCHEMAS: "/schemas:*", Need.CHANGE_CODECS: "/codecs:*"}.get(need, "")

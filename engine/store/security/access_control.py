"""Decide who may call what, which names a user sees in lists, and which token a request needs.

The controller asks before it handles a call and after it has an answer; the segment store asks with each
request that carries a token. Source: access.md A2 to A4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pravega_lab.protocol.controller import controller_pb2 as pb

from ..metadata.replies import RpcError
from . import tokens
from .passwords import User
from .permissions import Permission, of_name, of_scope, of_stream, of_table, permission_on
from .rules import READ, UPDATE, needs, token_need

PARSED_MAX = 1024
"""Tokens whose signature need not be checked again."""


class AccessControl:
    """The users of a store, and the key with which it signs tokens.

    Args:
        users: By name, as `passwords.parse_password_file` returns them.
        key: Signs delegation tokens. A store that keeps its data keeps its key too, so that the tokens of
            open writers stay good across a restart.
        ttl_s: The lifetime of a token.
    """

    def __init__(self, users: Mapping[str, User], key: bytes, ttl_s: int = tokens.TTL_S) -> None:
        self.users = users
        self._key = key
        self._ttl_s = ttl_s
        self._parsed: dict[str, tokens.Token] = {}

    def __repr__(self) -> str:
        return f"AccessControl({len(self.users)} users)"

    # The controller

    def check(self, method: str, request: Any, user: User | None) -> None:
        """Check that ``user`` may make a call.

        Raises:
            RpcError: UNAUTHENTICATED without a user, PERMISSION_DENIED if the user is not allowed to.
        """
        if user is None:
            raise RpcError("UNAUTHENTICATED", "Authentication failed: this store wants a user and a password")
        for wanted in needs(method, request):
            if permission_on(user.acl, wanted.resource) < wanted.permission:
                raise RpcError(
                    "PERMISSION_DENIED",
                    f"Authorization failed: {user.name!r} has no {wanted.permission.name} on"
                    f" {wanted.resource}",
                )

    def complete(self, method: str, request: Any, response: Any, user: User | None, now_ms: int) -> Any:
        """Return the response with the token that the call carries, if it carries one."""
        resource = _TOKENS.get(method)
        if method == "getDelegationToken":
            _, permission = token_need(request)
            token = tokens.issue(
                self._key, of_stream(request.scope, request.stream), permission, now_ms, self._ttl_s
            )
            return pb.DelegationToken(delegationToken=token)
        if resource is not None:
            info, permission = resource(request)
            if info is not None:
                is_table = method == "getCurrentSegmentsKeyValueTable"
                name = (of_table if is_table else of_stream)(info.scope, info.stream)
                response.delegationToken = tokens.issue(self._key, name, permission, now_ms, self._ttl_s)
        return response

    def hide(self, method: str, request: Any, response: Any, user: User | None) -> bool:
        """Remove from a page of a list what the user may not read.

        Return True if nothing is left of a page that had names: an empty page would end the list.
        """
        part = _LISTS.get(method)
        if part is None or user is None:
            return False
        names, resource_of = part(request, response)
        shown = [name for name in names if permission_on(user.acl, resource_of(name)) >= READ]
        is_over = not names
        if len(shown) < len(names):
            del names[:]
            names.extend(shown)
        return not shown and not is_over

    # The segment store

    def check_token(self, text: str, segment: str, wanted: Permission, now_ms: int) -> None:
        """Check the token of a request.

        Raises:
            BadTokenError: The token does not allow the request. ExpiredTokenError: it did once.
        """
        self._token(text).check(segment, wanted, now_ms)

    def expires_s(self, text: str) -> float | None:
        """Return when a token expires, in seconds since 1970. Raises BadTokenError."""
        return self._token(text).expires_s

    def _token(self, text: str) -> tokens.Token:
        token = self._parsed.get(text)
        if token is None:
            token = tokens.parse(self._key, text)
            if len(self._parsed) >= PARSED_MAX:
                self._parsed.pop(next(iter(self._parsed)))
            self._parsed[text] = token
        return token


_Resource = Callable[[Any], tuple[Any, Permission]]


def _if_asked(info: Any) -> Any:
    return None if info.accessOperation == pb.StreamInfo.NONE else info


_TOKENS: dict[str, _Resource] = {
    "getCurrentSegments": lambda request: (_if_asked(request), UPDATE),
    "getEpochSegments": lambda request: (request.streamInfo, UPDATE),
    "getSegments": lambda request: (_if_asked(request.streamInfo), UPDATE),
    "getSegmentsBetween": lambda request: (request.streamInfo, READ),
    "createTransaction": lambda request: (request.streamInfo, UPDATE),
    "getCurrentSegmentsKeyValueTable": lambda request: (
        pb.StreamInfo(scope=request.scope, stream=request.kvtName),
        UPDATE,
    ),
}
"""The calls whose answer has a token: of which stream, and what it allows."""


def _streams(request: Any, response: Any) -> tuple[Any, Callable[[Any], str]]:
    return response.streams, lambda info: of_name(info.scope, info.stream)


_LISTS: dict[str, Callable[[Any, Any], tuple[Any, Callable[[Any], str]]]] = {
    "listScopes": lambda request, response: (response.scopes, of_scope),
    "listStreamsInScope": _streams,
    "listStreamsInScopeForTag": _streams,
    "listKeyValueTablesInScope": lambda request, response: (
        response.kvtables,
        lambda info: of_table(info.scope, info.kvtName),
    ),
}
"""The calls whose answer is a list: its names, and the resource of each."""

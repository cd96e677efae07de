"""What each call of the controller needs: a resource, and the permission on it.

The table follows the released server (access.md A3). A call that is not in it needs the permission to do
everything, so that a call that is new here is refused and not open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import READER_GROUP_PREFIX

from .permissions import (
    MARK_PREFIX,
    Permission,
    of_name,
    of_scope,
    of_scopes,
    of_stream,
    of_table,
)

READ, UPDATE = Permission.READ, Permission.READ_UPDATE


class Need(NamedTuple):
    """A permission on a resource, which the caller has to have."""

    resource: str
    permission: Permission


Rule = Callable[[Any], Need | None]


def needs(method: str, request: Any) -> list[Need]:
    """Return what a caller of ``method`` has to be allowed; nothing if credentials are enough."""
    rule = RULES.get(method)
    first = Need(f"{of_scopes()}*", UPDATE) if rule is None else rule(request)
    more = _subscriptions(request) if method in _SUBSCRIBE else []
    return more if first is None else [first, *more]


def token_need(request: pb.StreamInfo) -> tuple[Need, Permission]:
    """Return what a caller has to be allowed to get a token for a stream, and what the token allows.

    Members of a reader group write its state with the permission to read it, as upstream's default is.
    """
    scope, stream = request.scope, request.stream
    match request.accessOperation:
        case pb.StreamInfo.UNSPECIFIED:  # older clients
            return Need(of_name(scope, stream), UPDATE), UPDATE
        case pb.StreamInfo.WRITE | pb.StreamInfo.READ_WRITE:
            return Need(of_name(scope, stream), _to_write(stream)), UPDATE
        case _:
            return Need(of_name(scope, stream), READ), READ


def _to_write(stream: str) -> Permission:
    return READ if stream.startswith((READER_GROUP_PREFIX, MARK_PREFIX)) else UPDATE


def _scopes(permission: Permission) -> Rule:
    return lambda request: Need(of_scopes(), permission)


def _stream(permission: Permission, info: Callable[[Any], Any] = lambda request: request.streamInfo) -> Rule:
    return lambda request: Need(of_stream(info(request).scope, info(request).stream), permission)


def _name(permission: Permission, info: Callable[[Any], Any] = lambda request: request.streamInfo) -> Rule:
    """Return a rule on the reader group or stream that a stream belongs to; see `of_name`."""
    return lambda request: Need(of_name(info(request).scope, info(request).stream), permission)


def _itself(request: Any) -> Any:
    return request


def _in_scope(request: Any) -> Need:
    """Return the need to read a scope: upstream's default lets who may read it manage reader groups in it."""
    return Need(of_scope(request.scope), READ)


def _subscriptions(request: pb.ReaderGroupConfiguration) -> list[Need]:
    """Return the need to read the streams whose retention a group will hold back. Upstream asks for none."""
    infos = [cut.streamInfo for cut in request.startingStreamCuts] if request.retentionType else []
    return [Need(of_stream(info.scope, info.stream), READ) for info in infos]


_SUBSCRIBE = ("createReaderGroup", "updateReaderGroup")


def _scope_message(request: Any) -> Need:
    return Need(of_scope(request.scope.scope), READ)


def _create_stream(request: pb.StreamConfig) -> Need:
    return Need(of_scope(request.streamInfo.scope), _to_write(request.streamInfo.stream))


def _current_segments(request: pb.StreamInfo) -> Need:
    """Older clients take the token from the answer, which allows writing, so they need that permission."""
    is_asked = request.accessOperation != pb.StreamInfo.NONE
    return Need(of_name(request.scope, request.stream), UPDATE if is_asked else READ)


def _head_segments(request: pb.GetSegmentsRequest) -> Need:
    info = request.streamInfo
    is_asked = info.accessOperation != pb.StreamInfo.NONE
    return Need(of_stream(info.scope, info.stream), UPDATE if is_asked else READ)


def _table(permission: Permission) -> Rule:
    return lambda request: Need(of_table(request.scope, request.kvtName), permission)


def _token(request: pb.StreamInfo) -> Need:
    return token_need(request)[0]


RULES: dict[str, Rule] = {
    "getControllerServerList": lambda request: None,
    "createScope": _scopes(UPDATE),
    "deleteScope": _scopes(UPDATE),
    "deleteScopeRecursive": _scopes(UPDATE),
    "listScopes": _scopes(READ),
    "checkScopeExists": _in_scope,
    "listStreamsInScope": _scope_message,
    "listStreamsInScopeForTag": _scope_message,
    "createStream": _create_stream,
    "updateStream": _name(UPDATE),
    "truncateStream": _stream(UPDATE),
    "sealStream": _stream(UPDATE, _itself),
    "deleteStream": _stream(UPDATE, _itself),
    "checkStreamExists": _stream(READ, _itself),
    "getStreamConfiguration": _stream(READ, _itself),
    "getCurrentSegments": _current_segments,
    "getEpochSegments": _stream(UPDATE),  # the answer carries a token that allows writing
    "getSegments": _head_segments,
    "getSegmentsImmediatelyFollowing": _stream(READ),
    "getSegmentsImmediatlyFollowing": _stream(READ),
    "getSegmentsBetween": _stream(READ),
    "scale": _stream(UPDATE),
    "checkScale": _stream(READ),
    "getURI": _name(READ),
    "isSegmentValid": _stream(READ),
    "isStreamCutValid": _stream(READ),
    "createTransaction": _stream(UPDATE),
    "commitTransaction": _stream(UPDATE),
    "abortTransaction": _stream(UPDATE),
    "pingTransaction": _stream(UPDATE),
    "checkTransactionState": _stream(READ),
    "listCompletedTransactions": _stream(READ),
    "getDelegationToken": _token,
    "noteTimestampFromWriter": _stream(UPDATE, lambda request: request.position.streamInfo),
    "removeWriter": _stream(UPDATE, lambda request: request.stream),
    "createReaderGroup": _in_scope,
    "updateReaderGroup": _in_scope,
    "getReaderGroupConfig": _in_scope,
    "deleteReaderGroup": _in_scope,
    "listSubscribers": _stream(UPDATE, _itself),
    "updateSubscriberStreamCut": _stream(UPDATE, lambda request: request.streamCut.streamInfo),
    "createKeyValueTable": lambda request: Need(of_scope(request.scope), UPDATE),
    "deleteKeyValueTable": _table(UPDATE),
    "getKeyValueTableConfiguration": _table(READ),
    "getCurrentSegmentsKeyValueTable": _table(UPDATE),
    "listKeyValueTablesInScope": _scope_message,
}

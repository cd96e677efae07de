"""The controller's calls on scopes, and its lists of scopes and streams (pravega.md D7)."""

from __future__ import annotations

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import is_valid_scope

from ..metadata import records as rec
from ..metadata.catalog import SYSTEM_SCOPE, Catalog, ScopeEntry
from ..metadata.jobs import Steps
from ..metadata.metadata import Change, Metadata
from ..metadata.pages import page_of
from ..metadata.replies import RpcError
from ..tables.calls import KeyValueTableCalls
from .reader_groups import ReaderGroupCalls
from .removals import Removals, Turns

OPERATIONS_OF_EACH = 20
"""What a deletion counts as, apart from segments: two changes, records, and a mark stream or state stream."""


class ScopeCalls:
    """The calls createScope, deleteScope, deleteScopeRecursive, checkScopeExists and the lists."""

    def __init__(
        self,
        metadata: Metadata,
        removals: Removals,
        groups: ReaderGroupCalls,
        tables: KeyValueTableCalls,
    ) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._removals = removals
        self._groups = groups
        self._tables = tables

    def create(self, request: pb.ScopeInfo, now_ms: int) -> pb.CreateScopeStatus:
        """Create a scope."""
        status = pb.CreateScopeStatus
        if not request.scope:
            raise RpcError("INTERNAL", "the scope has no name; give it one")
        if not is_valid_scope(request.scope):
            return status(status=status.INVALID_SCOPE_NAME)
        if request.scope in self._catalog.scopes:
            return status(status=status.SCOPE_EXISTS)
        change = Change()
        change.write(rec.ScopeRecord(now_ms, request.scope))
        self._metadata.commit(change, now_ms=now_ms)
        return status(status=status.SUCCESS)

    def delete(self, request: pb.ScopeInfo, now_ms: int) -> pb.DeleteScopeStatus:
        """Delete a scope without streams, reader groups and key-value tables."""
        status = pb.DeleteScopeStatus
        scope = self._catalog.scopes.get(request.scope)
        if scope is None:
            return status(status=status.SCOPE_NOT_FOUND)
        if not scope.is_empty or request.scope == SYSTEM_SCOPE:
            return status(status=status.SCOPE_NOT_EMPTY)
        self._remove(scope, now_ms)
        return status(status=status.SUCCESS)

    def delete_recursive(self, request: pb.ScopeInfo, now_ms: int) -> Steps:
        """Delete every group and key-value table, seal and delete every stream, then delete the scope.

        Each is a separate change, and other calls are decided between them. Nothing can be created in the
        scope in the meantime.
        """
        status = pb.DeleteScopeStatus
        scope = self._catalog.scopes.get(request.scope)
        if scope is None:
            return status(status=status.SCOPE_NOT_FOUND)
        if request.scope == SYSTEM_SCOPE:
            return status(status=status.FAILURE)
        scope.is_ending = True
        try:
            now_ms = yield from self._empty(scope, now_ms)
        finally:
            scope.is_ending = False
        if self._catalog.scopes.get(request.scope) is scope:  # two calls may delete it at the same time
            self._remove(scope, now_ms)
        return status(status=status.SUCCESS)

    def _empty(self, scope: ScopeEntry, now_ms: int) -> Turns:
        """Delete the groups, tables and streams of a scope, as many in one turn as `Removals` allows."""
        left = most = self._removals.operations_max
        for group in list(scope.groups.values()):
            if scope.groups.get(group.group) is not group:
                continue
            self._groups.delete_now(group, now_ms)
            left -= OPERATIONS_OF_EACH
            if left <= 0:
                now_ms, left = (yield), most
        for table in list(scope.tables.values()):
            if scope.tables.get(table.table) is not table:
                continue
            left -= self._tables.delete_now(table, now_ms)
            if left <= 0:
                now_ms, left = (yield), most
        for name in list(scope.stream_names):
            stream = scope.streams.get(name)
            if stream is None:  # a mark stream is deleted with its stream
                continue
            left -= OPERATIONS_OF_EACH + self._removals.size(stream)
            now_ms = yield from self._removals.seal(stream, now_ms)
            now_ms = yield from self._removals.delete(stream, now_ms)
            if left <= 0:
                now_ms, left = (yield), most
        return now_ms

    def exists(self, request: pb.ScopeInfo, now_ms: int) -> pb.ExistsResponse:
        """Return whether a scope exists."""
        return pb.ExistsResponse(exists=request.scope in self._catalog.scopes)

    def list(self, request: pb.ScopesRequest, now_ms: int) -> pb.ScopesResponse:
        """Return a page of the scopes."""
        page, token = page_of(self._catalog.scope_names, request.continuationToken.token)
        return pb.ScopesResponse(scopes=page, continuationToken=pb.ContinuationToken(token=token))

    def list_streams(self, request: pb.StreamsInScopeRequest, now_ms: int) -> pb.StreamsInScopeResponse:
        """Return a page of the streams in a scope."""
        return self._list(request.scope.scope, request.continuationToken.token, None)

    def list_streams_for_tag(
        self, request: pb.StreamsInScopeWithTagRequest, now_ms: int
    ) -> pb.StreamsInScopeResponse:
        """Return a page of the streams in a scope that have a tag."""
        return self._list(request.scope.scope, request.continuationToken.token, request.tag)

    def _list(self, name: str, token: str, tag: str | None) -> pb.StreamsInScopeResponse:
        scope = self._catalog.scopes.get(name)
        if scope is None:
            return pb.StreamsInScopeResponse(status=pb.StreamsInScopeResponse.SCOPE_NOT_FOUND)
        streams = scope.streams
        page, token = page_of(
            scope.stream_names, token, lambda n: tag is None or tag in streams[n].config.tags.tag
        )
        return pb.StreamsInScopeResponse(
            streams=[pb.StreamInfo(scope=name, stream=n) for n in page],
            continuationToken=pb.ContinuationToken(token=token),
        )

    def _remove(self, scope: ScopeEntry, now_ms: int) -> None:
        change = Change()
        change.remove(scope.record)
        self._metadata.commit(change, now_ms=now_ms)

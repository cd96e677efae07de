"""The controller's calls on scopes, and its lists of scopes and streams (pravega.md D7, E3-11).

Lists are in the order of names. A page carries a token, which is the last name in it. The page after the
last one is empty and repeats the token, which is how the official clients notice the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import is_valid_scope

from ..metadata import records as rec
from ..metadata.catalog import SYSTEM_SCOPE, Catalog, ScopeEntry
from ..metadata.metadata import Change, Metadata
from ..metadata.replies import RpcError
from .reader_groups import ReaderGroupCalls
from .streams import StreamCalls

PAGE_LENGTH_MAX = 1000


class ScopeCalls:
    """The calls createScope, deleteScope, deleteScopeRecursive, checkScopeExists and the lists."""

    def __init__(self, metadata: Metadata, streams: StreamCalls, groups: ReaderGroupCalls) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._streams = streams
        self._groups = groups

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
        """Delete a scope without streams and reader groups."""
        status = pb.DeleteScopeStatus
        scope = self._catalog.scopes.get(request.scope)
        if scope is None:
            return status(status=status.SCOPE_NOT_FOUND)
        if not scope.is_empty or request.scope == SYSTEM_SCOPE:
            return status(status=status.SCOPE_NOT_EMPTY)
        self._remove(scope, now_ms)
        return status(status=status.SUCCESS)

    def delete_recursive(self, request: pb.ScopeInfo, now_ms: int) -> pb.DeleteScopeStatus:
        """Delete every group, seal and delete every stream, then delete the scope.

        Each is a separate step.
        """
        status = pb.DeleteScopeStatus
        scope = self._catalog.scopes.get(request.scope)
        if scope is None:
            return status(status=status.SCOPE_NOT_FOUND)
        if request.scope == SYSTEM_SCOPE:
            return status(status=status.FAILURE)
        for group in list(scope.groups.values()):
            self._groups.delete_now(group, now_ms)
        for name in list(scope.stream_names):
            if (stream := scope.streams.get(name)) is not None:  # a mark stream is deleted with its stream
                self._streams.seal_now(stream, now_ms)
                self._streams.delete_now(stream, now_ms)
        self._remove(scope, now_ms)
        return status(status=status.SUCCESS)

    def exists(self, request: pb.ScopeInfo, now_ms: int) -> pb.ExistsResponse:
        """Return whether a scope exists."""
        return pb.ExistsResponse(exists=request.scope in self._catalog.scopes)

    def list(self, request: pb.ScopesRequest, now_ms: int) -> pb.ScopesResponse:
        """Return a page of the scopes."""
        page, token = _page(self._catalog.scope_names, request.continuationToken.token, lambda name: True)
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
        page, token = _page(
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


def _page(names: Sequence[str], token: str, wanted: Callable[[str], bool]) -> tuple[list[str], str]:
    """Return the next names after ``token``, and the token of the next page."""
    page: list[str] = []
    for name in names[bisect_right(names, token) :]:
        if len(page) == PAGE_LENGTH_MAX:
            break
        if wanted(name):
            page.append(name)
    return page, page[-1] if page else token

"""The controller's calls on key-value tables (pravega.md A13, D7).

A table is divided into partitions by the hash of the primary key. Each partition is one table segment whose
keys all have the length of primary and secondary key together. Neither can be changed later.
"""

from __future__ import annotations

from pravega_lab.errors import NotFoundError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import initial_ranges
from pravega_lab.protocol.names import is_valid_user_name, kv_table_segment_name

from ..errors import SegmentExists
from ..log.operations import CreateSegment, Delete
from ..metadata import records as rec
from ..metadata.catalog import Catalog
from ..metadata.counts import refuse_many_segments
from ..metadata.metadata import Change, Metadata
from ..metadata.pages import page_of
from ..metadata.replies import RpcError
from ..storage.fixed_table import FIXED_KEY_BYTES_MAX


class KeyValueTableCalls:
    """The calls createKeyValueTable, deleteKeyValueTable, and those that describe and list tables."""

    def __init__(self, metadata: Metadata, segments_max: int) -> None:
        self._metadata = metadata
        self._segments_max = segments_max
        self._catalog: Catalog = metadata.catalog

    def create(self, request: pb.KeyValueTableConfig, now_ms: int) -> pb.CreateKeyValueTableStatus:
        """Create a table with its segments. Numbers continue after those of a deleted table of this name."""
        status = pb.CreateKeyValueTableStatus
        _check_numbers(request)
        if not is_valid_user_name(request.kvtName):
            return status(status=status.INVALID_TABLE_NAME)
        if not self._catalog.accepts(request.scope):
            return status(status=status.SCOPE_NOT_FOUND)
        if self._find(request.scope, request.kvtName) is not None:
            return status(status=status.TABLE_EXISTS)
        name = f"key-value table {request.scope}/{request.kvtName}"
        refuse_many_segments(name, request.partitionCount, self._segments_max)
        used = self._catalog.last_table_numbers.get((request.scope, request.kvtName))
        encoded = request.SerializeToString(deterministic=True)
        first = used.last_number + 1 if used else 0
        record = rec.TableRecord(now_ms, request.scope, request.kvtName, encoded, first)
        key_length = request.primaryKeyLength + request.secondaryKeyLength
        change = Change()
        change.do(
            CreateSegment(name, is_table=True, key_length=key_length) for name in _segment_names(record)
        )
        change.write(record)
        try:
            self._metadata.commit(change, now_ms=now_ms)
        except SegmentExists as error:
            raise RpcError(
                "ALREADY_EXISTS",
                f"{error} A client created it at the segment store, without the controller: delete it first,"
                " or give the table another name.",
            ) from error
        return status(status=status.SUCCESS)

    def segments(self, request: pb.KeyValueTableInfo, now_ms: int) -> pb.SegmentRanges:
        """Return the segments of a table in the order of their ranges."""
        record = self._find(request.scope, request.kvtName)
        if record is None:
            raise NotFoundError(
                f"there is no key-value table {request.scope}/{request.kvtName}; create it first"
            )
        info = {"scope": request.scope, "stream": request.kvtName}
        bounds = initial_ranges(_config(record).partitionCount)
        return pb.SegmentRanges(
            segmentRanges=[
                {"segmentId": {"streamInfo": info, "segmentId": number}, "minKey": low, "maxKey": high}
                for number, (low, high) in enumerate(bounds, record.first_number)
            ]
        )

    def list(self, request: pb.KVTablesInScopeRequest, now_ms: int) -> pb.KVTablesInScopeResponse:
        """Return a page of the tables in a scope."""
        response = pb.KVTablesInScopeResponse
        scope = self._catalog.scopes.get(request.scope.scope)
        if scope is None:
            return response(status=response.SCOPE_NOT_FOUND)
        page, token = page_of(scope.table_names, request.continuationToken.token)
        return response(
            kvtables=[pb.KeyValueTableInfo(scope=request.scope.scope, kvtName=name) for name in page],
            continuationToken=pb.ContinuationToken(token=token),
        )

    def configuration(self, request: pb.KeyValueTableInfo, now_ms: int) -> pb.KeyValueTableConfigResponse:
        """Return the configuration of a table."""
        response = pb.KeyValueTableConfigResponse
        record = self._find(request.scope, request.kvtName)
        if record is None:
            return response(status=response.TABLE_NOT_FOUND)
        return response(config=_config(record))

    def delete(self, request: pb.KeyValueTableInfo, now_ms: int) -> pb.DeleteKVTableStatus:
        """Delete a table with its entries."""
        status = pb.DeleteKVTableStatus
        record = self._find(request.scope, request.kvtName)
        if record is None:
            return status(status=status.TABLE_NOT_FOUND)
        self.delete_now(record, now_ms)
        return status(status=status.SUCCESS)

    def delete_now(self, record: rec.TableRecord, now_ms: int) -> int:
        """Delete a table. Only its highest segment number is kept. Return the number of its segments."""
        count: int = _config(record).partitionCount
        last = record.first_number + count - 1
        change = Change()
        change.do(Delete(name) for name in _segment_names(record))
        change.remove(record)
        change.write(rec.TableNumberRecord(now_ms, record.scope, record.table, last))
        self._metadata.commit_what_is_left(change, now_ms=now_ms)
        return count

    def _find(self, scope: str, table: str) -> rec.TableRecord | None:
        entry = self._catalog.scopes.get(scope)
        return entry.tables.get(table) if entry else None


def _config(record: rec.TableRecord) -> pb.KeyValueTableConfig:
    return pb.KeyValueTableConfig.FromString(record.config)


def _segment_names(record: rec.TableRecord) -> list[str]:
    numbers = range(record.first_number, record.first_number + _config(record).partitionCount)
    return [kv_table_segment_name(record.scope, record.table, number) for number in numbers]


def _check_numbers(config: pb.KeyValueTableConfig) -> None:
    """Raise RpcError for a configuration that can never work."""
    primary, secondary = config.primaryKeyLength, config.secondaryKeyLength
    if config.partitionCount < 1 or primary < 1 or secondary < 0 or config.rolloverSizeBytes < 0:
        raise RpcError(
            "INTERNAL",  # as upstream
            f"a key-value table with {config.partitionCount} partitions and keys of {primary} and {secondary}"
            f" bytes, rolled over at {config.rolloverSizeBytes}: it needs at least 1 partition, a primary key"
            " of at least 1 byte, and no negative number",
        )
    if primary + secondary > FIXED_KEY_BYTES_MAX:
        raise RpcError(
            "INVALID_ARGUMENT",
            f"keys of {primary} and {secondary} bytes: both together have at most {FIXED_KEY_BYTES_MAX}",
        )

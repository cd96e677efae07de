"""The controller's calls on key-value tables."""

from __future__ import annotations

import pytest

from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.engine.store.controller.driver import Driven

Created, Deleted = pb.CreateKeyValueTableStatus, pb.DeleteKVTableStatus


@pytest.fixture
def driven() -> Driven:
    made = Driven()
    made.call("createScope", pb.ScopeInfo(scope="s"))
    return made


def create(driven: Driven, name: str, *numbers: int, scope: str = "s") -> int:
    partitions, primary, secondary = numbers
    config = pb.KeyValueTableConfig(
        scope=scope,
        kvtName=name,
        partitionCount=partitions,
        primaryKeyLength=primary,
        secondaryKeyLength=secondary,
    )
    status = driven.call("createKeyValueTable", config).status
    assert isinstance(status, int)
    return status


def about(name: str) -> pb.KeyValueTableInfo:
    return pb.KeyValueTableInfo(scope="s", kvtName=name)


def segments(driven: Driven, name: str) -> list[tuple[int, float, float]]:
    answer = driven.call("getCurrentSegmentsKeyValueTable", about(name))
    return [(r.segmentId.segmentId, r.minKey, r.maxKey) for r in answer.segmentRanges]


def listed(driven: Driven) -> list[str]:
    scope = pb.ScopeInfo(scope="s")
    return [
        t.kvtName
        for t in driven.call("listKeyValueTablesInScope", pb.KVTablesInScopeRequest(scope=scope)).kvtables
    ]


def test_a_table_is_made_described_and_deleted(driven: Driven) -> None:
    assert create(driven, "t", 2, 4, 2) == Created.SUCCESS
    assert create(driven, "t", 2, 4, 2) == Created.TABLE_EXISTS
    config = driven.call("getKeyValueTableConfiguration", about("t")).config
    assert (config.partitionCount, config.primaryKeyLength, config.secondaryKeyLength) == (2, 4, 2)
    assert segments(driven, "t") == [(0, 0.0, 0.5), (1, 0.5, 1.0)]
    assert driven.storage.table_size("s/t_kvtable/1.#epoch.0") == (0, 6)
    assert create(driven, "a", 1, 8, 0) == Created.SUCCESS
    assert listed(driven) == ["a", "t"]
    assert driven.call("deleteKeyValueTable", about("t")).status == Deleted.SUCCESS
    assert driven.call("deleteKeyValueTable", about("t")).status == Deleted.TABLE_NOT_FOUND
    assert listed(driven) == ["a"]
    found = driven.call("getKeyValueTableConfiguration", about("t"))
    assert found.status == pb.KeyValueTableConfigResponse.TABLE_NOT_FOUND
    with pytest.raises(RpcError, match="NOT_FOUND"):
        segments(driven, "t")


def test_a_table_that_is_made_again_has_new_segments_also_after_restarts(driven: Driven) -> None:
    create(driven, "t", 2, 4, 0)
    again = driven.restarted()
    assert segments(again, "t") == [(0, 0.0, 0.5), (1, 0.5, 1.0)]
    again.call("deleteKeyValueTable", about("t"))
    third = again.restarted()
    assert create(third, "t", 1, 4, 0) == Created.SUCCESS
    assert segments(third, "t") == [(2, 0.0, 1.0)]


@pytest.mark.parametrize("numbers", [(0, 4, 0), (1, 0, 0), (1, 4, -1), (1, 200, 57)])
def test_impossible_numbers_are_refused(driven: Driven, numbers: tuple[int, int, int]) -> None:
    with pytest.raises(RpcError):
        create(driven, "t", *numbers)
    assert listed(driven) == []


def test_refusals(driven: Driven) -> None:
    assert create(driven, "a_b", 1, 4, 0) == Created.INVALID_TABLE_NAME
    assert create(driven, "t", 1, 4, 0, scope="none") == Created.SCOPE_NOT_FOUND
    request = pb.KVTablesInScopeRequest(scope=pb.ScopeInfo(scope="none"))
    answer = driven.call("listKeyValueTablesInScope", request)
    assert answer.status == pb.KVTablesInScopeResponse.SCOPE_NOT_FOUND
    driven.storage.submit([ops.CreateSegment("s/t_kvtable/0.#epoch.0", True)], now_ms=driven.now_ms)
    with pytest.raises(RpcError, match="delete it first") as refused:
        create(driven, "t", 1, 4, 0)
    assert refused.value.code_name == "ALREADY_EXISTS"


def test_a_scope_with_a_table_is_deleted_only_with_all_that_it_holds(driven: Driven) -> None:
    driven.make("stream")
    create(driven, "t", 2, 4, 0)
    scope = pb.ScopeInfo(scope="s")
    assert driven.call("deleteScope", scope).status == pb.DeleteScopeStatus.SCOPE_NOT_EMPTY
    assert driven.call("deleteScopeRecursive", scope).status == pb.DeleteScopeStatus.SUCCESS
    assert not driven.call("checkScopeExists", scope).exists
    assert not driven.restarted().call("checkScopeExists", scope).exists


def test_a_table_can_be_deleted_after_a_client_removed_a_segment(driven: Driven) -> None:
    create(driven, "t", 2, 4, 0)
    driven.storage.submit([ops.Delete("s/t_kvtable/0.#epoch.0")], now_ms=driven.now_ms)
    assert driven.call("deleteKeyValueTable", about("t")).status == Deleted.SUCCESS
    assert listed(driven) == []

"""Scopes and streams, asked for by the official wheel (pravega.md E1, first half)."""

from __future__ import annotations

from typing import Any

import pytest
from pravega_client import StreamRetentionPolicy, StreamScalingPolicy

from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.conformance.controller import ControllerStub, stream_info

LONG_MAX = 2**63 - 1


def configuration(controller: ControllerStub, scope: str, stream: str) -> pb.StreamConfig:
    answer: pb.StreamConfig = controller.call("getStreamConfiguration", stream_info(scope, stream))
    return answer


def test_a_scope_is_created_once(manager: Any, scope: str) -> None:
    assert manager.create_scope(scope) is False
    assert scope in manager.list_scope()


def test_the_list_of_scopes_holds_the_system_scope(manager: Any) -> None:
    assert "_system" in manager.list_scope()


def test_a_scope_is_deleted_once(manager: Any, scope: str) -> None:
    assert manager.delete_scope(scope) is True
    assert manager.delete_scope(scope) is False
    assert scope not in manager.list_scope()


def test_a_scope_that_holds_a_stream_is_not_deleted(manager: Any, scope: str) -> None:
    manager.create_stream(scope, "full", 1)
    with pytest.raises(ValueError, match="Scope not empty"):
        manager.delete_scope(scope)
    assert "full" in manager.list_stream(scope)


@pytest.mark.parametrize("name", ["with/slash", "under_score", "per%cent"])
def test_a_scope_of_a_wrong_name_is_refused(manager: Any, name: str) -> None:
    with pytest.raises(ValueError, match="Invalid scope"):
        manager.create_scope(name)


def test_a_stream_is_created_once(manager: Any, controller: ControllerStub, scope: str) -> None:
    assert manager.create_stream(scope, "once", 3) is True
    assert manager.create_stream(scope, "once", 5) is False
    assert len(controller.segments(scope, "once")) == 3


def test_a_stream_in_no_scope_is_refused(manager: Any) -> None:
    with pytest.raises(ValueError, match="Scope Not Found"):
        manager.create_stream("nobody-made-this-scope", "s", 1)


def test_a_stream_of_a_wrong_name_is_refused(manager: Any, scope: str) -> None:
    with pytest.raises(ValueError, match="Invalid Stream"):
        manager.create_stream(scope, "with/slash", 1)


def test_the_initial_segments_share_the_key_space(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    manager.create_stream(scope, "three", 3)
    third = 1.0 / 3
    assert controller.segments(scope, "three") == {
        0: (0.0, third),
        1: (third, 2 * third),
        2: (2 * third, 1.0),
    }


def test_the_list_of_streams_holds_the_mark_streams_too(manager: Any, scope: str) -> None:
    for stream in ("a", "b"):
        manager.create_stream(scope, stream, 1)
    assert sorted(manager.list_stream(scope)) == ["_MARKa", "_MARKb", "a", "b"]


def test_an_empty_scope_lists_no_stream(manager: Any, scope: str) -> None:
    assert manager.list_stream(scope) == []


def test_a_list_longer_than_a_page_comes_whole(manager: Any, scope: str) -> None:
    names = [f"stream-{n:02}" for n in range(12)]
    for name in names:
        manager.create_stream(scope, name, 1)
    assert sorted(n for n in manager.list_stream(scope) if not n.startswith("_")) == names


def test_a_fixed_stream_keeps_its_policy(manager: Any, controller: ControllerStub, scope: str) -> None:
    scaling, retention = StreamScalingPolicy.fixed_scaling_policy(2), StreamRetentionPolicy.none()
    assert manager.create_stream_with_policy(scope, "fixed", scaling, retention, []) is True
    found = configuration(controller, scope, "fixed")
    assert found.streamInfo.scope == scope
    assert found.streamInfo.stream == "fixed"
    assert found.scalingPolicy.scaleType == pb.ScalingPolicy.FIXED_NUM_SEGMENTS
    assert found.scalingPolicy.minNumSegments == 2
    assert found.retentionPolicy.retentionType == 0


def test_scaling_by_event_rate_and_retention_by_size(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    scaling = StreamScalingPolicy.auto_scaling_policy_by_event_rate(10, 2, 3)
    retention = StreamRetentionPolicy.by_size(1_000_000)
    assert manager.create_stream_with_policy(scope, "rated", scaling, retention, ["one", "two"]) is True
    found = configuration(controller, scope, "rated")
    policy = found.scalingPolicy
    assert policy.scaleType == pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC
    assert (policy.targetRate, policy.scaleFactor, policy.minNumSegments) == (10, 2, 3)
    assert found.retentionPolicy.retentionType == pb.RetentionPolicy.SIZE
    assert found.retentionPolicy.retentionParam == 1_000_000
    assert found.retentionPolicy.retentionMax == LONG_MAX
    assert len(controller.segments(scope, "rated")) == 3
    assert manager.get_stream_tags(scope, "rated") == ["one", "two"]


def test_scaling_by_data_rate_and_retention_by_time(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    scaling = StreamScalingPolicy.auto_scaling_policy_by_data_rate(100, 4, 1)
    retention = StreamRetentionPolicy.by_time(3_600_000)
    assert manager.create_stream_with_policy(scope, "rated", scaling, retention, None) is True
    found = configuration(controller, scope, "rated")
    policy = found.scalingPolicy
    assert policy.scaleType == pb.ScalingPolicy.BY_RATE_IN_KBYTES_PER_SEC
    assert (policy.targetRate, policy.scaleFactor, policy.minNumSegments) == (100, 4, 1)
    assert found.retentionPolicy.retentionType == pb.RetentionPolicy.TIME
    assert found.retentionPolicy.retentionParam == 3_600_000
    assert manager.get_stream_tags(scope, "rated") == []


def test_an_update_changes_policies_and_tags(manager: Any, controller: ControllerStub, scope: str) -> None:
    manager.create_stream(scope, "changed", 1)
    scaling = StreamScalingPolicy.auto_scaling_policy_by_event_rate(7, 3, 1)
    retention = StreamRetentionPolicy.by_time(5_000)
    assert manager.update_stream_with_policy(scope, "changed", scaling, retention, ["new"]) is True
    found = configuration(controller, scope, "changed")
    assert found.scalingPolicy.targetRate == 7
    assert found.retentionPolicy.retentionParam == 5_000
    assert manager.get_stream_tags(scope, "changed") == ["new"]


def test_an_update_of_a_missing_stream_is_refused(manager: Any, scope: str) -> None:
    policies = (StreamScalingPolicy.fixed_scaling_policy(1), StreamRetentionPolicy.none())
    with pytest.raises(ValueError, match="Stream/Scope Not Found"):
        manager.update_stream_with_policy(scope, "missing", *policies, ["t"])


def test_tags_of_a_missing_stream_are_not_found(manager: Any, scope: str) -> None:
    with pytest.raises(ValueError, match="NotFound"):
        manager.get_stream_tags(scope, "missing")


def test_a_stream_is_sealed_and_then_deleted(manager: Any, controller: ControllerStub, scope: str) -> None:
    manager.create_stream(scope, "short-lived", 1)
    with pytest.raises(ValueError, match="Stream Not Sealed"):
        manager.delete_stream(scope, "short-lived")
    assert manager.seal_stream(scope, "short-lived") is True
    assert controller.segments(scope, "short-lived") == {}
    assert manager.seal_stream(scope, "short-lived") is True
    assert manager.delete_stream(scope, "short-lived") is True
    assert manager.list_stream(scope) == []
    assert manager.delete_stream(scope, "short-lived") is False


def test_sealing_a_missing_stream_is_refused(manager: Any, scope: str) -> None:
    with pytest.raises(ValueError, match="Stream/Scope Not Found"):
        manager.seal_stream(scope, "missing")


def test_a_stream_made_again_gets_segment_numbers_that_were_never_used(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    manager.create_stream(scope, "twice", 2)
    manager.seal_stream(scope, "twice")
    manager.delete_stream(scope, "twice")
    manager.create_stream(scope, "twice", 2)
    assert list(controller.segments(scope, "twice")) == [2, 3]

"""The controller calls that the wheel lacks: a stub of a few lines over the project's own messages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from pravega_lab.client.connection.access import Access
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS, SERVICE

SCALE_TIMEOUT_S = 30


class ControllerStub:
    """``stub.call("scale", request)``: any unary call by its upstream name."""

    def __init__(self, uri: str) -> None:
        """Connect. For ``tls://``, user and authority are in the environment."""
        scheme, _, where = uri.partition("://")
        access = Access.of({})
        self._metadata = None
        self._channel = grpc.insecure_channel(where)
        if scheme == "tls":
            self._metadata = [("authorization", access.authorization())]
            roots = grpc.ssl_channel_credentials(Path(str(access.ca_file)).read_bytes())
            self._channel = grpc.secure_channel(where, roots)

    def call(self, name: str, request: Any, timeout_s: float = 20) -> Any:
        method = METHODS[name]
        return self._channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )(request, timeout=timeout_s, wait_for_ready=True, metadata=self._metadata)

    def close(self) -> None:
        self._channel.close()

    def segments(self, scope: str, stream: str) -> dict[int, tuple[float, float]]:
        """The active segments with their ranges, in key order."""
        ranges = self.call("getCurrentSegments", stream_info(scope, stream)).segmentRanges
        found = {r.segmentId.segmentId: (r.minKey, r.maxKey) for r in ranges}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def scale(
        self, scope: str, stream: str, seal: Sequence[int], ranges: Sequence[tuple[float, float]]
    ) -> dict[int, tuple[float, float]]:
        """Seal some segments, open others in their place, and wait until that is done; the new ones."""
        request = pb.ScaleRequest(streamInfo=stream_info(scope, stream), sealedSegments=seal)
        request.scaleTimestamp = int(time.time() * 1000)
        for low, high in ranges:
            request.newKeyRanges.add(start=low, end=high)
        answer = self.call("scale", request)
        assert answer.status == pb.ScaleResponse.STARTED, answer
        self._wait_for_scale(scope, stream, answer.epoch)
        found = {r.segmentId.segmentId: (r.minKey, r.maxKey) for r in answer.segments}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def _wait_for_scale(self, scope: str, stream: str, epoch: int) -> None:
        deadline = time.monotonic() + SCALE_TIMEOUT_S
        request = pb.ScaleStatusRequest(streamInfo=stream_info(scope, stream), epoch=epoch)
        while self.call("checkScale", request).status != pb.ScaleStatusResponse.SUCCESS:
            assert time.monotonic() < deadline, f"the scale of {scope}/{stream} did not end"
            time.sleep(0.05)

    def split(self, scope: str, stream: str, segment: int) -> dict[int, tuple[float, float]]:
        low, high = self.segments(scope, stream)[segment]
        middle = (low + high) / 2
        return self.scale(scope, stream, [segment], [(low, middle), (middle, high)])

    def merge(self, scope: str, stream: str, segments: Sequence[int]) -> dict[int, tuple[float, float]]:
        active = self.segments(scope, stream)
        low, high = min(active[s][0] for s in segments), max(active[s][1] for s in segments)
        return self.scale(scope, stream, segments, [(low, high)])


def stream_info(scope: str, stream: str) -> pb.StreamInfo:
    return pb.StreamInfo(scope=scope, stream=stream)

"""The controller's calls: name, request class and response class. All are unary (pravega.md D7).

A call that is missing here (upstream's bucket mapping, after 0.13.0) is answered with UNIMPLEMENTED, which
Java clients do not retry.
"""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import Message

from pravega_lab.protocol.controller import controller_pb2 as pb

SERVICE = "io.pravega.controller.stream.api.grpc.v1.ControllerService"


@dataclass(frozen=True, slots=True)
class Method:
    """Describes one call of the controller."""

    name: str
    request: type[Message]
    response: type[Message]

    @property
    def path(self) -> str:
        """Return the path of the HTTP/2 request."""
        return f"/{SERVICE}/{self.name}"


_CALLS: tuple[tuple[str, type[Message], type[Message]], ...] = (
    ("getControllerServerList", pb.ServerRequest, pb.ServerResponse),
    ("createScope", pb.ScopeInfo, pb.CreateScopeStatus),
    ("deleteScope", pb.ScopeInfo, pb.DeleteScopeStatus),
    ("deleteScopeRecursive", pb.ScopeInfo, pb.DeleteScopeStatus),
    ("listScopes", pb.ScopesRequest, pb.ScopesResponse),
    ("checkScopeExists", pb.ScopeInfo, pb.ExistsResponse),
    ("checkStreamExists", pb.StreamInfo, pb.ExistsResponse),
    ("createStream", pb.StreamConfig, pb.CreateStreamStatus),
    ("updateStream", pb.StreamConfig, pb.UpdateStreamStatus),
    ("getStreamConfiguration", pb.StreamInfo, pb.StreamConfig),
    ("truncateStream", pb.StreamCut, pb.UpdateStreamStatus),
    ("sealStream", pb.StreamInfo, pb.UpdateStreamStatus),
    ("deleteStream", pb.StreamInfo, pb.DeleteStreamStatus),
    ("listStreamsInScope", pb.StreamsInScopeRequest, pb.StreamsInScopeResponse),
    ("listStreamsInScopeForTag", pb.StreamsInScopeWithTagRequest, pb.StreamsInScopeResponse),
    ("getCurrentSegments", pb.StreamInfo, pb.SegmentRanges),
    ("getEpochSegments", pb.GetEpochSegmentsRequest, pb.SegmentRanges),
    ("getSegments", pb.GetSegmentsRequest, pb.SegmentsAtTime),
    ("getSegmentsImmediatelyFollowing", pb.SegmentId, pb.SuccessorResponse),
    ("getSegmentsImmediatlyFollowing", pb.SegmentId, pb.SuccessorResponse),  # upstream's older spelling
    ("getSegmentsBetween", pb.StreamCutRange, pb.StreamCutRangeResponse),
    ("scale", pb.ScaleRequest, pb.ScaleResponse),
    ("checkScale", pb.ScaleStatusRequest, pb.ScaleStatusResponse),
    ("getURI", pb.SegmentId, pb.NodeUri),
    ("isSegmentValid", pb.SegmentId, pb.SegmentValidityResponse),
    ("isStreamCutValid", pb.StreamCut, pb.StreamCutValidityResponse),
    ("createTransaction", pb.CreateTxnRequest, pb.CreateTxnResponse),
    ("commitTransaction", pb.TxnRequest, pb.TxnStatus),
    ("abortTransaction", pb.TxnRequest, pb.TxnStatus),
    ("pingTransaction", pb.PingTxnRequest, pb.PingTxnStatus),
    ("checkTransactionState", pb.TxnRequest, pb.TxnState),
    ("listCompletedTransactions", pb.ListCompletedTxnRequest, pb.ListCompletedTxnResponse),
    ("getDelegationToken", pb.StreamInfo, pb.DelegationToken),
    ("noteTimestampFromWriter", pb.TimestampFromWriter, pb.TimestampResponse),
    ("removeWriter", pb.RemoveWriterRequest, pb.RemoveWriterResponse),
    ("createReaderGroup", pb.ReaderGroupConfiguration, pb.CreateReaderGroupResponse),
    ("updateReaderGroup", pb.ReaderGroupConfiguration, pb.UpdateReaderGroupResponse),
    ("getReaderGroupConfig", pb.ReaderGroupInfo, pb.ReaderGroupConfigResponse),
    ("deleteReaderGroup", pb.ReaderGroupInfo, pb.DeleteReaderGroupStatus),
    ("listSubscribers", pb.StreamInfo, pb.SubscribersResponse),
    ("updateSubscriberStreamCut", pb.SubscriberStreamCut, pb.UpdateSubscriberStatus),
    ("createKeyValueTable", pb.KeyValueTableConfig, pb.CreateKeyValueTableStatus),
    ("getCurrentSegmentsKeyValueTable", pb.KeyValueTableInfo, pb.SegmentRanges),
    ("listKeyValueTablesInScope", pb.KVTablesInScopeRequest, pb.KVTablesInScopeResponse),
    ("getKeyValueTableConfiguration", pb.KeyValueTableInfo, pb.KeyValueTableConfigResponse),
    ("deleteKeyValueTable", pb.KeyValueTableInfo, pb.DeleteKVTableStatus),
)

METHODS: dict[str, Method] = {name: Method(name, request, response) for name, request, response in _CALLS}
"""Every call that this project knows, by the name used on the wire."""

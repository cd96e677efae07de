"""Call the controller about reader groups, with typed arguments and errors.

Source: pravega.md D7; reader-groups.md B1, B7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from pravega_lab.client.controller.calls import Controller, Lost, uncertain_if_lost
from pravega_lab.client.controller.link import ControllerCallError
from pravega_lab.client.reader_group.errors import ReaderGroupNotFoundError
from pravega_lab.errors import BadInputError, ConditionFailedError, RefusedError, ScopeNotFoundError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig, RetentionType
from pravega_lab.protocol.names import split_scoped_name
from pravega_lab.protocol.stream_cut import UNBOUNDED, StreamCut

NO_ID = UUID(int=0)


class GroupCalls:
    """Makes the controller's calls about one group (``scope/group``)."""

    def __init__(self, controller: Controller, group: str) -> None:
        self._controller = controller
        self._group = group
        self._scope, self._name = split_scoped_name(group)

    async def create(self, config: ReaderGroupConfig) -> ReaderGroupConfig:
        """Create the group and return its configuration, another one if the group existed already."""
        answer = await self._call("createReaderGroup", self._message(config))
        statuses = pb.CreateReaderGroupResponse
        if answer.status == statuses.SCOPE_NOT_FOUND:
            raise ScopeNotFoundError(f"create group {self._group}: there is no such scope; create it first")
        if answer.status == statuses.INVALID_RG_NAME:
            raise BadInputError(f"group {self._group!r}: letters, digits, '.' and '-' only")
        self._check("create", answer.status)
        return _config(answer.config)

    async def update(self, config: ReaderGroupConfig) -> int:
        """Replace the configuration of generation ``config.generation``, and return the new generation.

        Raises:
            ConditionFailedError: The group has another generation now.
        """
        with uncertain_if_lost() as lost:
            answer = await self._call("updateReaderGroup", self._message(config), lost)
            if answer.status == pb.UpdateReaderGroupResponse.INVALID_CONFIG:
                found = await self.config()
                if found == config and found.generation == config.generation + 1:
                    return found.generation  # an earlier attempt succeeded, and its answer was lost
                raise ConditionFailedError(
                    f"group {self._group} was reset by another program: its generation is "
                    f"{found.generation}, not {config.generation}. Look at its state, then reset it again"
                )
            self._check("update", answer.status, missing=pb.UpdateReaderGroupResponse.RG_NOT_FOUND)
            return int(answer.generation)

    async def config(self) -> ReaderGroupConfig:
        """Return the group's configuration at the controller."""
        request = pb.ReaderGroupInfo(scope=self._scope, readerGroup=self._name)
        answer = await self._call("getReaderGroupConfig", request)
        missing = pb.ReaderGroupConfigResponse.RG_NOT_FOUND
        self._check("configuration of", answer.status, missing=missing)
        return _config(answer.config)

    async def delete(self, config: ReaderGroupConfig) -> bool:
        """Delete the group. Return False if there was none."""
        request = pb.ReaderGroupInfo(
            scope=self._scope,
            readerGroup=self._name,
            readerGroupId=str(config.reader_group_id),
            generation=config.generation,
        )
        lost: Lost = []
        answer = await self._call("deleteReaderGroup", request, lost)
        if answer.status == pb.DeleteReaderGroupStatus.RG_NOT_FOUND:
            return bool(lost)  # an attempt without an answer may have deleted it
        self._check("delete", answer.status)
        return True

    async def publish(self, config: ReaderGroupConfig, cut: StreamCut) -> bool:
        """Report to the controller that the group needs nothing before ``cut``.

        Return False if it refuses the cut, for example because it lies before the last one.
        """
        request = pb.SubscriberStreamCut(
            subscriber=self._group,
            generation=config.generation,
            readerGroupId=str(config.reader_group_id),
            streamCut=_cut(cut.scoped_stream, cut),
        )
        answer = await self._call("updateSubscriberStreamCut", request)
        return bool(answer.status == pb.UpdateSubscriberStatus.SUCCESS)

    async def _call(self, method: str, request: Any, lost: Lost | None = None) -> Any:
        try:
            return await self._controller.answer(method, request, lost)
        except ControllerCallError as error:
            if error.code_name == "NOT_FOUND":
                raise self._missing() from error
            raise self._controller.refused(method, request, error) from error

    def _check(self, what: str, status: int, missing: int | None = None) -> None:
        if missing is not None and status == missing:
            raise self._missing()
        if status:
            raise RefusedError(f"{what} group {self._group}: the controller answered status {status}")

    def _missing(self) -> ReaderGroupNotFoundError:
        return ReaderGroupNotFoundError(
            f"there is no reader group {self._group}; create_reader_group makes one"
        )

    def _message(self, config: ReaderGroupConfig) -> pb.ReaderGroupConfiguration:
        return pb.ReaderGroupConfiguration(
            scope=self._scope,
            readerGroupName=self._name,
            groupRefreshTimeMillis=config.group_refresh_time_ms,
            automaticCheckpointIntervalMillis=config.automatic_checkpoint_interval_ms,
            maxOutstandingCheckpointRequest=config.max_outstanding_checkpoint_request,
            retentionType=int(config.retention_type),
            generation=config.generation,
            readerGroupId=str(config.reader_group_id),
            startingStreamCuts=[_cut(s, cut) for s, cut in config.starting_stream_cuts.items()],
            endingStreamCuts=[_cut(s, cut) for s, cut in config.ending_stream_cuts.items()],
        )


def complete(config: ReaderGroupConfig) -> ReaderGroupConfig:
    """Return the configuration with an ending cut, maybe `UNBOUNDED`, for every stream, as Java's have.

    Raises:
        BadInputError: No stream, a cut of another stream, an end for a stream that is not read, or something
            that is no configuration.
    """
    if not isinstance(config, ReaderGroupConfig):
        raise BadInputError(
            f"the configuration of a reader group: found {type(config).__name__} {config!r:.80}; pass what "
            "reading(['scope/stream']) of pravega_lab.client.reader_group returns"
        )
    if not config.starting_stream_cuts:
        raise BadInputError("a reader group needs at least one stream")
    strangers = [s for s in config.ending_stream_cuts if s not in config.starting_stream_cuts]
    if strangers:
        raise BadInputError(f"an end was given for streams that the group does not read: {strangers}")
    for stream, cut in [*config.starting_stream_cuts.items(), *config.ending_stream_cuts.items()]:
        if not cut.is_unbounded and cut.scoped_stream != stream:
            raise BadInputError(f"a cut of stream {cut.scoped_stream} was given for {stream}")
    ends = {s: config.ending_stream_cuts.get(s, UNBOUNDED) for s in config.starting_stream_cuts}
    return replace(config, ending_stream_cuts=ends)


def _cut(stream: str, cut: StreamCut) -> pb.StreamCut:
    scope, name = split_scoped_name(stream)
    return pb.StreamCut(streamInfo=pb.StreamInfo(scope=scope, stream=name), cut=cut.positions)


def _cuts(messages: Any) -> Mapping[str, StreamCut]:
    return {
        f"{m.streamInfo.scope}/{m.streamInfo.stream}": StreamCut(
            f"{m.streamInfo.scope}/{m.streamInfo.stream}" if m.cut else "", dict(m.cut)
        )
        for m in messages
    }


def _config(message: pb.ReaderGroupConfiguration) -> ReaderGroupConfig:
    return ReaderGroupConfig(
        dict(_cuts(message.startingStreamCuts)),
        dict(_cuts(message.endingStreamCuts)),
        message.automaticCheckpointIntervalMillis,
        message.groupRefreshTimeMillis,
        message.maxOutstandingCheckpointRequest,
        RetentionType(message.retentionType),
        message.generation,
        UUID(message.readerGroupId) if message.readerGroupId else NO_ID,
    )

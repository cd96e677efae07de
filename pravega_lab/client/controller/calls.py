"""Call the controller with typed arguments and retries, and turn every status into an error.

An operation that the controller may have done although its answer was lost is repeated only if repeating it
changes nothing (pravega.md D7; pravega.md A5, A8, A10 say which operations are idempotent).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any, NoReturn
from uuid import UUID

from pravega_lab.client.connection import own_stores
from pravega_lab.client.connection.access import Access
from pravega_lab.client.connection.dialer import Endpoint
from pravega_lab.client.connection.retry import (
    FIRST_ANSWER_S,
    FIRST_CONTACT_S,
    FullError,
    Retries,
    TransientError,
)
from pravega_lab.client.controller.link import ControllerCallError, ControllerLink
from pravega_lab.client.controller.messages import (
    config_message,
    configuration_of,
    segment_range,
    segment_ranges,
    stream_info,
    stream_info_only,
    txn_message,
    txn_uuid,
)
from pravega_lab.client.controller.visible_epochs import VisibleEpochs
from pravega_lab.client.definite import uncertain
from pravega_lab.client.values import StreamConfiguration, Successor, TransactionState
from pravega_lab.errors import (
    AccessDeniedError,
    AlreadyExistsError,
    BadInputError,
    Definite,
    NotEmptyError,
    PravegaError,
    RefusedError,
    ScopeNotFoundError,
    SegmentNotFoundError,
    StoreUnavailableError,
    StreamNotFoundError,
    StreamNotSealedError,
    StreamSealedError,
    TransactionFailedError,
)
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from pravega_lab.protocol.names import SegmentRange, split_scoped_name

ATTEMPT_S = 30.0
EARLY_ANSWER_S = 9.0
"""A released controller says after 10 s that a scope is gone with all its streams, also if it is not yet."""

# The link is broken or the controller is not ready: the same call may succeed in a moment.
_TRANSIENT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED", "RESOURCE_EXHAUSTED", "DATA_LOSS")
# Upstream answers these for transient errors and for refusals: worth a few attempts, not the whole budget.
_PERHAPS = ("UNKNOWN", "INTERNAL", "FAILED_PRECONDITION")
PERHAPS_ATTEMPTS_MAX = 4
NO_TIME = -(2**63)  # the timestamp of a commit that notes no time
_NO_ANSWER = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "DATA_LOSS")
_MAY_HAVE_HAPPENED = (
    "The answer to an earlier attempt was lost, so this may have happened before: look at the result"
)
Lost = list[ControllerCallError]


class Controller:
    """Calls one controller behind a `ControllerLink`.

    Calls raise `StoreUnavailableError` when the controller does not answer, and `AccessDeniedError`. Calls
    about a missing stream raise `StreamNotFoundError`.
    """

    def __init__(
        self, link: ControllerLink, uri: str, access: Access, retry_for_s: float, chance: Random
    ) -> None:
        self.uri = uri
        self.access = access
        self._link = link
        self.address = uri.partition("://")[2]
        self._retry_for_s = retry_for_s
        self._chance = chance
        self._advice = partial(own_stores.advice, uri)
        self._answered = False
        self._is_closed = False
        self._visible: dict[str, VisibleEpochs] = {}

    async def close(self) -> None:
        """Close the link. Later calls fail, also those of objects that are still open."""
        self._is_closed = True
        await self._link.close()

    async def call(self, method: str, request: Any, lost: Lost | None = None) -> Any:
        """Return the answer, or raise an error of `pravega_lab.errors` for the status that ended the call.

        ``lost`` collects the attempts that may have taken effect although no answer arrived.
        """
        try:
            return await self.answer(method, request, lost)
        except ControllerCallError as error:
            raise self.refused(method, request, error) from error

    async def answer(self, method: str, request: Any, lost: Lost | None = None) -> Any:
        """Do as `call`, but raise `ControllerCallError` for the status that ended the call."""
        if self._is_closed:
            raise PravegaError(f"{method}: the client of {self.uri} was closed; connect() makes a new one")
        budget_s = self._retry_for_s if self._answered else min(self._retry_for_s, FIRST_CONTACT_S)
        retries = Retries(f"{method} at controller {self.address}", budget_s, self._chance, self._advice)
        encoded, attempts = request.SerializeToString(), 0
        while True:
            attempts += 1
            try:
                answer = await self._attempt(method, encoded)
            except ControllerCallError as error:
                self._answered = self._answered or error.code_name not in _TRANSIENT
                failure = error
            else:
                self._answered = True
                return METHODS[method].response.FromString(answer)
            if failure.code_name in _PERHAPS and attempts >= PERHAPS_ATTEMPTS_MAX:
                raise failure
            if failure.code_name not in _TRANSIENT + _PERHAPS:
                raise failure
            if lost is not None:
                lost.append(failure)
            is_full = failure.code_name == "RESOURCE_EXHAUSTED"
            await retries.pause(FullError(failure.details) if is_full else failure)
            if self._is_closed:  # closed during the pause: another attempt would open the link again
                raise failure

    async def _attempt(self, method: str, encoded: bytes) -> bytes:
        limit_s = ATTEMPT_S if self._answered else FIRST_ANSWER_S
        try:
            async with asyncio.timeout(limit_s):
                return await self._link.call(method, encoded)
        except TimeoutError as error:
            raise ControllerCallError("DEADLINE_EXCEEDED", f"no answer within {limit_s:g} s") from error

    # scopes

    async def create_scope(self, scope: str) -> bool:
        """Create a scope and return True, or False if it existed."""
        lost: Lost = []
        status = (await self.call("createScope", pb.ScopeInfo(scope=scope), lost)).status
        if status == pb.CreateScopeStatus.INVALID_SCOPE_NAME:
            raise BadInputError(f"scope {scope!r}: the controller takes letters, digits, '.' and '-' only")
        no = pb.CreateScopeStatus.SCOPE_EXISTS  # unless an attempt without an answer created it
        return succeeded(f"create scope {scope}", status, no=no) or bool(lost)

    async def delete_scope(self, scope: str, *, recursive: bool = False) -> bool:
        """Delete a scope and return True, or False if there was none. Raises `NotEmptyError`.

        ``recursive``: with all that it holds.
        """
        method = "deleteScopeRecursive" if recursive else "deleteScope"
        clock = asyncio.get_running_loop().time
        asked_s = clock()
        with uncertain_if_lost() as lost:
            status = (await self.call(method, pb.ScopeInfo(scope=scope), lost)).status
            if status == pb.DeleteScopeStatus.SCOPE_NOT_EMPTY:
                raise NotEmptyError(
                    f"scope {scope} still holds streams, groups or tables: delete those first, or pass"
                    " recursive=True"
                )
            no = pb.DeleteScopeStatus.SCOPE_NOT_FOUND  # unless an attempt without an answer deleted it
            is_deleted = succeeded(f"delete scope {scope}", status, no=no) or bool(lost)
        if is_deleted and recursive and clock() - asked_s >= EARLY_ANSWER_S:
            await self._wait_until_gone(scope)
        return is_deleted

    async def _wait_until_gone(self, scope: str) -> None:
        """Wait for the end of a deletion that takes a released controller longer than its answer.

        Raises:
            StoreUnavailableError: the scope is still there.
        """
        advice = "The controller may go on with it: call delete_scope() again to wait for longer."
        retries = Retries(f"delete scope {scope}", self._retry_for_s, self._chance, lambda: advice)
        try:
            while (await self.call("checkScopeExists", pb.ScopeInfo(scope=scope))).exists:
                await retries.pause(TransientError("the controller said that it is gone, and it is not"))
        except RefusedError:  # this user may not ask, or this controller cannot say
            return

    async def list_scopes(self) -> list[str]:
        """Return the names of all scopes, sorted."""

        def page(token: str) -> Any:
            return pb.ScopesRequest(continuationToken=pb.ContinuationToken(token=token))

        return await self.pages("listScopes", page, lambda answer: list(answer.scopes))

    async def list_streams(self, scope: str, tag: str | None) -> list[str]:
        """Return the names of the streams of a scope, sorted. With ``tag``: of those that have it."""
        info = pb.ScopeInfo(scope=scope)

        def page(token: str) -> Any:
            at = pb.ContinuationToken(token=token)
            if tag is None:
                return pb.StreamsInScopeRequest(scope=info, continuationToken=at)
            return pb.StreamsInScopeWithTagRequest(scope=info, tag=tag, continuationToken=at)

        def names(answer: Any) -> list[str]:
            if answer.status == pb.StreamsInScopeResponse.SCOPE_NOT_FOUND:
                raise ScopeNotFoundError(
                    f"there is no scope {scope}; client.list_scopes() lists what there is"
                )
            succeeded(f"list streams of {scope}", answer.status)
            return [info.stream for info in answer.streams]

        return await self.pages("listStreamsInScope" + ("ForTag" if tag is not None else ""), page, names)

    async def pages(
        self, method: str, request: Callable[[str], Any], take: Callable[[Any], list[str]]
    ) -> list[str]:
        """Return the names of all pages of a list, sorted.

        Args:
            request: Makes the request of a page from the token of the page before.
            take: Returns the names in an answer, or raises.
        """
        found: list[str] = []
        token = ""
        while True:
            answer = await self.call(method, request(token))
            names = take(answer)
            if not names or answer.continuationToken.token == token:
                return sorted(dict.fromkeys(found + names))
            found, token = found + names, answer.continuationToken.token

    # streams

    async def create_stream(self, stream: str, configuration: StreamConfiguration) -> None:
        """Create a stream. Raises `AlreadyExistsError` and `ScopeNotFoundError`."""
        with uncertain_if_lost() as lost:
            status = (await self.call("createStream", config_message(stream, configuration), lost)).status
            statuses = pb.CreateStreamStatus
            if status == statuses.STREAM_EXISTS:
                if lost and await self.configuration(stream) == configuration:
                    return  # an earlier attempt succeeded, and its answer was lost
                raise AlreadyExistsError(f"stream {stream} is there already; use client.stream({stream!r})")
            if status == statuses.SCOPE_NOT_FOUND:
                raise ScopeNotFoundError(f"create {stream}: there is no such scope; create it first")
            if status == statuses.INVALID_STREAM_NAME:
                raise BadInputError(
                    f"stream {stream!r}: the controller takes letters, digits, '.' and '-' only"
                )
            succeeded(f"create stream {stream} with {configuration.scaling}", status)

    async def update_stream(self, stream: str, configuration: StreamConfiguration) -> None:
        """Replace the configuration of a stream."""
        request = config_message(stream, configuration)
        with uncertain_if_lost() as lost:
            status = (await self.call("updateStream", request, lost)).status
            _check_update(f"update {stream}", stream, status)

    async def configuration(self, stream: str) -> StreamConfiguration:
        """Return the configuration of a stream."""
        return configuration_of(await self._find(stream, "getStreamConfiguration", stream_info(stream)))

    async def stream_exists(self, stream: str) -> bool:
        """Return whether the stream exists."""
        return bool((await self.call("checkStreamExists", stream_info(stream))).exists)

    async def seal_stream(self, stream: str) -> None:
        """Seal a stream. A sealed stream stays as it is."""
        with uncertain_if_lost() as lost:
            status = (await self._find(stream, "sealStream", stream_info(stream), lost=lost)).status
            if status != pb.UpdateStreamStatus.STREAM_SEALED:
                _check_update(f"seal {stream}", stream, status)

    async def delete_stream(self, stream: str) -> None:
        """Delete a sealed stream. Raises `StreamNotSealedError`."""
        with uncertain_if_lost() as lost:
            try:
                status = (await self._find(stream, "deleteStream", stream_info(stream), lost=lost)).status
                _check_deleted(stream, status)
            except StreamNotFoundError:
                if not lost:  # else an attempt without an answer may have deleted it
                    raise

    async def truncate_stream(self, stream: str, positions: Mapping[int, int]) -> None:
        """Truncate a stream at the positions of a cut."""
        request = pb.StreamCut(streamInfo=stream_info(stream), cut=dict(positions))
        with uncertain_if_lost() as lost:
            status = (await self._find(stream, "truncateStream", request, lost=lost)).status
            _check_update(f"truncate {stream} at {dict(positions)}", stream, status)

    async def subscribers(self, stream: str) -> list[str]:
        """Return the reader groups that hold back retention of a stream, as ``scope/group``."""
        answer = await self._find(stream, "listSubscribers", stream_info(stream))
        if answer.status == pb.SubscribersResponse.STREAM_NOT_FOUND:
            raise StreamNotFoundError(f"there is no stream {stream}; create it first")
        if answer.status:
            raise RefusedError(f"subscribers of {stream}: the controller answered status {answer.status}")
        return sorted(answer.subscribers)

    async def _find(
        self, stream: str, method: str, request: Any, part: str = "", lost: Lost | None = None
    ) -> Any:
        """Call about a stream, or about a ``part`` of one, and raise if it is missing."""
        try:
            return await self.answer(method, request, lost)
        except ControllerCallError as error:
            if error.code_name != "NOT_FOUND":
                raise self.refused(method, request, error) from error
            if part and await self.stream_exists(stream):
                raise SegmentNotFoundError(f"{stream} never had {part}, or has it no longer") from error
            raise _no_stream(stream) from error

    def refused(self, method: str, request: Any, error: ControllerCallError) -> PravegaError:
        """Return the error of `pravega_lab.errors` for the status that ended a call."""
        if error.code_name in _TRANSIENT:
            return StoreUnavailableError(f"{method}: {error}")
        if error.code_name in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
            return self._denied(method, request, error)
        if "SEALED" in error.details:
            return StreamSealedError(f"{method}: the stream is sealed ({error.details})")
        if error.code_name == "UNIMPLEMENTED":
            return RefusedError(
                f"{method}: {self.uri} answers, but does not know this call ({error.details}). "
                "Check that the address is that of a controller"
            )
        shown = " ".join(str(request).split())
        return RefusedError(f"{method} ({shown:.200}): the controller answered {error}")

    def _denied(self, method: str, request: Any, error: ControllerCallError) -> AccessDeniedError:
        shown = " ".join(str(request).split())
        if not self.access.has_credentials:
            return AccessDeniedError(
                f"{method}: {self.uri} wants credentials, and none were given. Pass credentials=(user, "
                "password) or --credentials-file, or set pravega_client_auth_method and its companions"
            )
        if error.code_name == "UNAUTHENTICATED":
            return AccessDeniedError(
                f"{method}: {self.uri} does not take the credentials {self.access.source} ({error.details}). "
                "Check name and password, or whether the token has expired"
            )
        return AccessDeniedError(
            f"{method} ({shown:.200}): the credentials {self.access.source} do not allow this "
            f"({error.details}). Ask the administrator of {self.uri} for the permission, or use others"
        )

    async def delegation_token(self, stream: str, write: bool) -> str:
        """Return the token for requests to segment stores. It is secret, and empty without authentication."""
        scope, name = split_scoped_name(stream)
        operation = pb.StreamInfo.READ_WRITE if write else pb.StreamInfo.READ
        request = pb.StreamInfo(scope=scope, stream=name, accessOperation=operation)
        return str((await self.call("getDelegationToken", request)).delegationToken)

    # segments

    async def current_segments(self, stream: str) -> list[SegmentRange]:
        """Return the active segments, lowest key range first; none if the stream is sealed."""
        answer = await self._find(stream, "getCurrentSegments", stream_info_only(stream))
        return segment_ranges(answer.segmentRanges)

    async def epoch_segments(self, stream: str, epoch: int) -> list[SegmentRange]:
        """Return the segments of an epoch, lowest key range first."""
        request = pb.GetEpochSegmentsRequest(streamInfo=stream_info(stream), epoch=epoch)
        try:
            answer = await self._find(stream, "getEpochSegments", request, f"an epoch {epoch}")
        except AccessDeniedError:
            return await self._visible.setdefault(stream, VisibleEpochs(self, stream)).segments(epoch)
        return segment_ranges(answer.segmentRanges)

    async def head(self, stream: str) -> dict[int, int]:
        """Return the offset in bytes at which each segment at the head begins."""
        request = pb.GetSegmentsRequest(streamInfo=stream_info_only(stream), timestamp=0)
        answer = await self._find(stream, "getSegments", request)
        return {place.segmentId.segmentId: place.offset for place in answer.segments}

    async def successors(self, stream: str, segment_id: int) -> list[Successor]:
        """Return the successors of a segment, lowest key range first; none if it is active."""
        request = pb.SegmentId(streamInfo=stream_info(stream), segmentId=segment_id)
        part = f"a segment {segment_id}"
        answer = await self._find(stream, "getSegmentsImmediatelyFollowing", request, part)
        found = [
            Successor(segment_range(entry.segment), tuple(sorted(entry.value))) for entry in answer.segments
        ]
        return sorted(found, key=lambda successor: successor.segment.low)

    async def segments_between(
        self, stream: str, start: Mapping[int, int], end: Mapping[int, int]
    ) -> list[int]:
        """Return the ids of the segments between two cuts, both included, ascending."""
        request = pb.StreamCutRange(streamInfo=stream_info(stream), to=dict(end))
        getattr(request, "from").update(start)
        part = f"one of the segments {sorted({*start, *end})}"
        answer = await self._find(stream, "getSegmentsBetween", request, part)
        return sorted(segment.segmentId for segment in answer.segments)

    async def endpoint(self, stream: str, segment_id: int) -> Endpoint:
        """Return the segment store that serves a segment."""
        request = pb.SegmentId(streamInfo=stream_info(stream), segmentId=segment_id)
        answer = await self._find(stream, "getURI", request)
        return Endpoint(answer.endpoint, answer.port)

    # scaling

    async def scale(
        self,
        stream: str,
        seal: Sequence[int],
        ranges: Sequence[tuple[float, float]],
        timestamp_ms: int,
        lost: Lost,
    ) -> pb.ScaleResponse:
        """Ask for a scale, and return the answer, which may be a refusal.

        ``lost`` collects attempts without an answer, as `uncertain_if_lost` does.
        """
        request = pb.ScaleRequest(
            streamInfo=stream_info(stream),
            sealedSegments=seal,
            newKeyRanges=[pb.ScaleRequest.KeyRangeEntry(start=low, end=high) for low, high in ranges],
            scaleTimestamp=timestamp_ms,
        )
        answer: pb.ScaleResponse = await self._find(stream, "scale", request, lost=lost)
        return answer

    async def is_scaled(self, stream: str, epoch: int) -> bool:
        """Return whether the scale that began in ``epoch`` is done."""
        request = pb.ScaleStatusRequest(streamInfo=stream_info(stream), epoch=epoch)
        status = (await self._find(stream, "checkScale", request)).status
        if status in (pb.ScaleStatusResponse.SUCCESS, pb.ScaleStatusResponse.IN_PROGRESS):
            return bool(status == pb.ScaleStatusResponse.SUCCESS)
        raise RefusedError(f"checkScale of {stream}, epoch {epoch}: the controller answered {status}")

    async def note_time(self, stream: str, writer: str, position: Mapping[int, int], time: int) -> None:
        """Note a writer's time at a position. Raises `BadInputError` for a time before its last one."""
        cut = pb.StreamCut(streamInfo=stream_info(stream), cut=dict(position))
        request = pb.TimestampFromWriter(writer=writer, position=cut, timestamp=time)
        with uncertain_if_lost() as lost:
            result = (await self._find(stream, "noteTimestampFromWriter", request, lost=lost)).result
        if result == pb.TimestampResponse.INVALID_TIME:
            raise BadInputError(f"note_time({time}): this writer of {stream} noted a later time before")
        succeeded(f"note_time({time}) of a writer of {stream}", result)

    # transactions

    async def create_transaction(self, stream: str, lease_ms: int) -> tuple[UUID, list[SegmentRange]]:
        """Begin a transaction, and return its id and the segments that it writes to."""
        request = pb.CreateTxnRequest(streamInfo=stream_info(stream), lease=lease_ms)
        answer = await self._find(stream, "createTransaction", request)
        return txn_uuid(answer.txnId), segment_ranges(answer.activeSegments)

    async def ping_transaction(self, stream: str, txn_id: UUID, lease_ms: int) -> bool:
        """Renew a lease. Return False if nothing is left to renew."""
        request = pb.PingTxnRequest(streamInfo=stream_info(stream), txnId=txn_message(txn_id), lease=lease_ms)
        status = (await self._find(stream, "pingTransaction", request)).status
        return bool(status in (pb.PingTxnStatus.OK, pb.PingTxnStatus.DISCONNECTED))

    async def commit_transaction(
        self, stream: str, txn_id: UUID, writer: str = "", time: int = NO_TIME
    ) -> None:
        """Commit a transaction. ``writer`` notes ``time``; without both no time is noted (pravega.md A12)."""
        request = pb.TxnRequest(
            streamInfo=stream_info(stream), txnId=txn_message(txn_id), writerId=writer, timestamp=time
        )
        with uncertain_if_lost() as lost:
            status = (await self._find(stream, "commitTransaction", request, lost=lost)).status
            if status == pb.TxnStatus.SUCCESS:
                return
            state = await self.transaction_state(stream, txn_id)
        _txn_failed("commit", stream, txn_id, state)

    async def abort_transaction(self, stream: str, txn_id: UUID) -> None:
        """Abort a transaction. Raises `TransactionFailedError` unless its end is an abort."""
        request = pb.TxnRequest(streamInfo=stream_info(stream), txnId=txn_message(txn_id))
        with uncertain_if_lost() as lost:
            status = (await self._find(stream, "abortTransaction", request, lost=lost)).status
            if status == pb.TxnStatus.SUCCESS:
                return
            state = await self.transaction_state(stream, txn_id)
        if state not in (TransactionState.ABORTING, TransactionState.ABORTED):
            _txn_failed("abort", stream, txn_id, state)

    async def transaction_state(self, stream: str, txn_id: UUID) -> TransactionState:
        """Return the state of a transaction."""
        request = pb.TxnRequest(streamInfo=stream_info(stream), txnId=txn_message(txn_id))
        return TransactionState((await self._find(stream, "checkTransactionState", request)).state)


@contextmanager
def uncertain_if_lost() -> Iterator[Lost]:
    """Collect the attempts at a change that got no answer. After one, no error says that nothing happened.

    The attempt may have happened, and a later one may be refused because another program has sealed, deleted
    or changed the object since.
    """
    lost: Lost = []
    try:
        yield lost
    except PravegaError as error:
        if error.definite is Definite.NO and any(failure.code_name in _NO_ANSWER for failure in lost):
            raise uncertain(error, _MAY_HAVE_HAPPENED) from error
        raise


def succeeded(what: str, status: int, no: int | None = None) -> bool:
    """Return True for SUCCESS and False for the status ``no``. Raises for FAILURE, which gives no reason."""
    if status == no:
        return False
    if status != 0:
        raise RefusedError(f"{what}: the controller answered status {status} (1 is FAILURE) without a reason")
    return True


def _check_deleted(stream: str, status: int) -> None:
    if status == pb.DeleteStreamStatus.STREAM_NOT_SEALED:
        raise StreamNotSealedError(f"stream {stream} is not sealed: call seal() before delete()")
    if status == pb.DeleteStreamStatus.STREAM_NOT_FOUND:
        raise _no_stream(stream)
    succeeded(f"delete stream {stream}", status)


def _check_update(what: str, stream: str, status: int) -> None:
    statuses = pb.UpdateStreamStatus
    if status == statuses.STREAM_SEALED:
        raise StreamSealedError(f"{what}: the stream is sealed")
    if status in (statuses.STREAM_NOT_FOUND, statuses.SCOPE_NOT_FOUND):
        raise _no_stream(stream)
    succeeded(what, status)


def _no_stream(stream: str) -> StreamNotFoundError:
    return StreamNotFoundError(f"there is no stream {stream}; client.list_streams(scope) lists what there is")


def _txn_failed(what: str, stream: str, txn_id: UUID, state: TransactionState) -> NoReturn:
    next_step = {
        TransactionState.UNKNOWN: "it never was, or its end is forgotten: look for its events in the stream",
        TransactionState.COMMITTING: "its events will be in the stream",
        TransactionState.COMMITTED: "its events are in the stream",
    }.get(state, "none of its events is in the stream: write them in a new one")
    message = f"{what} of transaction {txn_id} on {stream}: it is {state.name}; {next_step}"
    raise TransactionFailedError(message, state)

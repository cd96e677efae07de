"""Stop a streaming query between two batches, and copy its checkpoint to where another query can go on from.

``query.stop()`` interrupts a batch, and a batch that is done again by a query with another sink id is written
twice. So the source is held first (`gate`), until every batch that was planned is committed. The copy has a
query id of its own: an exactly-once sink takes its batches for those of another query, and not for repeated
ones (docs/spark.md).

Source: reference/spark.md 10.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...errors import BadInputError, PravegaError
from .checkpoint import Checkpoint, local_path
from .gate import Hold, holding
from .offsets import Cuts, decode
from .stoppable import Stoppable, stoppable

LOOK_EVERY_S = 0.05
#: All is committed for so long: a batch without data, which follows one with data at once, would be planned.
QUIET_S = 0.3
MORE_HOLD_S = 30.0  # the hold outlives the waiting


@dataclass(frozen=True)
class Savepoint:
    """A copy of a query's checkpoint; ``.option("checkpointLocation", savepoint.path)`` goes on from it.

    ``batch``: the last one in it. ``query_id``: of the query that was stopped. ``sink_id``: the id of a query
    that begins with the copy, and so of its sink. ``cuts``: by stream, where it goes on.
    """

    path: str
    batch: int
    query_id: str
    sink_id: str
    cuts: Cuts = field(repr=False)
    drained: bool


def stop_with_savepoint(
    query: Any, folder: str | Path, drain: bool = False, *, timeout_s: float = 120.0
) -> Savepoint:
    """Let a query come to rest, stop it, and copy its checkpoint into ``folder``.

    Other queries of its session that read the same streams rest meanwhile, too.

    Args:
        query: A running ``StreamingQuery`` of this process, or what `submit` returned, with its
            ``checkpoint`` set; that one's process is ended.
        folder: Of a local file system; empty or not there.
        drain: Read first what is in the streams when the source is told. Event time does not end with it, as
            it does in Flink: windows that wait for their watermark stay in the state.
        timeout_s: How long to wait until it rests.

    Raises:
        BadInputError: ``folder`` is not empty or cannot be written; the query does not run, keeps no
            checkpoint in a local folder, or reads anything else than streams of Pravega.
        TimeoutError: It did not rest in time; the message says what was waited for. It goes on.
        PravegaError: It failed meanwhile, or was stopped in the middle of a batch; there is no savepoint.
    """
    found = stoppable(query)
    checkpoint = found.checkpoint
    target = _empty_folder(folder, checkpoint)
    deadline_s = time.monotonic() + timeout_s
    streams = _streams(found, deadline_s)
    with ExitStack() as stack:
        holds = [
            stack.enter_context(
                holding(found.hold_folder, names, drain=drain, within_s=timeout_s + MORE_HOLD_S)
            )
            for names in streams
        ]
        found.held()
        _rest(found, holds, drain, deadline_s)
        found.stop()
    planned, committed = checkpoint.planned, checkpoint.committed
    if planned != committed:
        raise PravegaError(
            f"{found.name} was stopped in the middle of batch {planned}; the last committed one is "
            f"{committed}. There is no savepoint. Start the query again on {checkpoint.path} and repeat the "
            f"call: the batch is completed first"
        )
    sink_id = str(uuid4())
    checkpoint.copy(target, sink_id)
    cuts = {stream: cut for offset in checkpoint.offsets() for stream, cut in decode(offset).items()}
    return Savepoint(str(target), planned, checkpoint.query_id, sink_id, cuts, drain)


def _empty_folder(folder: str | Path, checkpoint: Checkpoint) -> Path:
    """It is there and can be written when this returns."""
    target = local_path(str(folder), "a savepoint is copied into a folder")
    if target == checkpoint.path or checkpoint.path in target.parents:
        raise BadInputError(
            f"{target} is in the checkpoint that is to be copied: name a folder outside of it"
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        names = sorted(os.listdir(target))
        probe = target / f".{uuid4().hex}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise BadInputError(f"{target} cannot be written: {error}. Name another folder") from error
    if names:
        raise BadInputError(
            f"{target} is not empty (it has {', '.join(names[:3])}): a savepoint wants a folder of its own"
        )
    return target


def _streams(query: Stoppable, deadline_s: float) -> list[tuple[str, ...]]:
    """Of each of its sources, once it has planned a batch."""
    for _ in _looks(query, deadline_s, lambda: "it has not planned its first batch"):
        offsets = query.checkpoint.offsets()
        if offsets:
            break
    found = [tuple(sorted(_cuts(query, offset))) for offset in offsets]
    return list(dict.fromkeys(found))


def _cuts(query: Stoppable, offset: Any) -> Cuts:
    try:
        cuts = decode(offset)
    except BadInputError:
        cuts = {}
    if not cuts:
        raise BadInputError(
            f"{query.name} has a source that is not format('pravega'), at {str(offset)[:80]}: it cannot be "
            f"held between two batches. Call query.stop(), start it again with trigger(availableNow=True), "
            f"which ends between two batches, and copy its checkpoint then"
        )
    return cuts


def _rest(query: Stoppable, holds: list[Hold], drain: bool, deadline_s: float) -> None:
    """Until nothing is planned that is not committed, and nothing more will be."""
    since_s, last = time.monotonic(), -1
    for _ in _looks(query, deadline_s, lambda: _waits_for(query, holds, drain)):
        batch = query.checkpoint.planned
        is_done = batch == query.checkpoint.committed and (not drain or _at_the_end(query, holds))
        if not is_done or batch != last:
            since_s, last = time.monotonic(), batch if is_done else -1
        elif query.has_ended or (query.is_idle and time.monotonic() - since_s >= QUIET_S):
            return


def _at_the_end(query: Stoppable, holds: list[Hold]) -> bool:
    ends = [hold.answered() for hold in holds]
    wanted: dict[str, Any] = {}
    for end in ends:
        if end is None:
            return False
        wanted |= decode(end)
    found = {stream: cut for offset in query.checkpoint.offsets() for stream, cut in decode(offset).items()}
    return found == wanted


def _waits_for(query: Stoppable, holds: list[Hold], drain: bool) -> str:
    planned, committed = query.checkpoint.planned, query.checkpoint.committed
    if planned != committed:
        return f"batch {planned} is not committed; the last committed one is {committed}"
    if any(hold.answered() is None for hold in holds):
        return (
            "its source has not been asked for new data since. Is the pause between two triggers longer, or "
            "does its driver run on another machine?"
        )
    if drain and not _at_the_end(query, holds):
        return f"it has not read to the end; the last batch is {committed}"
    return f"a trigger is active after batch {committed}"


def _looks(query: Stoppable, deadline_s: float, waits_for: Callable[[], str]) -> Iterator[None]:
    """Look again and again, until the time is over or the query failed."""
    while True:
        if failure := query.failure:
            raise PravegaError(f"{query.name} failed while it was to come to rest: {failure}")
        yield
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{query.name} does not rest in time: {waits_for()}. It was not stopped")
        time.sleep(LOOK_EVERY_S)

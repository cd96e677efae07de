"""`stop_with_savepoint`: stop a streaming query between two batches, and copy its checkpoint for another
query.

``query.stop()`` interrupts a running batch. If a query with another sink id repeats that batch, its rows are
written twice. The source is therefore held first (`hold`), until every planned batch is committed. The copy
has its own query id, so that an exactly-once sink treats its batches as those of another query and not as
repeated ones (docs/spark.md).

Source: spark.md 10.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pravega_lab.connector.spark.checkpoint import Checkpoint, local_path
from pravega_lab.connector.spark.savepoint.stoppable import Stoppable, stoppable
from pravega_lab.connector.spark.source.hold import Hold, holding
from pravega_lab.connector.spark.source.offsets import Cuts, decode
from pravega_lab.errors import BadInputError, PravegaError

LOOK_EVERY_S = 0.05
#: How long everything must stay committed. A batch without data follows one with data at once, and would be
#: planned in this time.
QUIET_S = 0.3
MORE_HOLD_S = 30.0  # the hold lasts longer than the wait


@dataclass(frozen=True)
class Savepoint:
    """A copy of a query's checkpoint. A query with ``checkpointLocation`` set to ``path`` resumes from it.

    ``batch``: the last batch in it. ``query_id``: the id of the stopped query. ``sink_id``: the query id of
    the copy, and so the default sink id of a query that resumes from it. ``cuts``: for each stream, where
    that query resumes.
    """

    path: str
    batch: int
    query_id: str
    sink_id: str
    cuts: Cuts = field(repr=False)
    drained: bool


def stop_with_savepoint(
    query: Any,
    folder: str | Path,
    drain: bool = False,
    *,
    timeout_s: float = 120.0,
    checkpoint: str | Path | None = None,
) -> Savepoint:
    """Stop a query between two batches, and copy its checkpoint into ``folder``.

    Blocks until the query has stopped. Other queries of its session that read the same streams receive no new
    data until then.

    Args:
        query: A running ``StreamingQuery`` of this process, or a driver that `submit` returned, with its
            ``checkpoint`` set. The process of a driver is killed.
        folder: A folder of a local file system that is empty or does not exist.
        drain: First read everything up to the tail at the time of this call. Unlike in Flink, event time does
            not end with it: windows that wait for their watermark stay in the state.
        timeout_s: Seconds to wait until every planned batch is committed.
        checkpoint: The checkpoint folder of a query of Spark Connect. Spark does not report it to a client.
            Client and server have to share the folder.

    Raises:
        BadInputError: ``folder`` is not empty or cannot be written. Or the query does not run, has no
            checkpoint in a local folder, or has a source that is not a stream of Pravega.
        TimeoutError: A batch was not committed in time. The message says which. The query continues to run.
        PravegaError: The query failed, or was stopped in the middle of a batch. There is no savepoint.
    """
    found = stoppable(query, checkpoint)
    source = found.checkpoint
    target = _empty_folder(folder, source)
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
    planned, committed = source.planned, source.committed
    if planned != committed:
        raise PravegaError(
            f"{found.name} was stopped in the middle of batch {planned}; the last committed one is "
            f"{committed}. There is no savepoint. Start the query again on {source.path} and repeat the "
            f"call: the batch is completed first"
        )
    sink_id = str(uuid4())
    source.copy(target, sink_id)
    cuts = {stream: cut for offset in source.offsets() for stream, cut in decode(offset).items()}
    return Savepoint(str(target), planned, source.query_id, sink_id, cuts, drain)


def _empty_folder(folder: str | Path, checkpoint: Checkpoint) -> Path:
    """Return the folder of the savepoint, created and checked to be empty and writable."""
    target = local_path(str(folder), "a savepoint is copied into a folder")
    if target == checkpoint.path or checkpoint.path in target.parents:
        raise BadInputError(
            f"{target} is inside the checkpoint that the savepoint copies: name a folder outside of it"
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
            f"{target} is not empty (it has {', '.join(names[:3])}): name an empty folder for the savepoint"
        )
    return target


def _streams(query: Stoppable, deadline_s: float) -> list[tuple[str, ...]]:
    """Return the streams of each source of the query. Blocks until the query has planned a batch."""
    for _ in _looks(query, deadline_s, lambda: "it has not planned its first batch"):
        offsets = query.checkpoint.offsets()
        if offsets:
            break
    found = [tuple(sorted(_cuts(query, offset))) for offset in offsets]
    return list(dict.fromkeys(found))


def _cuts(query: Stoppable, offset: Any) -> Cuts:
    try:
        return decode(offset)
    except BadInputError:
        raise BadInputError(
            f"{query.name} has a source that is not format('pravega'), at {str(offset)[:80]}. Such a source "
            f"cannot be held between two batches. Call query.stop(), start the query again with "
            f"trigger(availableNow=True), which ends between two batches, and then copy its checkpoint"
        ) from None


def _rest(query: Stoppable, holds: list[Hold], drain: bool, deadline_s: float) -> None:
    """Block until every planned batch is committed, and no further batch will be planned."""
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
    return found.keys() == wanted.keys() and all(_has_reached(found[s], wanted[s]) for s in found)


def _has_reached(cut: Mapping[int, int], wanted: Mapping[int, int]) -> bool:
    """Return whether a cut is at another one, or after it: another query may have answered with its end."""
    return cut.keys() == wanted.keys() and all(cut[segment] >= wanted[segment] for segment in cut)


def _waits_for(query: Stoppable, holds: list[Hold], drain: bool) -> str:
    planned, committed = query.checkpoint.planned, query.checkpoint.committed
    if planned != committed:
        return f"batch {planned} is not committed; the last committed one is {committed}"
    if any(hold.answered() is None for hold in holds):
        return (
            "Spark has not asked its source for new data since then. Is the pause between two triggers "
            "longer, or does its driver run on another machine?"
        )
    if drain and not _at_the_end(query, holds):
        return f"it has not read to the end; the last batch is {committed}"
    return f"a trigger is active after batch {committed}"


def _looks(query: Stoppable, deadline_s: float, waits_for: Callable[[], str]) -> Iterator[None]:
    """Yield again and again, with a pause. Raises when the time is over or the query failed."""
    while True:
        if failure := query.failure:
            raise PravegaError(f"{query.name} failed before it could be stopped: {failure}")
        yield
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{query.name} does not rest in time: {waits_for()}. It was not stopped")
        time.sleep(LOOK_EVERY_S)

"""`observe`: one journal, filled live by observers of streams, reader groups and a query."""

from __future__ import annotations

import atexit
import time
import weakref
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import CAPACITY, Journal
from pravega_lab.observe.journal.journalled import Journalled
from pravega_lab.observe.journal.observations import Observation, Trouble
from pravega_lab.portable.closing import ClosedByWith

if TYPE_CHECKING:
    from pravega_lab.client import Client
    from pravega_lab.client.connection.access import AccessOptions
    from pravega_lab.observe.group.observer import GroupObserver
    from pravega_lab.observe.query.observer import QueryObserver
    from pravega_lab.observe.stream.observer import StreamObserver

_open: weakref.WeakSet[Watch] = weakref.WeakSet()


class Watch(ClosedByWith, Journalled):
    """A journal that fills by itself, from `observe`. ``close()``, or leaving its ``with`` block, ends
    it.

    The journal stays after that: views of it become recordings.
    """

    def __init__(
        self, journal: Journal, client: Client | None, stream_options: dict[str, Any] | None = None
    ) -> None:
        self.journal = journal
        self._stream_options = stream_options or {}
        self.streams: list[StreamObserver] = []
        self.groups: list[GroupObserver] = []
        self.queries: list[QueryObserver] = []
        self._client = client
        _open.add(self)

    @property
    def shows(self) -> tuple[str, ...]:
        """Return which views fit: for streams (also those of a group), for reader groups, for queries."""
        found = {"streams": self.streams or self.groups, "groups": self.groups, "queries": self.queries}
        return tuple(kind for kind, observers in found.items() if observers)

    def _add_streams(self, names: Sequence[str]) -> None:
        if self._client is None or not names:
            return
        from pravega_lab.observe.stream.observer import StreamObserver

        watched = [observer.tracker.stream for observer in self.streams]
        for name in names:
            if name not in watched:
                stream = self._client.stream(name)
                self.streams.append(StreamObserver(stream, self.journal, **self._stream_options))

    def _add_groups(self, names: Sequence[str], with_streams: bool) -> None:
        if self._client is None or not names:
            return
        from pravega_lab.observe.group.observer import GroupObserver

        on_streams = self._add_streams if with_streams else None
        for name in names:
            recorded = _last_recorded(self._stream_options.get("recorded", ()), name)
            made = GroupObserver(self._client, name, self.journal, recorded=recorded, on_streams=on_streams)
            self.groups.append(made)

    def look(self, timeout_s: float = 10.0) -> bool:
        """Wait until the present state is in the journal.

        Return False if that took too long, or if streams or groups were watched and the watch is closed.
        """
        end_s = time.monotonic() + timeout_s
        observers: list[GroupObserver | StreamObserver] = [*self.groups]
        have_looked = all(observer.look(end_s - time.monotonic()) for observer in observers)
        return have_looked and all(o.look(end_s - time.monotonic()) for o in list(self.streams))

    def wait_for_first_look(self, timeout_s: float = 10.0) -> bool:
        """Wait until each stream and each group was looked at once. Return False if that took too long."""
        end_s = time.monotonic() + timeout_s
        have_looked = all(group.wait_for_first_look(end_s - time.monotonic()) for group in self.groups)
        return have_looked and all(
            stream.wait_for_first_look(end_s - time.monotonic()) for stream in list(self.streams)
        )

    @property
    def trouble(self) -> list[str]:
        """Return what the observers failed to do, the newest last, also what is over.

        ``journal.troubles`` contains what they fail to do now.
        """
        return [o.message for o in self.journal.since(all_samples=False) if isinstance(o, Trouble)]

    def close(self) -> None:
        """Stop the observers, also when one of them raises. May be called twice."""
        client, self._client = self._client, None
        with ExitStack() as closing:  # calls its callbacks in reverse order
            closing.callback(_open.discard, self)
            closing.callback(setattr, self.journal, "live", False)
            if client is not None:
                closing.callback(client.close)
            for observers in (self.queries, self.streams, self.groups):
                closing.callback(_close_each, observers)  # groups first: until they end, they add streams

    def __repr__(self) -> str:
        return f"Watch({self.journal!r})"


def observe(
    uri: str | None = None,
    *,
    stream: str | Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    group_streams: bool = True,
    query: Any = None,
    checkpoint: str | Path | None = None,
    every_ms: int | None = None,
    event_bytes: float | None = None,
    capacity: int = CAPACITY,
    spill: bool | str | Path = True,
    continues: Journal | None = None,
    **access: Unpack[AccessOptions],
) -> Watch:
    """Watch streams, reader groups and a query from outside, by public calls only, into one journal.

    Nothing is written to what is watched, and no reader or writer is registered. Returns at once; threads
    fill the journal until the watch is closed or the process ends.

    Args:
        uri: ``tcp://host:port`` of the controller; needed for ``stream`` and ``group``.
        stream: ``scope/stream``, or several. It need not exist yet.
        group: ``scope/group`` of a reader group, or several, of Python, Java or Flink readers. It need not
            exist yet.
        group_streams: Also watch the streams that the groups read. Without them there is no segment map,
            and unread bytes are not known.
        query: A `StreamingQuery`, a driver of ``lab.submit``, a progress file, or a checkpoint folder.
        checkpoint: The query's checkpoint folder in addition, for batches that a kill cut off.
        every_ms: How often to look; by default every 500 ms at a stream, and every 200 ms at a query. A
            group's log is not polled: its entries are seen as they are written.
        event_bytes: Mean size of an event, header included; by default a small sample is read.
        capacity: Observations kept in memory; see `Journal`.
        spill: Where older ones go; see `Journal`.
        continues: A recording of the same streams or groups. The journal begins with its observations, and
            what it contains is not reported again.
        access: How to get into the cluster; see `client.connect`.

    Raises:
        BadInputError: There is nothing to observe, no address for a stream or group, ``query`` is none of
            these, or the file of ``spill`` exists.
    """
    streams, groups = _names(stream), _names(group)
    if not streams and not groups and query is None:
        raise BadInputError(
            'observe() needs what to watch: stream="scope/name", group="scope/name", query=..., or several.'
        )
    if (streams or groups) and uri is None:
        asked = f"stream={streams[0]!r}" if streams else f"group={groups[0]!r}"
        raise BadInputError(f'observe({asked}) needs the controller: observe("tcp://host:port", ...).')
    parts = [*streams, *(f"group {name}" for name in groups), *(["a query"] if query is not None else [])]
    source = " and ".join(parts)
    journal = Journal(f"{source} at {uri}" if uri else source, capacity=capacity, spill=spill)
    every: dict[str, Any] = {} if every_ms is None else {"every_ms": every_ms}
    client = _connect(uri, **access) if (streams or groups) and uri else None
    if continues is not None:
        journal.extend(continues.since())
        journal.adopt(continues.gap)
    recorded = [] if continues is None else continues.since()
    watch = Watch(journal, client, {"event_bytes": event_bytes, "recorded": recorded} | every)
    with ExitStack() as undo:
        undo.callback(watch.close)
        watch._add_streams(streams)
        watch._add_groups(groups, group_streams)
        if query is not None:
            from pravega_lab.observe.query.observer import QueryObserver

            watch.queries = [QueryObserver(query, journal, checkpoint=checkpoint, **every)]
        undo.pop_all()
    return watch


def _last_recorded(recorded: Iterable[Observation], group: str) -> tuple[str, int] | None:
    """Return the id of a group and the last revision of its log in a recording, None if it has neither."""
    from pravega_lab.observe.group.observations import GroupObservation, GroupSeen

    found = [o for o in recorded if isinstance(o, GroupObservation) and o.group == group]
    ids = [o.group_id for o in found if isinstance(o, GroupSeen)]
    return (ids[-1], max(o.revision for o in found)) if ids else None


def _close_each(watching: Iterable[Watch | GroupObserver | StreamObserver | QueryObserver]) -> None:
    """Close all of them, also when one of them raises."""
    with ExitStack() as closing:
        for one in watching:
            closing.callback(one.close)


def _names(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _connect(uri: str, **access: Unpack[AccessOptions]) -> Client:
    from pravega_lab.client import connect

    # An observer looks again anyway, and reports what it misses until then.
    return connect(uri, retry_for_s=2.0, **access)


@atexit.register
def _close_all() -> None:
    """Close all watches: their threads must have ended before the interpreter removes their modules."""
    _close_each(list(_open))

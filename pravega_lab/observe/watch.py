"""`observe`: one journal, filled live by an observer of a stream, of a query, or of both."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal import CAPACITY, Journal
from pravega_lab.observe.observations import Observation, Trouble

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client import Client
    from pravega_lab.observe.query import QueryObserver
    from pravega_lab.observe.stream import StreamObserver

_open: weakref.WeakSet[Watch] = weakref.WeakSet()


class Watch:
    """A journal that fills by itself. Made by `observe`; ``close()``, or leave its ``with`` block, to end it.

    The journal stays when it is closed: views of it become recordings.
    """

    def __init__(self, journal: Journal, client: Client | None) -> None:
        self.journal = journal
        self.streams: list[StreamObserver] = []
        self.queries: list[QueryObserver] = []
        self._client = client
        _open.add(self)

    @property
    def shows(self) -> tuple[str, ...]:
        """Which views fit: for streams, for queries."""
        return (*(("streams",) if self.streams else ()), *(("queries",) if self.queries else ()))

    def since(self, seq: int = 0) -> list[Observation]:
        """Observations from ``seq`` on; see `Journal.since`."""
        return self.journal.since(seq)

    def to_pandas(self, kind: str | None = None) -> pd.DataFrame:
        """See `Journal.to_pandas`."""
        return self.journal.to_pandas(kind)

    def save(self, path: str | Path) -> Path:
        """See `Journal.save`."""
        return self.journal.save(path)

    def look(self, timeout_s: float = 10.0) -> bool:
        """Wait until what is so now is in the journal; False when that took too long."""
        return all(observer.look(timeout_s) for observer in self.streams)

    @property
    def trouble(self) -> list[str]:
        """What the observers could not do, newest last."""
        return [o.message for o in self.journal.since() if isinstance(o, Trouble)]

    def close(self) -> None:
        """End the observers. Calling it twice is harmless."""
        _open.discard(self)
        for stream in self.streams:
            stream.close()
        for query in self.queries:
            query.close()
        if self._client is not None:
            self._client.close()
            self._client = None
        self.journal.live = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Watch({self.journal!r})"


def observe(
    uri: str | None = None,
    *,
    stream: str | Sequence[str] | None = None,
    query: Any = None,
    checkpoint: str | Path | None = None,
    every_ms: int | None = None,
    event_bytes: float | None = None,
    capacity: int = CAPACITY,
) -> Watch:
    """Watch streams and a streaming query from outside, by public calls only, into one journal.

    Args:
        uri: ``tcp://host:port`` of the controller; needed for ``stream``.
        stream: ``scope/stream``, or several. It need not exist yet.
        query: A `StreamingQuery`, a driver of ``lab.submit``, a progress file, or a checkpoint folder.
        checkpoint: The query's checkpoint folder besides, for batches that a kill cut off.
        every_ms: How often to look; by default 500 ms at a stream, 200 ms at a query.
        event_bytes: Mean size of an event, header included; by default a small sample is read.
        capacity: Observations kept; see `Journal`.

    Raises:
        BadInputError: Nothing to observe, no address for a stream, or no such sort of query.
    """
    names = [stream] if isinstance(stream, str) else list(stream or ())
    if not names and query is None:
        raise BadInputError('observe() needs what to watch: stream="scope/name", query=..., or both.')
    if names and uri is None:
        raise BadInputError(
            f'observe(stream={names[0]!r}) needs the controller: observe("tcp://host:port", ...).'
        )
    source = " and ".join([*names, *(["a query"] if query is not None else [])])
    journal = Journal(f"{source} at {uri}" if uri else source, capacity=capacity)
    every: dict[str, Any] = {} if every_ms is None else {"every_ms": every_ms}
    client = _connect(uri) if names and uri else None
    watch = Watch(journal, client)
    if client is not None:
        from pravega_lab.observe.stream import StreamObserver

        options: dict[str, Any] = {"event_bytes": event_bytes} | every
        watch.streams = [StreamObserver(client.stream(name), journal, **options) for name in names]
    if query is not None:
        from pravega_lab.observe.query import QueryObserver

        watch.queries = [QueryObserver(query, journal, checkpoint=checkpoint, **every)]
    return watch


def _connect(uri: str) -> Client:
    from pravega_lab.client import connect

    return connect(uri, retry_for_s=2.0)  # an observer looks again anyway, and says what it misses meanwhile


@atexit.register
def _close_all() -> None:
    """Threads that ask a store must have ended before the interpreter takes their modules away."""
    for watch in list(_open):
        watch.close()

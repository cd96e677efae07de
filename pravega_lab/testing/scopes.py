"""`PravegaStore` and `PravegaScope`: a store that tests share, and a scope in it for one test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pravega_lab.client import HEAD, TAIL, RetentionPolicy, ScalingPolicy, Stream, Table, connect
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import BadInputError, NotFoundError, PravegaError
from pravega_lab.portable.closing import ClosedByWith

if TYPE_CHECKING:
    from pravega_lab.client.reader_group import ReaderGroup
    from pravega_lab.client.values import Bound


class PravegaStore(ClosedByWith):
    """An embedded store in its own process, or a running Pravega that tests join.

    Args:
        uri: The Pravega to join (``tcp://host:9090``). Without it a store is started, and ``close`` stops
            it.
        data: Folder that keeps the started store, so that it survives `kill`. Without it the store is in
            memory.
        scaling_clock: Divides the time constants of auto-scaling and the period of retention of the started
            store (pravega.md A6, A7).
        is_shared: Other tests use it too, so `kill` and `start` refuse.

    Raises:
        StoreUnavailableError: The store does not start.
        BadInputError: ``uri`` is no such address.
    """

    def __init__(
        self,
        uri: str | None = None,
        *,
        data: str | Path | None = None,
        scaling_clock: int = 1,
        is_shared: bool = False,
    ) -> None:
        self._process = None if uri is not None else StoreProcess(data, scaling_clock=scaling_clock)
        self.uri = uri if uri is not None else self._process.uri  # type: ignore[union-attr]
        self.client = connect(self.uri)
        self._is_shared = is_shared

    @property
    def is_embedded(self) -> bool:
        """Return whether the store was started here, and not joined."""
        return self._process is not None

    def scope(self, name: str) -> PravegaScope:
        """Create the scope ``name`` and return it.

        Raises:
            BadInputError: The name breaks the rules of pravega.md A1.
        """
        self.client.create_scope(name)
        return PravegaScope(self, name)

    def kill(self) -> None:
        """Kill the store with ``kill -9``. In a folder, what was acknowledged survives until `start`."""
        self._own("kill").kill()

    def start(self) -> None:
        """Start the store again, on the same folder and address. Does nothing while it runs."""
        self._own("start").start()

    def close(self) -> None:
        """Close the connections, and stop what was started. May be called twice."""
        self.client.close()
        if self._process is not None:
            self._process.stop()

    def _own(self, what: str) -> StoreProcess:
        if self._process is None or self._is_shared:
            raise BadInputError(
                f"{what}(): the store at {self.uri} is not this test's own. Mark the test with "
                "@pytest.mark.pravega_store(durable=True) and run it without --pravega-uri."
            )
        return self._process

    def __repr__(self) -> str:
        return f"PravegaStore({'embedded' if self.is_embedded else 'joined'})"


class PravegaScope:
    """A scope and what a test creates in it. Names need no scope: ``pravega.create_stream("flights")``.

    ``client`` is the store's. The code under test takes it, ``uri``, or the options of a stream.
    """

    def __init__(self, store: PravegaStore, name: str) -> None:
        self.store = store
        self.name = name
        self._tables: dict[str, Table] = {}
        self._groups: dict[str, ReaderGroup] = {}

    @property
    def uri(self) -> str:
        """Return the controller's address, ``tcp://host:port``."""
        return self.store.uri

    @property
    def client(self) -> Any:
        """Return the store's client."""
        return self.store.client

    def create_stream(
        self,
        name: str,
        *,
        scaling: ScalingPolicy = ScalingPolicy.fixed(1),
        retention: RetentionPolicy = RetentionPolicy.none(),
        tags: Sequence[str] = (),
    ) -> Stream:
        """Create a stream in this scope. Errors are those of `Client.create_stream`."""
        made: Stream = self.client.create_stream(
            self._in_scope(name), scaling=scaling, retention=retention, tags=tags
        )
        return made

    def stream(self, name: str) -> Stream:
        """Return a stream of this scope without asking the store whether it exists."""
        found: Stream = self.client.stream(self._in_scope(name))
        return found

    def create_table(self, name: str) -> Table:
        """Create a table segment in this scope, or return the existing one."""
        table: Table = self.client.table(self._in_scope(name))
        table.create()
        return self._tables.setdefault(name, table)

    def create_reader_group(self, name: str, streams: Sequence[str], **config: Any) -> ReaderGroup:
        """Create a group that reads these streams of the scope from their heads.

        Args:
            config: As for `pravega_lab.client.reader_group.reading`.

        Raises:
            BadInputError: ``streams`` is one text, or what `reading` refuses.
        """
        from pravega_lab.client.reader_group import reading

        if isinstance(streams, str):
            raise BadInputError(f"streams={streams!r}; give a list of names: [{streams!r}]")
        reads = reading([self._in_scope(stream) for stream in streams], **config)
        group: ReaderGroup = self.client.create_reader_group(self._in_scope(name), reads)
        return self._groups.setdefault(name, group)

    def events(self, stream: str, start: Bound = HEAD, end: Bound = TAIL) -> list[bytes]:
        """Return the events between two cuts, by default from the head to the present tail.

        Events of one routing key are in their order; those of a successor are after those of its
        predecessors.
        """
        with self.stream(stream).read(start, end) as batches:
            return [event for batch in batches for event in batch.column("event").to_pylist()]

    def clear(self) -> None:
        """Delete what is in the scope, and the scope.

        Raises:
            NotEmptyError: Something is left that was not created through this object, a reader group or a
                table for example. The test that created it has to delete it.
        """
        for group in self._groups.values():
            _though_gone(group.delete)
        for table in self._tables.values():
            _though_gone(table.delete)
        for name in self.client.list_streams(self.name):
            stream = self.stream(name)
            _though_gone(stream.seal)
            _though_gone(stream.delete)
        self.client.delete_scope(self.name)

    def _in_scope(self, name: str) -> str:
        if "/" in name and not name.startswith(f"{self.name}/"):
            raise BadInputError(f"{name!r} is in another scope: this test has the scope {self.name!r}")
        return name if "/" in name else f"{self.name}/{name}"

    def __repr__(self) -> str:
        return f"PravegaScope({self.name!r})"


def _though_gone(delete: Callable[[], object]) -> None:
    try:
        delete()
    except NotFoundError:
        pass  # the test has deleted it
    except PravegaError as error:
        error.add_note("while the scope of a test was cleared")
        raise

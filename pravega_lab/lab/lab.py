"""`Lab`: one object that starts or joins a store, and creates streams, Spark sessions and views for it.

Each part is created on first use: a lab without Spark starts no JVM, and a lab without views imports no
widgets. Leaving the ``with`` block, ``close()`` and the end of the process stop what the lab itself started,
and nothing else.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from pravega_lab.client import AccessOptions, Client, RetentionPolicy, ScalingPolicy, Stream, connect
from pravega_lab.client.client import parse_address
from pravega_lab.client.connection import own_stores
from pravega_lab.client.connection.access import Access, safe_to_print
from pravega_lab.client.loop_thread import OfThisProcess
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.engine.server.limits.limits import Limits
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import BadInputError
from pravega_lab.lab import labs_by_name
from pravega_lab.lab.private_store import PrivateStore
from pravega_lab.lab.store_here import StoreHere
from pravega_lab.lab.things import check_text, has_a_view, named, observed
from pravega_lab.lab.workloads import Workloads
from pravega_lab.portable.alone import IS_BROWSER
from pravega_lab.progress import Progress, write_in_slices

if TYPE_CHECKING:
    from pravega_lab.client.registry import SchemaRegistry
    from pravega_lab.connector.spark.savepoint.savepoint import Savepoint
    from pravega_lab.connector.tables.table import Table
    from pravega_lab.connector.tables.tree import CatalogTree
    from pravega_lab.lab.fork import Fork
    from pravega_lab.lab.running_clients import RunningReader, RunningWriter
    from pravega_lab.observe.journal.journal import Journal
    from pravega_lab.observe.ledger.ledger import Ledger
    from pravega_lab.observe.ledger.numbered import Parse
    from pravega_lab.widgets.live.controls import Controls

DEFAULT_SCOPE = "lab"


class Lab(OfThisProcess):
    """A store, a client, Spark and views that belong together. A context manager: leaving it closes the lab.

    ``observers`` are those that `observe` started, by what they observe; ``drivers`` those that `submit`
    started.

    Args:
        data: The folder of the embedded store. Without a folder (and without ``uri``) the store is deleted
            when the lab is closed.
        uri: The address of a running Pravega to join (``tcp://host:9090`` or ``tls://…``). No store is
            started.
        scaling_clock: Divides the time constants of auto-scaling and the period of retention of the embedded
            store, so that a lesson need not wait ten minutes (pravega.md A6, A7).
        fast_workers: Let local Spark fork its Python workers from a daemon that has imported everything
            already. Batches are shorter; see docs/spark.md.
        name: In a notebook, a lab closes the kernel's lab of the same name, and prints that it did. Labs with
            different names exist side by side.
        open: Let every program of this machine use the embedded store, as long as it knows the address. By
            default the store has a random password, which programs of the same user find by themselves and
            others do not; see docs/security.md.
        limits: What clients of the embedded store may take, where the defaults of docs/store.md do not fit.
        registry: True serves a schema registry together with the embedded store, on a free port. For a store
            that is joined it is the address of a registry, such as ``http://host:9092``.
        access: How to get into the store at ``uri``: ``ca_file``, ``credentials``, …; see `AccessOptions`.

    Raises:
        BadInputError: ``data`` is no folder, ``uri`` no address, both are given together, or
            ``scaling_clock`` or ``limits`` for a store that is joined.
        StoreUnavailableError: The embedded store does not start. Whether a store answers at ``uri`` shows in
            the first call.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        uri: str | None = None,
        scaling_clock: int | None = None,
        fast_workers: bool = True,
        name: str = "",
        open: bool = False,
        limits: Limits | None = None,
        registry: bool | str = False,
        **access: Unpack[AccessOptions],
    ) -> None:
        if uri is not None and data is not None:
            raise BadInputError(
                "Lab(data, uri=…): give a folder for an embedded store or the uri of a running one"
            )
        if data is not None and (not isinstance(data, str | os.PathLike) or "://" in str(data)):
            raise BadInputError(
                f"Lab({data!r}): the first argument is the folder of an embedded store. "
                "Lab(uri='tcp://host:port') joins a store that runs"
            )
        if uri is not None:
            parse_address(uri)
        if uri is not None and scaling_clock is not None:
            raise BadInputError("Lab(uri=…, scaling_clock=…): only an embedded store has a scaling clock")
        if uri is not None and limits is not None:
            raise BadInputError("Lab(uri=…, limits=…): only an embedded store has limits; see docs/store.md")
        if uri is not None and open:
            raise BadInputError("Lab(uri=…, open=True): only an embedded store can be opened to everyone")
        check_registry(registry, is_joined=uri is not None)
        Access.of(access)  # refuses misspelt options before anything is started
        if access and uri is None:
            raise BadInputError(f"Lab({', '.join(access)}): goes with uri=…, the address of a cluster")
        self.title = f"Lab {name}".strip()
        self.is_closed = False
        self._process_id = os.getpid()
        if replaced := labs_by_name.close_namesake(name):
            print(replaced)
        kind: Any = StoreHere if IS_BROWSER else StoreProcess if open else PrivateStore
        port = 0 if registry is True else None
        self.store = (
            kind(data, scaling_clock=scaling_clock or 1, limits=limits, registry_port=port)
            if uri is None
            else None
        )
        self._registry_uri = registry if isinstance(registry, str) else ""
        self.uri = uri if uri is not None else (self.store.uri if self.store else "")
        if isinstance(self.store, StoreProcess):
            own_stores.advise(self.uri, partial(_advice, self.store))
        self._access = safe_to_print(access)
        self._is_open = open
        self._fast_workers = fast_workers
        self._client: Client | None = None
        self._spark: Any = None
        self.observers: dict[Any, Any] = {}
        self.drivers: list[Any] = []
        self._workloads = Workloads(lambda: self.client, self.observers, self._access)
        self._forks: list[Fork[Lab]] = []
        self._journal: Journal | None = None  # of ledgers without an observer
        atexit.register(self.close)
        labs_by_name.register(name, self)

    @property
    def client(self) -> Client:
        """Return the client of this lab's store, opening it on first use."""
        if self._client is None:
            self._check_open()
            self._client = connect(self.uri, **self._access)
        return self._client

    @property
    def registry(self) -> SchemaRegistry:
        """Return the client of this lab's schema registry; ``in_namespace(scope)`` has the groups of a scope.

        Raises:
            BadInputError: The lab has no registry.
        """
        if not self.registry_uri:
            raise BadInputError(
                "this lab has no schema registry. Start it with Lab(registry=True), or join one with "
                "Lab(uri=…, registry='http://host:9092')"
            )
        from pravega_lab.client.registry import SchemaRegistry

        return SchemaRegistry(self.registry_uri, **self._access)

    @property
    def registry_uri(self) -> str:
        """Return the address of this lab's schema registry, "" without one."""
        return self._registry_uri if self.store is None else self.store.registry_uri

    def create_stream(
        self,
        name: str,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Sequence[str] = (),
    ) -> Stream:
        """Create ``scope/stream``, with its scope, and return it. A name without a scope goes into ``lab``.

        By default the stream has one segment, which never scales, and keeps all events. With a ``retention``
        policy the store truncates the stream once per period; see `RetentionPolicy`. The arguments and errors
        are those of `Client.create_stream`.
        """
        return self.client.create_stream(
            _scoped(name),
            scaling=ScalingPolicy.fixed(1) if scaling is None else scaling,
            retention=RetentionPolicy.none() if retention is None else retention,
            tags=tags,
        )

    def stream(self, name: str) -> Stream:
        """Return the stream ``scope/stream`` without asking the store whether it exists."""
        return self.client.stream(_scoped(name))

    def write(self, stream: Stream, events: Any, keys: Any = None) -> int:
        """Write very many events in slices, with a progress bar, and return how many were written.

        Blocks until all of them are durable. Arguments and errors are those of ``stream.write``.
        """
        return write_in_slices(stream, events, keys)

    def table(self, name: str) -> Table:
        """Return the stream ``scope/stream`` as a table, with the description that the store has of it.

        With a schema registry, a stream whose group has a schema has the columns of the newest one. A stream
        that nobody described has no columns yet: ``lab.table(…).schema("id bigint").json().save()``.
        For a table segment, call ``lab.client.table``.

        Raises:
            BadInputError: The stream was deleted and created again after it was described.
        """
        from pravega_lab.connector.tables.descriptions import StoredDescriptions
        from pravega_lab.connector.tables.registered import RegisteredDescriptions
        from pravega_lab.connector.tables.table import Table

        if not self.registry_uri:
            return Table.load(self.client, _scoped(name))
        known = RegisteredDescriptions(StoredDescriptions(self.client), self.registry)
        return Table.load(self.client, _scoped(name), descriptions=known)

    @property
    def catalog(self) -> CatalogTree:
        """Return scopes, streams, columns, and groups of schemas: a tree in JupyterLab, and in pandas."""
        from pravega_lab.connector.tables.tree import CatalogTree

        return CatalogTree(self.client, self.registry if self.registry_uri else None)

    @property
    def spark(self) -> Any:
        """Return the Spark session of this process, creating it on first use, and after it was stopped
        (spark.md 12).

        It becomes the active session of the calling thread; see `pravega_lab.register`.
        """
        from pravega_lab.connector.spark.session.registration import has_stopped, make_active

        if self._spark is not None and not has_stopped(self._spark):
            make_active(self._spark)
        else:
            self._check_open()
            from pravega_lab.connector.spark.session.session import create_session

            with Progress("starting Spark"):
                settings = self._catalog_settings()
                self._spark = create_session(
                    fast_workers=self._fast_workers, environment=self._access_environment(), conf=settings
                )
                for name, value in settings.items():  # of a session that another lab started
                    self._spark.conf.set(name, value)
        return self._spark

    @property
    def started_spark(self) -> Any:
        """Return the Spark session if `spark` has created it, else ``None``."""
        return self._spark

    def submit(self, script: str | Path, *args: str, **options: Any) -> Any:
        """Start a Spark driver script in its own process and return a handle on it.

        The handle has ``kill()``, ``restart()``, ``wait()`` and a progress file that an observer follows. The
        script finds the controller's address in its environment, as ``PRAVEGA_URI``.

        Args:
            args: The script's arguments.
            options: See `pravega_lab.connector.spark.session.driver.submit`.
        """
        from pravega_lab.connector.spark.session.driver import submit

        self._check_open()
        options["env"] = {"PRAVEGA_URI": self.uri, **self._access_environment(), **options.get("env", {})}
        driver = submit(script, *args, **options)
        self.drivers.append(driver)
        return driver

    def stop_with_savepoint(
        self, query: Any, folder: str | Path, drain: bool = False, **options: Any
    ) -> Savepoint:
        """Stop a streaming query between two batches and copy its checkpoint into ``folder``.

        A query that starts with the copy resumes where this query stopped. It may write into the same stream,
        because its sink gets an id of its own. See
        `pravega_lab.connector.spark.savepoint.savepoint.stop_with_savepoint` for options (``timeout_s``, and
        ``checkpoint`` over Spark Connect) and errors.
        """
        from pravega_lab.connector.spark.savepoint.savepoint import stop_with_savepoint

        return stop_with_savepoint(query, folder, drain, **options)

    def observe(self, thing: Any, **options: Any) -> Any:
        """Return the observer of a stream, a reader group, a streaming query or a submitted driver.

        Its journal fills from now on, until the lab is closed. A second call with the same thing returns the
        same observer, with all that it has seen. A text is the name of a stream that exists, or else the path
        of a checkpoint folder or progress file.

        Args:
            options: See `pravega_lab.observe`.
        """
        from pravega_lab.observe import observe

        thing = self._named(thing)
        key = (type(thing), thing.scoped_name) if isinstance(thing, Stream | ReaderGroup) else thing
        if key not in self.observers:
            self._check_open()
            self.observers[key] = observe(self.uri, **observed(thing), **{**self._access, **options})
        return self.observers[key]

    def show(
        self, *things: Any, scale: float = 1.0, title: str | None = None, where: str | None = None
    ) -> Any:
        """Return a board with the views that fit these streams, reader groups, queries and drivers.

        All views are on one clock. What is not observed yet is observed from now on. Streams and groups are
        looked at before this returns, in each call. A text is the name of a stream, or the path of a
        checkpoint folder or progress file that exists.

        Args:
            scale: Size of text and marks; 1.5 suits a projector.
            title: Text in the header of the first view; by default the name of what it shows.
            where: "right" for a panel on the right of JupyterLab, "inline" for below the cell. By default as
                the variable ``PRAVEGA_LAB_VIEWS`` says, which ``make lab`` and Binder set to "right".

        Raises:
            BadInputError: A text names nothing; the message lists the streams with the nearest names.
            MissingExtraError: The extra ``notebook`` is not installed.
        """
        from pravega_lab.widgets import show

        found = [self._named(thing) for thing in things]
        for thing in found:
            check_text(thing, self.client)
        watched = [thing if has_a_view(thing) else self.observe(thing) for thing in found]
        return show(*watched, scale=scale, title=title, where=where)

    def _named(self, thing: Any) -> Any:
        return named(thing, _scoped(thing), self.client) if isinstance(thing, str) else thing

    @property
    def writers(self) -> dict[str, RunningWriter]:
        """Return the writers that `writer` started, by name, including those that have ended."""
        return self._workloads.writers

    @property
    def readers(self) -> dict[str, RunningReader]:
        """Return the readers that `reader` started, by name, including those that have ended."""
        return self._workloads.readers

    def writer(
        self,
        stream: Stream,
        name: str | None = None,
        *,
        rate: float = 100.0,
        keys: int | Sequence[str] = 16,
        event_bytes: int = 100,
        ledger: Ledger | None = None,
    ) -> RunningWriter:
        """Start a writer of numbered events in a thread and return it.

        ``.rate = 500`` changes its rate, and ``.close()`` ends it.

        Args:
            name: By default ``w1``, ``w2``, …
            rate: Events per second; 0 pauses the writer.
            keys: The number of routing keys of this writer, or their names.
            event_bytes: The smallest size of an event, in bytes.
            ledger: Receives every event before it is written, and again when it is durable.

        Raises:
            BadInputError: A writer of this name runs, or ``rate`` is no rate.
        """
        options = {"rate": rate, "keys": keys, "event_bytes": event_bytes, "ledger": ledger}
        return self._workloads.writer(stream, name, **options)

    def reader(
        self,
        group: ReaderGroup,
        name: str | None = None,
        *,
        rate: float | None = None,
        ledger: Ledger | None = None,
        parse: Parse | None = None,
    ) -> RunningReader:
        """Start a reader of a group in a thread and return it.

        ``.kill()`` stops it as a crash does: its group is not notified.

        Args:
            name: By default ``r1``, ``r2``, …
            rate: The most events per second; by default as many as there are.
            ledger: Receives every event that was read.
            parse: Finds the ids of events that `writer` did not write; see `Ledger.count`.

        Raises:
            BadInputError: A reader of this name runs.
            ReaderExistsError: The group has a reader of this name.
        """
        options: dict[str, Any] = {"rate": rate, "ledger": ledger} | ({"parse": parse} if parse else {})
        return self._workloads.reader(group, name, **options)

    def ledger(self, thing: Any = None, name: str = "ledger") -> Ledger:
        """Return the `Ledger` that counts into the journal of ``thing``, or into a journal of its own.

        A second call with the same thing and name returns the same ledger.

        Args:
            thing: What `observe` takes, an observer, or a journal.
        """
        from pravega_lab.observe.journal.journal import Journal

        if thing is None:
            if self._journal is None:
                self._journal = Journal(self.uri)
            return self._workloads.ledger(self._journal, name)
        watched = thing if isinstance(getattr(thing, "journal", thing), Journal) else self.observe(thing)
        return self._workloads.ledger(getattr(watched, "journal", watched), name)

    def fork(self, source: Any, *, at_s: float | None = None, **options: Any) -> Fork[Lab]:
        """Copy streams into a fresh lab, from the last checkpoint before a moment to their ends.

        See `pravega_lab.lab.fork.fork` for arguments and errors. The fork is closed with this lab.
        """
        from pravega_lab.lab.fork import fork

        made = fork(self.client, source, at_s=at_s, open_lab=partial(Lab, open=self._is_open), **options)
        self._forks.append(made)
        return made

    def controls(self, board: Any = None, *, allow_joined: bool = False) -> Controls:
        """Return buttons that act on this lab. Each shows the call that it makes.

        Args:
            board: What `show` returned. A mark that is pinned there chooses what a button acts on.
            allow_joined: Let the buttons scale and checkpoint in a store that this lab only joined.
        """
        from pravega_lab.lab.controls import controls

        return controls(self, board, acted=self._workloads.acted, allow_joined=allow_joined)

    def close(self) -> None:
        """Stop what this lab started: writers and readers first, the store last. May be called twice.

        Calls that would start a part again raise `BadInputError` from then on.

        Every part is stopped, also when another one raises. The error is raised here afterwards. In a forked
        child this does nothing: what runs belongs to the parent.
        """
        if os.getpid() != self._process_id:
            return
        self.is_closed = True
        try:
            with ExitStack() as closing:  # calls its callbacks in reverse order
                if self.store is not None:
                    closing.callback(own_stores.advise_no_more, self.uri)
                    closing.callback(self.store.close)
                if self._client is not None:
                    closing.callback(self._client.close)
                if self._spark is not None:
                    closing.callback(self._spark.stop)
                for part in reversed((*self._forks, *self.observers.values(), *self.drivers)):
                    closing.callback(part.close)
                closing.callback(self._workloads.close)
        finally:
            self._client = self._spark = None
            for started in (self._forks, self.observers, self.drivers):
                started.clear()
        atexit.unregister(self.close)  # only now: a store that could not be stopped is tried again at exit

    def _check_open(self) -> None:
        """Refuse to start a part that no `close` would stop."""
        if self.is_closed:
            raise BadInputError(f"this lab at {self.uri} was closed: Lab() makes another one")

    def _catalog_settings(self) -> dict[str, str]:
        """Return the settings with which Spark's catalog ``pravega`` has the streams of this lab."""
        from pravega_lab.connector.spark.catalog.jar import SETTING

        options = {"controller": self.uri, **Access.of(self._access).to_options()}
        if self.registry_uri:
            options["registry_uri"] = self.registry_uri
        return {f"{SETTING}.{name}": value for name, value in options.items()}

    def _access_environment(self) -> dict[str, str]:
        """Return the environment of processes that this lab starts: they find the credentials only there."""
        return Access.of(self._access).to_environment() if self._access else {}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the panel of the lab's parts: live in JupyterLab, elsewhere as it is now."""
        from pravega_lab.lab.panel import bundle

        return bundle(self, **kwargs)

    def __enter__(self) -> Lab:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.is_closed:
            return "Lab(closed)"
        kind = "embedded store" if self.store is not None else "joined"
        return f"Lab({kind}, spark {'on' if self._spark is not None else 'off'})"


def _advice(store: StoreProcess) -> str:
    """Return what to do when a lab's store does not answer, "" while its process runs."""
    if store.alive:
        return ""
    kept = "with its data" if store.is_kept else "empty, because its data was in memory"
    return f"The process of this lab's store has ended: lab.store.restart() starts it again, {kept}."


def _scoped(name: str) -> str:
    if not isinstance(name, str):
        raise BadInputError(f"{name!r} is not the name of a stream; write scope/stream, or stream")
    return name if "/" in name else f"{DEFAULT_SCOPE}/{name}"


def check_registry(registry: bool | str, *, is_joined: bool) -> None:
    """Refuse a registry that does not fit the store. Raises `BadInputError`."""
    if registry is True and is_joined:
        raise BadInputError(
            "Lab(uri=…, registry=True): only an embedded store can start a registry. Give the address of one "
            "that runs: registry='http://host:9092'"
        )
    if isinstance(registry, str) and not is_joined:
        raise BadInputError(
            f"Lab(registry='{registry}'): write registry=True for a registry in the embedded store. An "
            "address goes with uri=…, the address of a cluster"
        )

"""``Lab``: one object that starts or joins a store and hands out streams, Spark and the views.

Each part is made when it is first asked for: a lab without Spark starts no JVM, and one without
views imports no widgets. Leaving the ``with`` block, ``close()`` or the end of the process stops
what the lab itself started, and nothing else.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from pravega_lab import lab_place
from pravega_lab.client import AccessOptions, Client, RetentionPolicy, ScalingPolicy, Stream, Table, connect
from pravega_lab.client.access import Access, safe_to_print
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.errors import BadInputError
from pravega_lab.progress import Progress, write_in_slices
from pravega_lab.runs import Runs
from pravega_lab.store_process import StoreProcess

if TYPE_CHECKING:
    from pravega_lab.connector.spark.savepoint import Savepoint
    from pravega_lab.fork import Fork
    from pravega_lab.observe.journal import Journal
    from pravega_lab.observe.ledger import Ledger
    from pravega_lab.observe.numbered import Parse
    from pravega_lab.running import RunningReader, RunningWriter
    from pravega_lab.widgets.controls import Controls

DEFAULT_SCOPE = "lab"


class Lab:
    """A store, a client, Spark and views that belong together.

    Args:
        data: Folder that keeps the embedded store; without it (and without ``uri``) the store is thrown away.
        uri: Join this Pravega (``tcp://host:9090``, or ``tls://``) and start none.
        scaling_clock: Divides every time constant of auto-scaling of the embedded store, so that a lesson
            need not wait ten minutes (pravega.md A6). Not for a store that the lab joins.
        fast_workers: Let local Spark fork its Python workers from a daemon that has imported everything
            (shorter batches; see docs/spark.md).
        name: In a notebook a lab takes the place of the kernel's one of the same name, which it closes, and
            says so; give names to have several.
        access: How to get into the store at ``uri``: ``ca_file``, ``credentials``, …; see `AccessOptions`.

    Raises:
        BadInputError: ``data`` and ``uri`` together, or a scaling clock for a store that is joined.
        StoreUnavailableError: The embedded store does not start, or nothing answers at ``uri``.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        uri: str | None = None,
        scaling_clock: int | None = None,
        fast_workers: bool = True,
        name: str = "",
        **access: Unpack[AccessOptions],
    ) -> None:
        if uri is not None and data is not None:
            raise BadInputError(
                "Lab(data, uri=…): give a folder for an embedded store or the uri of a running one"
            )
        if uri is not None and scaling_clock is not None:
            raise BadInputError("Lab(uri=…, scaling_clock=…): only an embedded store has a scaling clock")
        Access.of(access)  # complains about what is misspelt before anything is started
        if access and uri is None:
            raise BadInputError(f"Lab({', '.join(access)}): goes with uri=…, the address of a cluster")
        self.title = f"Lab {name}".strip()
        self.is_closed = False
        if replaced := lab_place.take(name):
            print(replaced)
        self.store = None if uri is not None else StoreProcess(data, scaling_clock=scaling_clock or 1)
        self.uri = uri if uri is not None else (self.store.uri if self.store else "")
        self._access = safe_to_print(access)
        self._fast_workers = fast_workers
        self._client: Client | None = None
        self._spark: Any = None
        self._observers: dict[Any, Any] = {}
        self._drivers: list[Any] = []
        self._runs = Runs(self)
        self._forks: list[Fork] = []
        self._journal: Journal | None = None  # of ledgers that belong to nothing observed
        atexit.register(self.close)
        lab_place.keep(name, self)

    @property
    def client(self) -> Client:
        """The client of this lab's store."""
        if self._client is None:
            self._client = connect(self.uri, **self._access)
        return self._client

    def create_stream(
        self,
        name: str,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Sequence[str] = (),
    ) -> Stream:
        """Create ``scope/stream`` (the scope too) and return it; a name without scope goes into ``lab``."""
        return self.client.create_stream(
            _scoped(name),
            scaling=scaling or ScalingPolicy.fixed(1),
            retention=retention or RetentionPolicy.none(),
            tags=tags,
        )

    def stream(self, name: str) -> Stream:
        """The stream ``scope/stream``; asks nothing of the store."""
        return self.client.stream(_scoped(name))

    def write(self, stream: Stream, events: Any, keys: Any = None) -> int:
        """``stream.write`` for very many events: in slices, with a progress bar. Returns how many."""
        return write_in_slices(stream, events, keys)

    def table(self, name: str) -> Table:
        """The table segment ``scope/name``."""
        return self.client.table(_scoped(name))

    @property
    def spark(self) -> Any:
        """The Spark session of this process, made on first use (reference: spark.md 12)."""
        if self._spark is None:
            from pravega_lab.connector.spark.session import create_session

            with Progress("starting Spark"):
                self._spark = create_session(
                    fast_workers=self._fast_workers, environment=self._access_environment()
                )
        return self._spark

    def submit(self, script: str | Path, *args: str, **options: Any) -> Any:
        """Run a Spark driver script in a process of its own, which can be killed and restarted.

        The controller's address is in its environment as ``PRAVEGA_URI``. Returns a handle with
        ``kill()``, ``restart()``, ``wait()`` and a progress file that an observer follows.
        """
        from pravega_lab.connector.spark.driver import submit

        options["env"] = {"PRAVEGA_URI": self.uri, **self._access_environment(), **options.get("env", {})}
        driver = submit(script, *args, **options)
        self._drivers.append(driver)
        return driver

    def stop_with_savepoint(
        self, query: Any, folder: str | Path, drain: bool = False, *, timeout_s: float = 120.0
    ) -> Savepoint:
        """Stop a streaming query between two batches and copy its checkpoint into ``folder``.

        A query that begins with the copy goes on where this one stopped, also into the same stream: its sink
        has an id of its own. See `pravega_lab.connector.spark.savepoint.stop_with_savepoint` for arguments
        and errors.
        """
        from pravega_lab.connector.spark.savepoint import stop_with_savepoint

        return stop_with_savepoint(query, folder, drain, timeout_s=timeout_s)

    def observe(self, thing: Any, **options: Any) -> Any:
        """The observer of a stream, a reader group, a streaming query or a submitted driver.

        Its journal fills from now on.

        Asked again for the same thing, it gives the same observer, with all that it has seen.
        """
        from pravega_lab.observe import observe

        key = (type(thing), thing.scoped_name) if isinstance(thing, Stream | ReaderGroup) else thing
        if key not in self._observers:
            self._observers[key] = observe(self.uri, **_observed(thing), **{**self._access, **options})
        return self._observers[key]

    def show(self, *things: Any, scale: float = 1.0) -> Any:
        """The views that fit the streams, reader groups, queries and drivers given, on one clock."""
        from pravega_lab.widgets import show

        return show(*(thing if _has_a_view(thing) else self.observe(thing) for thing in things), scale=scale)

    # What the lab runs itself.

    @property
    def writers(self) -> dict[str, RunningWriter]:
        """Writers that `writer` started, by name."""
        return self._runs.writers

    @property
    def readers(self) -> dict[str, RunningReader]:
        """Readers that `reader` started, by name, those that ended too."""
        return self._runs.readers

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
        """Start a writer of numbered events in a thread; ``.rate = 500`` changes it, ``.close()`` ends it.

        Args:
            name: By default ``w1``, ``w2``, …
            rate: Events a second; 0 rests.
            keys: So many routing keys of its own, or their names.
            event_bytes: Bytes of an event, at least.
            ledger: Told of every event before it is written, and when it is durable.

        Raises:
            BadInputError: The name is taken, or the rate is none.
        """
        options = {"rate": rate, "keys": keys, "event_bytes": event_bytes, "ledger": ledger}
        return self._runs.writer(stream, name, **options)

    def reader(
        self,
        group: ReaderGroup,
        name: str | None = None,
        *,
        rate: float | None = None,
        ledger: Ledger | None = None,
        parse: Parse | None = None,
    ) -> RunningReader:
        """Start a reader of a group in a thread; ``.kill()`` lets it die without a word to its group.

        Args:
            name: By default ``r1``, ``r2``, …
            rate: Events a second at most; by default as fast as they come.
            ledger: Told of every event that was read.
            parse: How events tell their ids, where they are not those of `writer`; see `Ledger.count`.

        Raises:
            BadInputError: The name is taken by a reader that lives.
            ReaderExistsError: The group has a reader of this name.
        """
        options: dict[str, Any] = {"rate": rate, "ledger": ledger} | ({"parse": parse} if parse else {})
        return self._runs.reader(group, name, **options)

    def ledger(self, thing: Any = None, name: str = "ledger") -> Ledger:
        """The `Ledger` that counts beside what is observed of ``thing``; without one, by itself.

        Asked again for the same thing and name, it gives the same ledger.
        """
        from pravega_lab.observe.journal import Journal

        if thing is None:
            return self._runs.ledger(self._own_journal(Journal), name)
        watched = thing if isinstance(getattr(thing, "journal", thing), Journal) else self.observe(thing)
        return self._runs.ledger(getattr(watched, "journal", watched), name)

    def fork(self, source: Any, *, at_s: float | None = None, **options: Any) -> Fork:
        """Copy streams, as they are from the last checkpoint before a moment on, into a fresh lab.

        See `pravega_lab.fork.fork` for arguments and errors. The fork is closed with this lab.
        """
        from pravega_lab.fork import fork

        made = fork(self.client, source, at_s=at_s, **options)
        self._forks.append(made)
        return made

    def controls(self, board: Any = None, *, allow_joined: bool = False) -> Controls:
        """Buttons that act on this lab, each with the call that it makes; a pin on ``board`` chooses.

        Args:
            board: What `show` made.
            allow_joined: Let them scale and checkpoint what is in a store that this lab only joined.
        """
        from pravega_lab.acts import controls

        return controls(self, board, allow_joined=allow_joined)

    def _own_journal(self, make: Callable[[str], Journal]) -> Journal:
        if self._journal is None:
            self._journal = make(self.uri)
        return self._journal

    def close(self) -> None:
        """Stop what this lab started. Calling it twice is harmless."""
        self.is_closed = True
        atexit.unregister(self.close)
        self._runs.close()
        for part in (*self._forks, *self._observers.values(), *self._drivers):
            part.close()
        self._forks = []
        self._observers, self._drivers = {}, []
        if self._spark is not None:
            self._spark.stop()
            self._spark = None
        if self._client is not None:
            self._client.close()
            self._client = None
        if self.store is not None:
            self.store.stop()

    def _access_environment(self) -> dict[str, str]:
        """For processes that this lab starts: the credentials are in their environment and nowhere else."""
        return Access.of(self._access).to_environment() if self._access else {}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Its parts and how they are: live in JupyterLab, else as of now."""
        from pravega_lab.lab_panel import bundle

        return bundle(self, **kwargs)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = "embedded store" if self.store is not None else "joined"
        return f"Lab({kind}, spark {'on' if self._spark is not None else 'off'})"


def _scoped(name: str) -> str:
    return name if "/" in name else f"{DEFAULT_SCOPE}/{name}"


def _has_a_view(thing: Any) -> bool:
    """Views, boards, journals and what has a journal can be shown as they are."""
    from pravega_lab.observe.journal import Journal

    return isinstance(getattr(thing, "journal", thing), Journal) or hasattr(thing, "views")


def _observed(thing: Any) -> dict[str, Any]:
    """A stream goes to ``stream=``, a group to ``group=``, the rest (query, driver, folder) to ``query=``."""
    if isinstance(thing, ReaderGroup):
        return {"group": thing.scoped_name}
    return {"stream": thing.scoped_name} if isinstance(thing, Stream) else {"query": thing}

"""``Lab``: one object that starts or joins a store and hands out streams, Spark and the views.

Each part is made when it is first asked for: a lab without Spark starts no JVM, and one without
views imports no widgets. Leaving the ``with`` block, ``close()`` or the end of the process stops
what the lab itself started, and nothing else.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from pravega_lab import lab_place
from pravega_lab.client import AccessOptions, Client, RetentionPolicy, ScalingPolicy, Stream, Table, connect
from pravega_lab.client.access import Access, safe_to_print
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.errors import BadInputError
from pravega_lab.progress import Progress, write_in_slices
from pravega_lab.store_process import StoreProcess

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

        return show(*(self.observe(thing) for thing in things), scale=scale)

    def close(self) -> None:
        """Stop what this lab started. Calling it twice is harmless."""
        self.is_closed = True
        atexit.unregister(self.close)
        for part in (*self._observers.values(), *self._drivers):
            part.close()
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


def _observed(thing: Any) -> dict[str, Any]:
    """A stream goes to ``stream=``, a group to ``group=``, the rest (query, driver, folder) to ``query=``."""
    if isinstance(thing, ReaderGroup):
        return {"group": thing.scoped_name}
    return {"stream": thing.scoped_name} if isinstance(thing, Stream) else {"query": thing}

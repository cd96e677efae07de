"""`parts`: the state of each part of a `Lab`, for its panel. Nothing here changes anything.

Every question is answered within seconds, also when a part is dead: the store is asked only after its port
has accepted a connection.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol
from urllib.parse import urlsplit

from pravega_lab.client import Client
from pravega_lab.connector.spark.session.connect import endpoint, is_connect, refusal
from pravega_lab.connector.spark.session.registration import has_stopped
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import PravegaError
from pravega_lab.portable.words import plural

KNOCK_S = 1.0
ROWS_MAX = 12  # of streams, and of groups, that are asked; the others are only counted


class Examined(Protocol):
    """What the panel needs of a lab."""

    title: str
    is_closed: bool
    uri: str
    store: StoreProcess | None
    observers: dict[Any, Any]
    drivers: list[Any]

    @property
    def client(self) -> Client: ...

    @property
    def started_spark(self) -> Any: ...


class Health(Enum):
    """The state of a part. The value is its mark, which differs from the others without colour too."""

    WELL = "●"
    RESTING = "○"
    ILL = "✕"


@dataclass(frozen=True)
class Part:
    """A line of the panel. ``remedy`` is the next step if the part is ill."""

    name: str
    health: Health
    words: str
    remedy: str = ""


def parts(lab: Examined) -> list[Part]:
    """Return the lab's store, Spark, drivers, streams, reader groups and observers, in this order."""
    if lab.is_closed:
        return [Part("lab", Health.RESTING, "closed", "Lab() starts another")]
    store = _store(lab)
    found = [store, _spark(lab.started_spark), *_drivers(lab.drivers)]
    if store.health is Health.WELL:
        try:
            found += [*_streams(lab), *_groups(lab)]
        except PravegaError as error:
            found.append(Part("streams", Health.ILL, str(error)))
    return [*found, *_observers(lab.observers.values())]


def _store(lab: Examined) -> Part:
    if lab.store is not None:
        kind = "embedded, " + ("kept in a folder" if lab.store.is_kept else "thrown away at the end")
        if not lab.store.alive:
            next_step = "lab.store.start() brings it back" + ("" if lab.store.is_kept else ", empty")
            return Part("store", Health.ILL, f"{kind}: its process has ended", next_step)
    else:
        kind = "joined"
    address = urlsplit(lab.uri if "://" in lab.uri else f"tcp://{lab.uri}")
    try:
        socket.create_connection((address.hostname or "", address.port or 0), timeout=KNOCK_S).close()
    except OSError as error:
        said = error.strerror or str(error) or type(error).__name__
        return Part(
            "store", Health.ILL, f"{kind}, {lab.uri}: no answer ({said})", "check that it runs and is reached"
        )
    return Part("store", Health.WELL, f"{kind}, {lab.uri}")


def _spark(spark: Any) -> Part:
    if spark is None:
        return Part("Spark", Health.RESTING, "not started; lab.spark starts it")
    if has_stopped(spark):
        return Part("Spark", Health.ILL, "stopped", "lab.spark starts another session")
    if is_connect(spark):
        return _spark_connect(spark)
    try:
        if spark.sparkContext._jsc.sc().isStopped():
            return Part("Spark", Health.ILL, "stopped", "lab.close() and Lab() make another session")
        active = len(spark.streams.active)
    except Exception as error:  # py4j raises errors of many kinds if the JVM is gone
        return Part(
            "Spark", Health.ILL, f"its JVM does not answer ({type(error).__name__})", "restart the kernel"
        )
    return Part(
        "Spark",
        Health.WELL,
        f"{spark.version}, {spark.sparkContext.master}, {plural(active, 'query', 'queries')}",
    )


def _spark_connect(spark: Any) -> Part:
    """Return the state of a session of Spark Connect. Its client would retry for ten minutes: knock first."""
    name, again = f"Connect, {endpoint(spark)}", "lab.close() and Lab() make another session"
    if said := refusal(spark, KNOCK_S):
        return Part("Spark", Health.ILL, f"{name}: no answer ({said})", f"start the server, then {again}")
    try:
        active = len(spark.streams.active)
        words = f"{spark.version}, {name}, {plural(active, 'query', 'queries')}"
    except Exception as error:  # the server was started again and does not know the session
        return Part("Spark", Health.ILL, f"{name}: lost the session ({type(error).__name__})", again)
    return Part("Spark", Health.WELL, words)


def _drivers(drivers: Sequence[Any]) -> Iterator[Part]:
    if drivers:
        alive = sum(driver.alive for driver in drivers)
        health = Health.WELL if alive else Health.RESTING
        yield Part("drivers", health, f"{alive} of {len(drivers)} running")


def _streams(lab: Examined) -> Iterator[Part]:
    client = lab.client
    names = [
        f"{scope}/{name}"
        for scope in client.list_scopes()
        if not scope.startswith("_")
        for name in client.list_streams(scope)
    ]
    if not names:
        yield Part("streams", Health.RESTING, 'none yet; lab.create_stream("demo/flights") makes one')
        return
    said = []
    for name in names[:ROWS_MAX]:
        n = len(client.stream(name).segments())
        said.append(f"{name} ({plural(n, 'segment') if n else 'sealed'})")
    yield Part("streams", Health.WELL, _listed(said, len(names)))


def _groups(lab: Examined) -> Iterator[Part]:
    client = lab.client
    scopes = [scope for scope in client.list_scopes() if not scope.startswith("_")]
    names = [f"{scope}/{name}" for scope in scopes for name in client.list_reader_groups(scope)]
    if not names:
        yield Part("reader groups", Health.RESTING, "none")
        return
    said = []
    for name in names[:ROWS_MAX]:
        with client.reader_group(name) as group:
            said.append(f"{name} ({plural(len(group.online_readers()), 'reader')} online)")
    yield Part("reader groups", Health.WELL, _listed(said, len(names)))


def _observers(watches: Iterable[Any]) -> Iterator[Part]:
    watches = list(watches)
    if not watches:
        yield Part("observers", Health.RESTING, "none; lab.show(stream) opens a view")
        return
    trouble = [one.message for watch in watches for one in list(watch.journal.troubles.values())[-1:]]
    seen = sum(watch.journal.next_seq for watch in watches)
    words = f"{plural(len(watches), 'observer')}, {seen:,} observations"
    health = Health.ILL if trouble else Health.WELL
    yield Part("observers", health, "; ".join([words, *trouble]))


def _listed(said: list[str], total: int) -> str:
    more = total - len(said)
    return ", ".join(said) + (f" and {more} more" if more else "")

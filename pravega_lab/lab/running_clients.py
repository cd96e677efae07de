"""Writers and readers that a lab runs in threads, so that a user can watch, slow down, cut and kill them.

They report to a `Ledger` what they do. A killed reader stops like a crashed program: its group is not
notified, so it has to be declared offline, and events since the last checkpoint are delivered again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from pravega_lab.client import Stream
from pravega_lab.client.reader_group import ReaderGroup, ReinitializationRequiredError
from pravega_lab.errors import BadInputError
from pravega_lab.lab.proxied_client import ProxiedClient
from pravega_lab.observe.ledger.numbered import Parse, make, numbered

if TYPE_CHECKING:
    from pravega_lab.observe.ledger.ledger import Ledger

TICK_S = 0.05
TICK_EVENTS_MAX = 20_000
READ_BYTES = 256 * 1024
READ_S, EVENT_BYTES_ABOUT = 0.2, 100  # a slow reader reads little at a time, to update its group often
JOIN_S = 30.0
Acted = Callable[..., None]  # `Workloads.acted`


class Running:
    """A writer or a reader: a thread, connections that can be cut, and the ``errors`` that ended it.

    Its connections end with its thread, as those of a program do.
    """

    what = "part"

    def __init__(self, name: str, target: str, proxied: ProxiedClient, acted: Acted) -> None:
        self.name, self.target = name, target
        self.events = 0
        self.errors: list[BaseException] = []
        self._proxied, self._acted = proxied, acted
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name=f"{self.what} {name}", daemon=True)

    @property
    def alive(self) -> bool:
        """Return whether its thread runs."""
        return self._thread.is_alive()

    @property
    def connections(self) -> int:
        """Return the number of its open connections."""
        return self._proxied.connections

    def cut(self, for_s: float = 0.0) -> int:
        """Break its connections and return how many were broken. It connects again by itself.

        Args:
            for_s: Refuse new connections for so many seconds.
        """
        call = f"{self.name}.cut({for_s:g})" if for_s else f"{self.name}.cut()"
        self._acted(
            f"connections of {self.what} {self.name} cut", call=call, target=self.target, is_fault=True
        )
        return self._proxied.cut(for_s)

    def close(self) -> None:
        """Stop the thread in order and close the connections. May be called twice."""
        self._stopping.set()
        try:
            if self._thread is not threading.current_thread():
                self._thread.join(JOIN_S)
        finally:  # also when the wait is interrupted, or the thread does not end
            self._proxied.close()

    def _guarded(self) -> None:
        for step in (self._run, self._proxied.close):
            try:
                step()
            except Exception as error:  # no caller could catch it in this thread
                self.errors.append(error)

    def _run(self) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        state = "at work" if self.alive else "failed" if self.errors else "ended"
        return f"{type(self).__name__}({self.name!r} of {self.target}, {self.events:,} events, {state})"


class RunningWriter(Running):
    """A writer of numbered events (``NUMBER|KEY|SEQUENCE|…``), at a rate that can be changed while it runs.

    Args:
        stream: The stream that it writes to.
        rate: Events per second; 0 pauses it.
        keys: The number of routing keys of this writer, or their names.
        event_bytes: The smallest size of an event, in bytes.
        ledger: Receives every event before it is written, and again when it is durable.
        first: The number of the first event.
    """

    what = "writer"

    def __init__(
        self,
        stream: Stream,
        name: str,
        proxied: ProxiedClient,
        acted: Acted,
        *,
        rate: float = 100.0,
        keys: int | Sequence[str] = 16,
        event_bytes: int = 100,
        ledger: Ledger | None = None,
        first: int = 0,
    ) -> None:
        super().__init__(name, stream.scoped_name, proxied, acted)
        self._stream = proxied.client.stream(stream.scoped_name)
        self.keys = [f"{name}-{k}" for k in range(keys)] if isinstance(keys, int) else list(keys)
        if not self.keys:
            raise BadInputError(f"writer {name}: give at least one routing key")
        self._bytes, self._ledger, self._first = event_bytes, ledger, first
        self._rate = _checked(rate)
        self._thread.start()

    @property
    def rate(self) -> float:
        """Return the events per second."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        rate = _checked(rate)
        self._acted(
            f"rate of writer {self.name}: {self._rate:g} → {rate:g} events/s",
            call=f"{self.name}.rate = {rate:g}",
            target=self.target,
        )
        self._rate = rate

    def _run(self) -> None:
        credit, last = 0.0, time.monotonic()
        with self._stream.writer() as writer:
            while not self._stopping.wait(TICK_S):
                now = time.monotonic()
                credit += self._rate * (now - last)
                credit = min(credit, max(1.0, self._rate))  # no burst after a pause
                last = now
                n = min(int(credit), TICK_EVENTS_MAX)
                if n:
                    credit -= n
                    self._write(writer, n)

    def _write(self, writer: Any, n: int) -> None:
        at = range(self.events, self.events + n)
        numbers = [self._first + i for i in at]
        keys = [self.keys[i % len(self.keys)] for i in at]
        events = make(numbers, keys, [i // len(self.keys) for i in at], self._bytes)
        if self._ledger is not None:
            self._ledger.written(numbers, keys, where=f"writer {self.name}")
        self.events += n
        writer.write(events, keys)
        writer.flush()
        if self._ledger is not None:
            self._ledger.acknowledged(numbers)


class RunningReader(Running):
    """A reader of a group, in a thread. It reports what it reads to a ledger and keeps nothing.

    Args:
        group: The group that it joins.
        rate: The most events per second; None: as many as there are.
        ledger: Receives every event that was read.
        parse: Finds the ids of events; see `Ledger.count`.
    """

    what = "reader"

    def __init__(
        self,
        group: ReaderGroup,
        name: str,
        proxied: ProxiedClient,
        acted: Acted,
        *,
        rate: float | None = None,
        ledger: Ledger | None = None,
        parse: Parse = numbered,
    ) -> None:
        super().__init__(name, group.scoped_name, proxied, acted)
        self.group = group
        self.rate = None if rate is None else _checked(rate)
        self._ledger, self._parse = ledger, parse
        self._dying = threading.Event()
        self.was_killed = self.was_declared_offline = False
        self._reader = proxied.client.reader_group(group.scoped_name).create_reader(name)
        self._thread.start()

    def kill(self) -> None:
        """Stop between two reads without notifying the group, and wait for that; see `declare_offline`.

        Does nothing if the reader has ended.
        """
        if not self.alive:
            return
        self._acted(
            f"reader {self.name} killed", call=f"{self.name}.kill()", target=self.target, is_fault=True
        )
        self.was_killed = True
        self._dying.set()
        self._thread.join(JOIN_S)

    def declare_offline(self) -> bool:
        """Declare the dead reader offline, so that other readers acquire its segments.

        Returns:
            False if the group had no such reader online any more.

        Raises:
            BadInputError: The reader runs.
        """
        if self.alive:
            raise BadInputError(f"reader {self.name} is at work: kill() or close() it first")
        self._acted(
            f"reader {self.name} declared offline",
            call=f"{self.name}.declare_offline()",
            target=self.target,
            reader=self.name,
            was_killed=self.was_killed,
        )
        found = self.group.reader_offline(self.name)
        self.was_declared_offline = True
        return found

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                if self._dying.is_set():
                    return
                self._read_once()
        except ReinitializationRequiredError:
            return  # the group was reset, or this reader was declared offline
        finally:
            if self._dying.is_set():
                self._reader.abandon()
            else:
                with contextlib.suppress(ReinitializationRequiredError):
                    self._reader.close()

    def _read_once(self) -> None:
        few = READ_BYTES if self.rate is None else max(1, int(self.rate * READ_S * EVENT_BYTES_ABOUT))
        found = self._reader.read_batch(0.1, max_bytes=min(few, READ_BYTES))
        if found.batch is None:
            return
        if self._ledger is not None:
            ids, _ = self._parse(found.batch.column("event"))
            self._ledger.read(
                ids,
                where=self.name,
                segments=found.batch.column("segment_id"),
                offsets=found.batch.column("offset"),
            )
        self.events += found.batch.num_rows
        if self.rate is not None:
            self._rest(found.batch.num_rows / max(self.rate, 0.1))

    def _rest(self, for_s: float) -> None:
        until = time.monotonic() + for_s
        while time.monotonic() < until and not (self._dying.is_set() or self._stopping.is_set()):
            time.sleep(min(0.05, for_s))


def _checked(rate: float) -> float:
    if not isinstance(rate, Real) or not 0 <= rate <= 10_000_000:
        raise BadInputError(f"a rate of {rate!r} events/s: give a number from 0")
    return float(rate)

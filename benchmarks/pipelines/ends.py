"""The two ends of a pipeline, of the lab and of Kafka: how one program writes events and another reads them.

Kafka's client runs with its own defaults. ``kafka`` writes idempotently, which is what the lab always
does. The other two kinds of Kafka writers change one setting each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Protocol

from pravega_lab.client import HEAD, ScalingPolicy, connect

LAB, KAFKA, KAFKA_PLAIN, KAFKA_AT_ONCE = "lab", "kafka", "kafka-plain", "kafka-at-once"
WRITER_SETTINGS: dict[str, dict[str, Any]] = {
    KAFKA: {"enable.idempotence": True},
    KAFKA_PLAIN: {},
    KAFKA_AT_ONCE: {"enable.idempotence": True, "linger.ms": 0},
}
POLL_EVERY = 1_000  # writes between two calls that let Kafka's client report deliveries
WAIT_S = 60.0


class Writer(Protocol):
    """Writes events without waiting for each."""

    def write(self, event: bytes, key: str, /) -> object:
        """Take one event."""

    def flush(self) -> None:
        """Wait until all events are acknowledged."""


class Ends(Protocol):
    """One system at one address."""

    def create(self, name: str, segments: int) -> None:
        """Create a stream or a topic."""

    def writing(self, name: str) -> Any:
        """Return a context manager of a `Writer`."""

    def reading(self, name: str) -> Any:
        """Return a context manager of an iterator over lists of events, from the head on, without an end."""

    def single_events(self, name: str, n_events: int) -> Iterator[bytes]:
        """Read the first events of a stream or topic one by one."""


def ends_of(kind: str, address: str) -> Ends:
    """Return the ends of a kind of system."""
    return LabEnds(address) if kind == LAB else KafkaEnds(address, WRITER_SETTINGS[kind])


class LabEnds:
    """A store of the lab, through the synchronous client."""

    def __init__(self, address: str) -> None:
        self._uri = address

    def create(self, name: str, segments: int) -> None:
        with connect(self._uri) as client:
            client.create_stream(f"bench/{name}", scaling=ScalingPolicy.fixed(segments))

    @contextmanager
    def writing(self, name: str) -> Iterator[Writer]:
        with connect(self._uri) as client, client.stream(f"bench/{name}").writer() as writer:
            yield writer

    @contextmanager
    def reading(self, name: str) -> Iterator[Iterator[list[bytes]]]:
        with connect(self._uri) as client, client.stream(f"bench/{name}").follow(HEAD) as batches:
            yield _payloads(batches)

    def single_events(self, name: str, n_events: int) -> Iterator[bytes]:
        with connect(self._uri) as client, client.stream(f"bench/{name}").read() as batches:
            yield from batches.events()


def _payloads(batches: Any) -> Iterator[list[bytes]]:
    while found := batches.next_batches():
        for batch in found:
            yield batch.column(0).to_pylist()


class KafkaEnds:
    """A Kafka broker, through confluent-kafka."""

    def __init__(self, address: str, writer_settings: dict[str, Any]) -> None:
        self._servers = {"bootstrap.servers": address}
        self._writer_settings = writer_settings

    def create(self, name: str, segments: int) -> None:
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient(self._servers)
        admin.create_topics([NewTopic(name, segments, 1)])[name].result(WAIT_S)

    @contextmanager
    def writing(self, name: str) -> Iterator[Writer]:
        yield KafkaWriter({**self._servers, **self._writer_settings}, name)

    @contextmanager
    def reading(self, name: str) -> Iterator[Iterator[list[bytes]]]:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        consumer = Consumer({**self._servers, "group.id": "bench", "enable.auto.commit": False})
        try:
            found = consumer.list_topics(name, WAIT_S).topics[name].partitions
            consumer.assign([TopicPartition(name, number, OFFSET_BEGINNING) for number in found])
            yield _values(consumer)
        finally:
            consumer.close()

    def single_events(self, name: str, n_events: int) -> Iterator[bytes]:
        with self.reading(name) as pieces:
            yield from islice(chain.from_iterable(pieces), n_events)


def _values(consumer: Any) -> Iterator[list[bytes]]:
    # `consume` waits until it has as many messages as it may return, so it returns the rest without waiting.
    while True:
        first = consumer.poll(WAIT_S)
        if first is None:
            return
        yield [message.value() for message in (first, *consumer.consume(POLL_EVERY, 0.0))]


class KafkaWriter:
    """Kafka's producer, waiting for room in its queue where it is full."""

    def __init__(self, settings: dict[str, Any], topic: str) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(settings)
        self._topic = topic
        self._n_writes = 0

    def write(self, event: bytes, key: str) -> None:
        """Queue one event."""
        producer = self._producer
        while True:
            try:
                producer.produce(self._topic, event, key)
                break
            except BufferError:
                producer.poll(0.001)
        self._n_writes += 1
        if self._n_writes % POLL_EVERY == 0:
            producer.poll(0)

    def flush(self) -> None:
        """Wait until all events are acknowledged."""
        left = self._producer.flush(WAIT_S)
        if left:
            raise RuntimeError(f"Kafka's client could not deliver {left} events within {WAIT_S:g} s")

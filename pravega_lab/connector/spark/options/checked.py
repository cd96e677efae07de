"""The checked options of a source or a sink, and the address of a store.

Both are values that Spark can pickle. Neither contains a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.rows.formats import FORMAT_OPTIONS
from pravega_lab.connector.rows.registry.registry_rows import REGISTRY
from pravega_lab.connector.rows.typed_rows import FAIL
from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    from pravega_lab.client.connection.access import AccessOptions

DEFAULT_CONTROLLER = "tcp://localhost:9090"
EARLIEST, LATEST, UNBOUNDED = "earliest", "latest", "unbounded"
METADATA_TABLES = ("StreamInfo", "Streams")
#: Pravega accepts leases of 10 s to 10 min (pravega.md A10).
LEASE_MS_MIN, LEASE_MS_MAX = 10_000, 600_000


@dataclass(frozen=True)
class Cluster:
    """Where a store is and how to connect to it, without secrets. Picklable and hashable.

    Connections are cached under this value. ``None`` means that the environment of the connecting process
    decides (see `client.connection.access`).
    """

    controller: str = DEFAULT_CONTROLLER
    ca_file: str | None = None
    credentials_file: str | None = None
    validate_host_name: bool | None = None
    rewrite: tuple[tuple[str, str], ...] | None = None
    plain_credentials: bool | None = None

    def access(self) -> AccessOptions:
        """Return the keyword arguments of ``connect`` that describe access."""
        return {
            "ca_file": self.ca_file,
            "credentials_file": self.credentials_file,
            "validate_host_name": self.validate_host_name,
            "rewrite": None if self.rewrite is None else dict(self.rewrite),
            "plain_credentials": self.plain_credentials,
        }


@dataclass(frozen=True)
class PravegaOptions:
    """The checked options of one source or sink; picklable.

    ``streams`` are names without scope, or ``scope/stream``. ``None`` means that the option was not given.
    Sizes are in bytes, times in milliseconds. ``streams_key`` is the option that named the streams,
    ``in_catalog`` whether they are those of a table of the catalog ``pravega``, ``table_segments`` the ids of
    the first segments of its stream if the store describes it, and ``stored`` whether they are those of a
    table of Spark's session catalog. ``checkpoint`` is the ``checkpointLocation`` of a streaming query.
    """

    scope: str
    streams: tuple[str, ...] = ()
    controller: str = DEFAULT_CONTROLLER
    ca_file: str | None = None
    credentials_file: str | None = None
    validate_host_name: bool | None = None
    rewrite: tuple[tuple[str, str], ...] | None = None
    plain_credentials: bool | None = None
    start_stream_cut: str | None = None
    end_stream_cut: str | None = None
    approx_bytes_per_trigger: int | None = None
    prefetch_bytes: int = 1024 * 1024
    fail_on_data_loss: bool = True
    ordered: bool = True
    metadata: str | None = None
    format: str | None = None
    corrupt_rows: str = FAIL
    field_columns: tuple[str, ...] = ()
    avro_schema: str | None = None
    avro_reader_schema: str | None = None
    registry_uri: str | None = None
    registry_namespace: str | None = None
    registry_group: str | None = None
    registry_format: str | None = None
    registry_codec: str | None = None
    registry_register: bool | None = None
    protobuf_descriptor: bytes | None = None
    protobuf_message: str | None = None
    allow_create_scope: bool | None = None
    allow_create_stream: bool | None = None
    default_num_segments: int | None = None
    default_scale_factor: int | None = None
    default_segment_target_rate_bytes_per_sec: int | None = None
    default_segment_target_rate_events_per_sec: int | None = None
    default_retention_duration_milliseconds: int | None = None
    default_retention_size_bytes: int | None = None
    exactly_once: bool = True
    read_after_write_consistency: bool = True
    transaction_timeout_ms: int = LEASE_MS_MAX
    transaction_status_poll_interval_ms: int = 50
    sink_id: str | None = None
    sink_stream: str | None = None
    routing_key_column: str | None = None
    routing_key: str | None = None
    primary_key: tuple[str, ...] = ()
    execution_type: str | None = None
    streams_key: str = "stream"
    in_catalog: bool = False
    table_segments: tuple[int, ...] = ()
    columns: str | None = None
    stored: bool = False
    checkpoint: str = ""

    @property
    def cluster(self) -> Cluster:
        """The options that say where the store is and how to connect to it."""
        return Cluster(
            *(self.controller, self.ca_file, self.credentials_file),
            *(self.validate_host_name, self.rewrite, self.plain_credentials),
        )

    @property
    def format_options(self) -> dict[str, Any]:
        """The given options of the format, by the names of `rows.formats.FORMAT_OPTIONS`."""
        names = FORMAT_OPTIONS.get(self.format or "", ())
        found = {name: getattr(self, name) for name in names if getattr(self, name, None) is not None}
        return found if self.format != REGISTRY else {**self._registry_defaults(), **found}

    def _registry_defaults(self) -> dict[str, Any]:
        """The group of the one stream that is named, in the namespace of its scope; and the access."""
        access = {name: value for name, value in self.cluster.access().items() if name != "rewrite"}
        found: dict[str, Any] = {"registry_access": access, "registry_namespace": self.scope}
        streams = (self.sink_stream,) if self.sink_stream else self.streams
        if len(streams) == 1:
            scope, _, found["registry_group"] = self._scoped(str(streams[0])).partition("/")
            found["registry_namespace"] = scope
        return found

    @property
    def address(self) -> dict[str, str]:
        """The options that a reader of these streams needs at least."""
        return {"controller": self.controller, "scope": self.scope, "stream": ",".join(self.streams)}

    @property
    def scoped_streams(self) -> tuple[str, ...]:
        """``scope/stream`` of each stream to read, in the order of the option.

        Raises:
            BadInputError: Only the stream of a sink is named.
        """
        if self.sink_stream and not self.streams:
            raise BadInputError("'scan.streams' is required but missing. Name the streams to read")
        return tuple(self._scoped(stream) for stream in self.streams)

    @property
    def output(self) -> str:
        """``scope/stream`` of the one stream that a sink writes.

        Raises:
            BadInputError: The option names several streams, or only streams to read.
        """
        if self.sink_stream:
            return self._scoped(self.sink_stream)
        if self.streams_key == "scan.streams":
            raise BadInputError("'sink.stream' is required but missing. Name the stream to write")
        if len(self.streams) != 1:
            raise BadInputError(
                f"option 'stream' names {len(self.streams)} streams ({', '.join(self.streams)}); "
                f"a sink writes exactly one. Write one query for each."
            )
        return self.scoped_streams[0]

    def _scoped(self, stream: str) -> str:
        return stream if "/" in stream else f"{self.scope}/{stream}"

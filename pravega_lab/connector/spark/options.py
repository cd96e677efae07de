"""The options of ``format("pravega")``: their names, types, defaults and error messages.

Names and defaults are those of the official Spark connector; ``ordered`` and ``sink_id`` are additions. One
default differs: the source does not create a missing stream unless an option says so, because a misspelt name
would otherwise read as an empty stream. Spark passes names in lower case and values as text. `parse_options`
runs when ``load()`` or ``start()`` is called, before the first request to a store.

Plans, event logs and the checkpoint of a query contain the options in clear text. Secrets are therefore not
options: ``credentials_file`` names the file that contains them. Without such a file they come from the
environment, as in the official connector.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.rows.formats import check_format
from pravega_lab.connector.spark.tables import NO_OPTIONS, refuse_stored_table, view_statement
from pravega_lab.errors import BadInputError

if TYPE_CHECKING:
    from pravega_lab.client.connection.access import AccessOptions

DEFAULT_CONTROLLER = "tcp://localhost:9090"
EARLIEST, LATEST, UNBOUNDED = "earliest", "latest", "unbounded"
METADATA_TABLES = ("StreamInfo", "Streams")
#: What becomes of an event that is no row of the schema: the query fails, the event is dropped and counted,
#: or its bytes are in column ``_corrupt`` and its fields are null.
FAIL, DROP, KEEP = "fail", "drop", "keep"
#: Pravega accepts leases of 10 s to 10 min (pravega.md A10).
LEASE_MS_MIN, LEASE_MS_MAX = 10_000, 600_000
#: Names that Spark itself adds to the options of a source or sink.
SPARKS_OWN = ("checkpointlocation", "queryname", "outputmode", "triggerinterval", "mode")


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

    ``streams`` are names without scope. ``None`` means that the option was not given. Sizes are in bytes,
    times in milliseconds.
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
    ordered: bool = True
    metadata: str | None = None
    format: str | None = None
    corrupt_rows: str = FAIL
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

    @property
    def cluster(self) -> Cluster:
        """The options that say where the store is and how to connect to it."""
        return Cluster(
            *(self.controller, self.ca_file, self.credentials_file),
            *(self.validate_host_name, self.rewrite, self.plain_credentials),
        )

    @property
    def address(self) -> dict[str, str]:
        """The options that a reader of these streams needs at least."""
        return {"controller": self.controller, "scope": self.scope, "stream": ",".join(self.streams)}

    @property
    def scoped_streams(self) -> tuple[str, ...]:
        """``scope/stream`` of each stream, in the order of the option."""
        return tuple(f"{self.scope}/{stream}" for stream in self.streams)

    @property
    def output(self) -> str:
        """``scope/stream`` of the one stream that a sink writes.

        Raises:
            BadInputError: The option names several streams.
        """
        if len(self.streams) != 1:
            raise BadInputError(
                f"option 'stream' names {len(self.streams)} streams ({', '.join(self.streams)}); "
                f"a sink writes exactly one. Write one query for each."
            )
        return self.scoped_streams[0]


def parse_options(given: Mapping[str, str]) -> PravegaOptions:
    """Return the options that Spark passes, checked and typed.

    Raises:
        BadInputError: An option is unknown (the message suggests the nearest name), a value has the wrong
            type or range, ``scope`` or ``stream`` is missing, two options contradict each other, or the
            options are those of a table in Spark's catalog.
    """
    options = {name.lower(): str(value).strip() for name, value in given.items()}
    refuse_stored_table(options)
    values = {
        _FIELDS.get(name, name): _parse(name, text)
        for name, text in options.items()
        if name not in SPARKS_OWN
    }
    if not values.get("scope"):
        hint = "" if values else f". {NO_OPTIONS}. Use a temporary view: {view_statement({})}"
        raise BadInputError(f"option 'scope' is missing. Add .option('scope', '<scope of the stream>'){hint}")
    if not values.get("streams") and values.get("metadata") != "Streams":
        raise BadInputError(
            "option 'stream' is missing. Add .option('stream', '<name>'); separate several with commas"
        )
    _refuse_contradictions(values)
    return PravegaOptions(**values)


def _parse(name: str, text: str) -> Any:
    if name in _SECRET:
        raise BadInputError(
            f"option '{name}' is not accepted, because plans and logs would show it. Write it to a file on "
            "every machine and name the file with option 'credentials_file', or set "
            "pravega_client_auth_method and its companions in the environment of driver and executors"
        )
    if name not in _PARSERS:
        near = difflib.get_close_matches(name, _PARSERS, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(sorted(_PARSERS))}"
        raise BadInputError(f"option '{name}' is not known to format('pravega'). {hint}")
    return _PARSERS[name](name, text)


def _refuse_contradictions(values: dict[str, Any]) -> None:
    pairs = (
        ("default_segment_target_rate_bytes_per_sec", "default_segment_target_rate_events_per_sec"),
        ("default_retention_duration_milliseconds", "default_retention_size_bytes"),
    )
    for one, other in pairs:
        if one in values and other in values:
            raise BadInputError(f"options '{one}' and '{other}' were both given. Leave one of them out")
    if "corrupt_rows" in values and "format" not in values:
        raise BadInputError(
            "option 'corrupt_rows' was given without 'format'. Events are only parsed if a format is named, "
            "such as .option('format', 'json')"
        )
    if "format" in values and "metadata" in values:
        raise BadInputError("options 'format' and 'metadata' were both given. Leave one of them out")
    if not values.get("read_after_write_consistency", True) and values.get("exactly_once", True):
        raise BadInputError(
            "option 'read_after_write_consistency' is false: an exactly-once sink always waits until its "
            "transactions are committed. Leave the option out, or set exactly_once to false"
        )


def _text(name: str, text: str) -> str:
    if not text:
        raise BadInputError(f"option '{name}' is empty. Give it a value or leave it out")
    return text


def _scope(name: str, text: str) -> str:
    if "/" in text:
        scope, stream = text.split("/", 1)
        raise BadInputError(f"option 'scope' is '{text}'. Write scope='{scope}' and stream='{stream}'")
    return text


def _streams(name: str, text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for stream in names:
        if "/" in stream:
            raise BadInputError(
                f"option 'stream' has '{stream}'. Name it without its scope, which is option 'scope'"
            )
    doubled = [stream for i, stream in enumerate(names) if stream in names[:i]]
    if doubled:
        raise BadInputError(f"option 'stream' names '{doubled[0]}' twice. Name each stream once")
    return names


def _controller(name: str, text: str) -> str:
    if not text.startswith(("tcp://", "tls://")):
        raise BadInputError(f"option 'controller' is '{text}'. Write tcp://host:9090, or tls:// with TLS")
    return text


def _rewrite(name: str, text: str) -> tuple[tuple[str, str], ...]:
    from pravega_lab.client.connection.access import rewrites_from

    return tuple(sorted(rewrites_from(text).items()))


def _cut(name: str, text: str) -> str:
    lower = _text(name, text).lower()
    return lower if lower in (EARLIEST, LATEST, UNBOUNDED) else text


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise BadInputError(f"option '{name}' is '{text}'; it is true or false")
    return text.lower() == "true"


def _metadata(name: str, text: str) -> str:
    for table in METADATA_TABLES:
        if text.lower() == table.lower():
            return table
    raise BadInputError(f"option 'metadata' is '{text}'; it is one of {', '.join(METADATA_TABLES)}")


def _format(name: str, text: str) -> str:
    return check_format(_text(name, text))


def _corrupt_rows(name: str, text: str) -> str:
    if text.lower() not in (FAIL, DROP, KEEP):
        raise BadInputError(f"option '{name}' is '{text}'; it is one of {FAIL}, {DROP}, {KEEP}")
    return text.lower()


def _integer(low: int, high: int = 2**63 - 1) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise BadInputError(f"option '{name}' is '{text}'; it is a whole number") from None
        if not low <= value <= high:
            bounds = f"at least {low}" if high == 2**63 - 1 else f"between {low} and {high}"
            raise BadInputError(f"option '{name}' is {value}; it is {bounds}")
        return value

    return parse


_PARSERS: dict[str, Callable[[str, str], Any]] = {
    "controller": _controller,
    "ca_file": _text,
    "credentials_file": _text,
    "validate_host_name": _boolean,
    "rewrite": _rewrite,
    "plain_credentials": _boolean,
    "scope": _scope,
    "stream": _streams,
    "start_stream_cut": _cut,
    "end_stream_cut": _cut,
    "approx_bytes_per_trigger": _integer(1),
    "ordered": _boolean,
    "metadata": _metadata,
    "format": _format,
    "corrupt_rows": _corrupt_rows,
    "allow_create_scope": _boolean,
    "allow_create_stream": _boolean,
    "default_num_segments": _integer(1),
    "default_scale_factor": _integer(2),
    "default_segment_target_rate_bytes_per_sec": _integer(1024),
    "default_segment_target_rate_events_per_sec": _integer(1),
    "default_retention_duration_milliseconds": _integer(0),
    "default_retention_size_bytes": _integer(0),
    "exactly_once": _boolean,
    "read_after_write_consistency": _boolean,
    "transaction_timeout_ms": _integer(LEASE_MS_MIN, LEASE_MS_MAX),
    "transaction_status_poll_interval_ms": _integer(1, 60_000),
    "sink_id": _text,
}
_FIELDS = {"stream": "streams"}
_SECRET = ("credentials", "username", "user", "password", "token")
OPTION_NAMES = tuple(_PARSERS)

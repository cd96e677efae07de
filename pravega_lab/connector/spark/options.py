"""Options of ``format("pravega")``: names, types, defaults, and what is said about a wrong one.

Names and defaults are those of the official Spark connector; ``ordered`` and ``sink_id`` are ours. One
default differs: a source creates a missing stream only when told to, or a misspelt name would read as an
empty stream. Spark hands over lower-case names and text values. Checked when ``load()`` or ``start()`` is
called, before anything is asked of a store.

Options are seen by many: in plans, event logs, checkpoints of a query's configuration. So secrets are not
among them; an option names the file that has them (the official connector takes them from the environment
only, and so does this one without a file).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import BadInputError

if TYPE_CHECKING:
    from ...client.access import AccessOptions

DEFAULT_CONTROLLER = "tcp://localhost:9090"
EARLIEST, LATEST, UNBOUNDED = "earliest", "latest", "unbounded"
METADATA_TABLES = ("StreamInfo", "Streams")
#: Pravega accepts leases of 10 s to 10 min (reference/pravega.md A10).
LEASE_MS_MIN, LEASE_MS_MAX = 10_000, 600_000
#: Words that Spark itself puts among the options of a source or sink.
SPARKS_OWN = ("checkpointlocation", "queryname", "outputmode", "triggerinterval", "mode")


@dataclass(frozen=True)
class Cluster:
    """Where a store is and how to get in, without secrets: what connections are kept by. Picklable, hashable.

    ``None`` means: as the environment of the process says that connects (see `client.access`).
    """

    controller: str = DEFAULT_CONTROLLER
    ca_file: str | None = None
    credentials_file: str | None = None
    validate_host_name: bool | None = None
    rewrite: tuple[tuple[str, str], ...] | None = None

    def access(self) -> AccessOptions:
        """As keywords of ``connect``."""
        return {
            "ca_file": self.ca_file,
            "credentials_file": self.credentials_file,
            "validate_host_name": self.validate_host_name,
            "rewrite": None if self.rewrite is None else dict(self.rewrite),
        }


@dataclass(frozen=True)
class PravegaOptions:
    """Checked options of one source or sink; picklable.

    ``streams`` are names without scope. ``None`` means: not given. Sizes in bytes, times in milliseconds.
    """

    scope: str
    streams: tuple[str, ...] = ()
    controller: str = DEFAULT_CONTROLLER
    ca_file: str | None = None
    credentials_file: str | None = None
    validate_host_name: bool | None = None
    rewrite: tuple[tuple[str, str], ...] | None = None
    start_stream_cut: str | None = None
    end_stream_cut: str | None = None
    approx_bytes_per_trigger: int | None = None
    ordered: bool = True
    metadata: str | None = None
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
        """The part that says which store, and how to get in."""
        return Cluster(
            self.controller, self.ca_file, self.credentials_file, self.validate_host_name, self.rewrite
        )

    @property
    def scoped_streams(self) -> tuple[str, ...]:
        """``scope/stream`` of every stream, in the order given."""
        return tuple(f"{self.scope}/{stream}" for stream in self.streams)

    @property
    def output(self) -> str:
        """``scope/stream`` of the one stream that is written.

        Raises:
            BadInputError: Several streams were named; a sink writes one.
        """
        if len(self.streams) != 1:
            raise BadInputError(
                f"option 'stream' names {len(self.streams)} streams ({', '.join(self.streams)}); "
                f"a sink writes exactly one. Write one query for each."
            )
        return self.scoped_streams[0]


def parse_options(given: Mapping[str, str]) -> PravegaOptions:
    """Options as Spark hands them over, checked and typed.

    Raises:
        BadInputError: Unknown or misspelt option (with the nearest), a value of the wrong type or range, a
            missing ``scope`` or ``stream``, or two options that contradict each other.
    """
    options = {name.lower(): str(value).strip() for name, value in given.items()}
    values = {
        _FIELDS.get(name, name): _parse(name, text)
        for name, text in options.items()
        if name not in SPARKS_OWN
    }
    if not values.get("scope"):
        raise BadInputError("option 'scope' is missing. Add .option('scope', '<scope of the stream>')")
    if not values.get("streams") and values.get("metadata") != "Streams":
        raise BadInputError(
            "option 'stream' is missing. Add .option('stream', '<name>'); several are comma separated"
        )
    _refuse_contradictions(values)
    return PravegaOptions(**values)


def _parse(name: str, text: str) -> Any:
    if name in _SECRET:
        raise BadInputError(
            f"option '{name}' would be seen in plans and logs, so it is not taken. Write it to a file that "
            "every machine has and name that with option 'credentials_file', or set "
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
            raise BadInputError(
                f"options '{one}' and '{other}' were both given; a stream has one of them. Leave one out"
            )
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
                f"option 'stream' has '{stream}'; name it without its scope, which is option 'scope'"
            )
    doubled = [stream for i, stream in enumerate(names) if stream in names[:i]]
    if doubled:
        raise BadInputError(f"option 'stream' names '{doubled[0]}' twice; each stream is read once")
    return names


def _controller(name: str, text: str) -> str:
    if not text.startswith(("tcp://", "tls://")):
        raise BadInputError(f"option 'controller' is '{text}'; it looks like tcp://host:9090, or tls://")
    return text


def _rewrite(name: str, text: str) -> tuple[tuple[str, str], ...]:
    from ...client.access import rewrites_from

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
    "scope": _scope,
    "stream": _streams,
    "start_stream_cut": _cut,
    "end_stream_cut": _cut,
    "approx_bytes_per_trigger": _integer(1),
    "ordered": _boolean,
    "metadata": _metadata,
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

"""`take_inventory`: the streams and reader groups of a cluster, and the state of the groups, by public
calls only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches

from pravega_lab.client import Client, ScalingPolicy
from pravega_lab.client.values import ScalingKind
from pravega_lab.errors import BadInputError, PravegaError, ScopeNotFoundError
from pravega_lab.protocol.names import READER_GROUP_PREFIX


@dataclass(frozen=True, slots=True)
class StreamLine:
    """A stream. ``trouble`` says why nothing more is known."""

    name: str
    n_segments: int | None = None  # active ones; 0: sealed
    scaling: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A reader group as its state log describes it; ``unread_bytes`` counts from its last checkpoint."""

    name: str
    readers: tuple[str, ...] = ()
    unread_bytes: int | None = None
    updated_ms: int | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Streams and reader groups by name."""

    scopes: tuple[str, ...]
    streams: tuple[StreamLine, ...]
    groups: tuple[GroupLine, ...]


def take_inventory(
    client: Client, scope: str | None = None, on_step: Callable[[str], None] = lambda name: None
) -> Inventory:
    """Ask for everything, scope by scope. ``on_step`` receives each name before it is asked for.

    Raises:
        BadInputError: There is no such scope; the message names the scopes that there are.
    """
    scopes = [scope] if scope is not None else [s for s in client.list_scopes() if not s.startswith("_")]
    streams, groups = [], []
    for each in scopes:
        for name in _streams(client, each):
            on_step(f"{each}/{name}")
            streams.append(_stream(client, f"{each}/{name}"))
        for name in client.list_reader_groups(each):
            on_step(f"{each}/{name}")
            groups.append(_group(client, each, name))
    return Inventory(tuple(scopes), tuple(streams), tuple(groups))


def to_records(found: Inventory) -> list[dict[str, object]]:
    """Return a record for each scope, stream and group, whose values JSON can express."""
    scopes = [{"kind": "scope", "name": name} for name in found.scopes]
    streams = [{"kind": "stream", **asdict(line)} for line in found.streams]
    groups = [{"kind": "reader_group", **asdict(line)} for line in found.groups]
    return [*scopes, *streams, *groups]


def check_group(client: Client, scoped_name: str) -> None:
    """Check that there is such a reader group.

    Raises:
        BadInputError: There is not; the message says what there is instead.
    """
    scope, name = scoped_name.split("/", 1)
    streams, groups = _streams(client, scope), client.list_reader_groups(scope)
    if name in streams and name not in groups:
        raise BadInputError(
            f"{scoped_name} is a stream, not a reader group. Groups of {scope}: {_listed(groups)}"
        )
    _check(name, groups, "reader group", f" in {scope}")


def _streams(client: Client, scope: str) -> Sequence[str]:
    """Return the streams of a scope. A user of this scope alone may ask for them, and not for all scopes."""
    try:
        return client.list_streams(scope)
    except ScopeNotFoundError:
        _check(scope, client.list_scopes(), "scope")
        raise


def _check(name: str, known: Sequence[str], what: str, where: str = "") -> None:
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise BadInputError(f"there is no {what} {name!r}{where}.{hint} There are: {_listed(known)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _stream(client: Client, name: str) -> StreamLine:
    stream = client.stream(name)
    try:
        return StreamLine(name, len(stream.segments()), _words(stream.configuration().scaling))
    except PravegaError as error:
        return StreamLine(name, trouble=str(error))


def _group(client: Client, scope: str, name: str) -> GroupLine:
    group = f"{scope}/{name}"
    try:
        with client.reader_group(group) as handle:
            readers, unread = tuple(handle.online_readers()), handle.unread_bytes()
        return GroupLine(group, readers, unread, _updated_ms(client, scope, name))
    except PravegaError as error:
        return GroupLine(group, trouble=str(error))


def _updated_ms(client: Client, scope: str, name: str) -> int | None:
    """Return when the group's state log was last written."""
    log = client.stream(f"{scope}/{READER_GROUP_PREFIX}{name}")
    times = [log.segment_info(segment.segment_id).last_modified_ms for segment in log.segments()]
    return max(times, default=None)


def _words(scaling: ScalingPolicy) -> str:
    if scaling.kind is ScalingKind.FIXED:
        return "fixed"
    unit = "events/s" if scaling.kind is ScalingKind.EVENTS_PER_S else "kB/s"
    return f"{scaling.target_rate:,} {unit} a segment"

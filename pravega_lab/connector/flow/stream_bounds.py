"""Which streams a source reads, and from where to where in each: as for a reader group, but without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pravega_lab.client.values import Edge
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.stream_cut import StreamCut

Bounds: TypeAlias = StreamCut | Edge | Sequence[StreamCut]


def resolved(config: PravegaConfig, streams: str | Sequence[str]) -> tuple[str, ...]:
    """``scope/stream`` each, in the order given.

    Raises:
        BadInputError: there is none, or one comes twice.
        IllegalStateError: no scope is in a name, and there is no default.
    """
    names = [streams] if isinstance(streams, str) else streams
    found = tuple(config.resolve(name) for name in names)
    if not found:
        raise BadInputError("a source reads no stream: name at least one")
    twice = sorted({name for name in found if found.count(name) > 1})
    if twice:
        raise BadInputError(f"{twice[0]} is named twice: its events would come twice; name it once")
    return found


def bounds_of(streams: Sequence[str], given: Bounds, what: str) -> Mapping[str, StreamCut | Edge]:
    """Of each stream that has one: an edge is one of every stream, a cut of the stream that it names.

    Args:
        what: ``start`` or ``end``, for the message.

    Raises:
        BadInputError: a cut of a stream that is not read, two of one stream, or something else.
    """
    if isinstance(given, Edge) or (isinstance(given, StreamCut) and given.is_unbounded):
        return dict.fromkeys(streams, given)
    found: dict[str, StreamCut | Edge] = {}
    for cut in _cuts(given, what):
        name = cut.scoped_stream
        if name not in streams:
            raise BadInputError(
                f"{what} has a cut of stream {name or cut}, and the source reads {', '.join(streams)}: take "
                "the cut out, or name its stream too"
            )
        if name in found:
            raise BadInputError(f"{what} has two cuts of stream {name}: one of them, please")
        found[name] = cut
    return found


def _cuts(given: StreamCut | Sequence[StreamCut], what: str) -> Iterator[StreamCut]:
    for cut in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(cut, StreamCut):
            raise BadInputError(
                f"{what} has {cut!r}, which is no position of a stream: pass HEAD, TAIL, a StreamCut, or a "
                "list with a StreamCut for each stream that has one"
            )
        yield cut


def check_streams(found: Iterable[str], streams: Sequence[str]) -> None:
    """Of a position that a source goes on from.

    Raises:
        RestoreError: it is in a stream that the source does not read.
    """
    for name in found:
        if name not in streams:
            raise RestoreError(
                f"the checkpoint has a position in stream {name}, and the source reads {', '.join(streams)}: "
                "name that stream too, or give the source another uid, with which it begins anew"
            )

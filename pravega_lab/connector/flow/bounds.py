"""The streams that a source reads, and its start and end in each.

The arguments have the same forms as those of a reader group, but no reader group is needed.
"""

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
    """Return ``scope/stream`` of each stream, in the given order.

    Raises:
        BadInputError: No stream is named, or one is named twice.
        IllegalStateError: A name has no scope, and there is no default scope.
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
    """Return the bound of each stream that has one.

    An edge is the bound of every stream. A cut is the bound of the stream that it names.

    Args:
        what: ``start`` or ``end``, for the message.

    Raises:
        BadInputError: ``given`` has a cut of a stream that is not read, two cuts of one stream, or a value
            that is neither cut nor edge.
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
            raise BadInputError(f"{what} has two cuts of stream {name}: pass only one of them")
        found[name] = cut
    return found


def _cuts(given: StreamCut | Sequence[StreamCut], what: str) -> Iterator[StreamCut]:
    for cut in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(cut, StreamCut):
            raise BadInputError(
                f"{what} has {cut!r}, which is not a position of a stream: pass HEAD, TAIL, a StreamCut, or "
                "a list with a StreamCut for each stream that has one"
            )
        yield cut


def check_streams(found: Iterable[str], streams: Sequence[str]) -> None:
    """Refuse positions of streams that the source does not read, when a job resumes from a checkpoint.

    Raises:
        RestoreError: A stream of ``found`` is not among ``streams``.
    """
    for name in found:
        if name not in streams:
            raise RestoreError(
                f"the checkpoint has a position in stream {name}, and the source reads {', '.join(streams)}: "
                "name that stream too, or give the source another uid, with which it begins again"
            )

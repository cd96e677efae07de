"""`fork`: go back to a moment of a run and continue from there, in a fresh store.

The copy begins at the last completed reader-group checkpoint before the moment, or, without a checkpoint, at
the lengths that were measured by then. It has everything that is retained from there on. Pravega does not
store routing keys, so the copy keeps key ranges instead: it has segments with the same ranges, it scales
where the source scaled, and every event goes into the segment with the same range, predecessors first. Events
of one key therefore stay in order, also with those that a writer adds to the fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pravega_lab.client import Client, ScalingPolicy, Stream
from pravega_lab.client.sync import segment_writer
from pravega_lab.errors import BadInputError, NotFoundError
from pravega_lab.lab.fork_plan import Epoch, Piece, Plan, plan
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.known_cuts import KnownCut, cut_before
from pravega_lab.portable.closing import ClosedByWith
from pravega_lab.progress import bar
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    from pathlib import Path

ASK_ABOVE_BYTES = 100 << 20
_forks = count(1)


class Target(Protocol):
    """What a copy needs of the lab that it goes into."""

    def create_stream(self, name: str, *, scaling: ScalingPolicy | None = None) -> Stream: ...

    def close(self) -> None: ...


L = TypeVar("L", bound=Target)
Opened = TypeVar("Opened", bound=Target, covariant=True)


class OpenLab(Protocol[Opened]):
    """Opens the fresh lab of a fork; `Lab` is one."""

    def __call__(self, data: str | Path | None, /, *, name: str) -> Opened: ...


@dataclass(slots=True)
class Fork(ClosedByWith, Generic[L]):
    """A fresh lab with the copied streams. A context manager: leaving it closes that lab.

    ``begins`` says in words where the copy begins, and ``begins_s`` in seconds of the source. ``cuts`` are
    stream cuts of the source. ``truncated`` says in words what should have been copied and is gone.
    """

    lab: L
    begins: str
    begins_s: float
    cuts: dict[str, StreamCut]
    streams: dict[str, Stream] = field(default_factory=dict)
    events: int = 0
    n_bytes: int = 0
    truncated: list[str] = field(default_factory=list)

    @property
    def stream(self) -> Stream:
        """Return the only stream.

        Raises:
            BadInputError: The fork has several; ``streams`` has them by name.
        """
        if len(self.streams) != 1:
            raise BadInputError(
                f"this fork has {len(self.streams)} streams: fork.streams[name], of {list(self.streams)}"
            )
        return next(iter(self.streams.values()))

    def close(self) -> None:
        """Close the fork's lab. Its store is deleted, unless the fork was made with ``data``."""
        self.lab.close()

    def __repr__(self) -> str:
        gone = f", truncated: {'; '.join(self.truncated)}" if self.truncated else ""
        return (
            f"Fork({', '.join(self.streams)} from {self.begins} at {self.begins_s:.2f} s: "
            f"{self.events:,} events{gone})"
        )


def fork(
    client: Client,
    source: Any,
    *,
    at_s: float | None = None,
    open_lab: OpenLab[L],
    streams: Iterable[str] | None = None,
    data: str | Path | None = None,
    confirm: Callable[[str], bool] | bool | None = None,
) -> Fork[L]:
    """Copy streams from the last checkpoint before a moment to their ends, into a fresh embedded store.

    Args:
        client: A client of the store that has the events.
        source: A board or a view (its clock counts), a journal, or what has a ``.journal``.
        at_s: Seconds since the start of what the source shows; by default where its clock is.
        open_lab: Opens the fresh lab.
        streams: Names of streams that the cut has; by default all of them.
        data: The folder of the fork's store. Without a folder the store is deleted when the fork is closed.
        confirm: Is called with a question if the copy has more than 100 MB, and returns whether to go
            ahead. By default the person at the keyboard is asked. True goes ahead without a question.

    Raises:
        BadInputError: No cut is known before that moment, the store has no such stream, or the question was
            answered with no.
    """
    known, start_ms = _known_cut(source, at_s)
    wanted = {name: known.cuts[name] for name in _chosen(known, streams)}
    plans = [_planned(client, name, cut) for name, cut in wanted.items()]
    _ask(sum(made.n_bytes for made in plans), confirm)
    return _copied(plans, known, (known.time_ms - start_ms) / 1000, lambda name: open_lab(data, name=name))


def _known_cut(source: Any, at_s: float | None) -> tuple[KnownCut, int]:
    clock = getattr(source, "clock", None)
    if clock is not None:
        journals, start_ms, now_s = clock.journals, clock.start_ms, clock.now_s
    else:
        journal = getattr(source, "journal", source)
        if not isinstance(journal, Journal):
            raise BadInputError(
                f"fork() goes by a board, a view or a journal, not by {type(source).__name__}"
            )
        last = journal.since(journal.next_seq - 1)
        end_ms = max([o.time_ms for o in last] + [journal.until_ms or 0])
        journals, start_ms = [journal], journal.start_ms
        now_s = (end_ms - (start_ms or 0)) / 1000
    if start_ms is None:
        raise BadInputError("fork(): the journal is empty, so there is no moment to go back to")
    at_s = now_s if at_s is None else float(at_s)
    at_ms = start_ms + 1000 * at_s
    known = cut_before((o for journal in journals for o in journal.outline(at_ms)), at_ms)
    if known is None:
        raise BadInputError(
            f"fork(at_s={at_s:g}): the journal knows no checkpoint and no stream before that moment. "
            "Watch the stream, too: lab.show(stream, group)"
        )
    return known, start_ms


def _chosen(known: KnownCut, streams: Iterable[str] | None) -> list[str]:
    names = list(known.cuts) if streams is None else list(streams)
    missing = [name for name in names if name not in known.cuts]
    if missing:
        raise BadInputError(f"fork(streams={missing}): the cut is of {list(known.cuts)}")
    return names


def _planned(client: Client, name: str, cut: StreamCut) -> Plan:
    try:
        return plan(client.stream(name), cut)
    except NotFoundError as error:
        raise BadInputError(
            f"fork: the journal tells of {name}, and the store at {client.uri} does not have it ({error}). "
            "A recording holds no events: fork where the store is, Lab(data) or Lab(uri=…)"
        ) from error


def _ask(n_bytes: int, confirm: Callable[[str], bool] | bool | None) -> None:
    if n_bytes <= ASK_ABOVE_BYTES or confirm is True:
        return
    question = f"The fork copies {n_bytes / (1 << 20):,.0f} MiB of events. Go ahead?"
    agreed = False if confirm is False else (confirm or _person)(question)
    if not agreed:
        raise BadInputError(f"{question} Nobody agreed; fork(..., confirm=True) does it")


def _person(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, NotImplementedError, OSError):  # there is no keyboard
        return False


def _copied(plans: list[Plan], known: KnownCut, begins_s: float, open_named: Callable[[str], L]) -> Fork[L]:
    with ExitStack() as undo:
        lab = open_named(f"fork {next(_forks)}")
        made = Fork(lab, known.text, begins_s, {p.stream.scoped_name: p.cut for p in plans})
        undo.callback(made.close)
        total = sum(p.n_bytes for p in plans)
        with bar("fork", total, "B") as copied:
            for one in plans:
                copy = _Copy(one, made.lab, copied.update)
                made.streams[one.stream.scoped_name] = copy.run()
                made.events += copy.events
                made.truncated += one.truncated
        made.n_bytes = total
        undo.pop_all()
    return made


def _by_hand(n: int) -> ScalingPolicy:
    """Return a policy that allows any number of segments from ``n`` and never scales by itself.

    An update to a fixed number of segments would scale to that number at once.
    """
    return ScalingPolicy.by_event_rate(1_000_000_000, factor=2, min_segments=n)


class _Copy:
    """Copies one stream, epoch by epoch."""

    def __init__(self, made: Plan, lab: Target, progress: Callable[[int], Any]) -> None:
        self._plan, self._progress = made, progress
        self.events = 0
        n = len(made.epochs[0].segments)
        name = made.stream.scoped_name
        self._target = lab.create_stream(name, scaling=_by_hand(n))
        self._target.update(scaling=_by_hand(1))
        self._of: dict[int, int] = {}  # source segment -> target segment

    def run(self) -> Stream:
        epochs = self._plan.epochs
        self._begin(epochs[0])
        for epoch, following in zip(epochs, [*epochs[1:], None], strict=True):
            for piece in epoch.pieces:
                self._copy(piece)
            if following is not None:
                self._scale(epoch, following)
        self._target.update(scaling=ScalingPolicy.fixed(len(self._target.segments())))
        return self._target

    def _begin(self, epoch: Epoch) -> None:
        """Give the copy the key ranges of the cut."""
        have = self._target.segments()
        wanted = [(s.low, s.high) for s in epoch.segments]
        if [(s.low, s.high) for s in have] != sorted(wanted):
            have = self._target.scale([s.segment_id for s in have], wanted)
            # Otherwise a group would read the empty segments first, and wait for a checkpoint after them.
            self._target.truncate(StreamCut(self._target.scoped_name, {s.segment_id: 0 for s in have}))
        by_range = {(s.low, s.high): s.segment_id for s in have}
        self._of = {s.segment_id: by_range[(s.low, s.high)] for s in epoch.segments}

    def _copy(self, piece: Piece) -> None:
        source = self._plan.stream
        start, end = (
            StreamCut(source.scoped_name, {piece.segment_id: at}) for at in (piece.start, piece.end)
        )
        done = piece.start
        reading = source.read(start, end, segments=[piece.segment_id], ordered=False)
        with segment_writer(self._target, self._of[piece.segment_id]) as writer, reading as batches:
            for batch in batches:
                writer.write(batch.column("event"))
                self.events += batch.num_rows
                at = batch.column("offset")[-1].as_py()
                self._progress(at - done)
                done = at
        self._progress(piece.end - done)

    def _scale(self, epoch: Epoch, following: Epoch) -> None:
        """Scale as the source did. A segment that was replaced by one with the same range stays as it is."""
        kept = {s.segment_id for s in following.segments}
        old = {(s.low, s.high): s.segment_id for s in epoch.segments if s.segment_id not in kept}
        new = {(s.low, s.high): s.segment_id for s in following.segments if s.segment_id not in self._of}
        for same in old.keys() & new.keys():
            self._of[new.pop(same)] = self._of[old.pop(same)]
        if new:
            made = self._target.scale([self._of[s] for s in old.values()], list(new))
            self._of.update({new[(s.low, s.high)]: s.segment_id for s in made})

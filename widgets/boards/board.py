"""Several views on one clock: they share hover, selection, zoom and time, also in the exported page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from struct import unpack
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.observe.group.observations import GroupSeen
from pravega_lab.observe.job.observations import JobSeen
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    BatchDone,
    BatchPlanned,
    Observation,
    QueryStarted,
    StreamSeen,
)
from pravega_lab.observe.ledger.observations import LedgerCounted
from pravega_lab.progress import is_run_by_program

from ..checkpoint_timeline.view import CheckpointTimeline
from ..job_graph.view import JobGraph
from ..ledger.view import LedgerView
from ..live.clock import Clock
from ..live.export import export
from ..live.jupyter import ipywidgets, needed
from ..live.recording import keep
from ..live.side import is_right, refuse_place, shown_right
from ..live.still import still
from ..live.view import View
from ..query_timeline.view import QueryTimeline
from ..reader_board.view import ReaderBoard
from ..segment_map.view import SegmentMap
from ..svg.palette import STYLE

LOOK_S = 5.0
_boards = count(1)


class Board(ipywidgets.VBox):
    """Shows several views, one below the other. `show` makes it."""

    where: str | None = None  # "right", "inline", or None for the default of this kernel

    def __init__(self, views: list[View]) -> None:
        self.views = views
        super().__init__(children=views)

    def __repr__(self) -> str:
        return f"Board({', '.join(map(repr, self.views))})"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if is_run_by_program():
            keep(self.views)
            words = "\n".join(view.alternative for view in self.views)
            return {"text/html": still(self.picture(), words), "text/plain": repr(self)}
        if is_right(self.where):
            words = "; ".join(view.alternative for view in self.views)
            return shown_right(self, still(self.picture(), words), words)
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "image/svg+xml": self.picture(), "text/plain": repr(self)}, metadata

    def picture(self) -> str:
        """Return the last state of all views as one SVG; a view with very many marks is a PNG inside it."""
        spans = [span for span in (view.span_ms for view in self.views) if span is not None]
        whole = (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None
        return stacked([view.picture(whole)[1] for view in self.views])

    def export(self, path: str | Path) -> Path:
        """Write one page with all the views on one clock. The page needs neither kernel nor network."""
        return export(self.views, path)

    @property
    def clock(self) -> Clock:
        """The clock of the page: it pauses, seeks, steps, plays and jumps, as the bar on the page does."""
        clocks = [view.clock for view in self.views]  # a view joins its clock when it is made
        return clocks[0]

    @property
    def errors(self) -> list[BaseException]:
        """The errors of the publishers of all views; empty while all is well."""
        return [error for view in self.views for error in view.errors]

    def close(self) -> None:
        """Take all views off the page and end their threads."""
        for view in self.views:
            view.close()
        super().close()


def stacked(pictures: Sequence[str | bytes]) -> str:
    """Return pictures (SVG text or PNG) as one SVG, one below the other."""
    parts, y, width = [], 0, 0
    for picture in map(as_svg, pictures):
        box = picture.split('viewBox="0 0 ', 1)[1].split('"', 1)[0]
        w, h = (int(part) for part in box.split())
        parts.append(picture.replace('width="100%"', f'width="{w}" height="{h}" y="{y}"', 1))
        width, y = max(width, w), y + h + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="100%" role="img">'
    whole = "\n".join(parts)
    once = f"{STYLE}\n" if STYLE in whole else ""  # of all of them
    return f"{head}\n{once}{whole.replace(f'{STYLE}{chr(10)}', '')}</svg>\n"


def as_svg(picture: str | bytes) -> str:
    """Return an SVG that contains a PNG."""
    if isinstance(picture, str):
        return picture
    width, height = unpack(">II", picture[16:24])
    data = base64.b64encode(picture).decode()
    image = f'<image width="{width}" height="{height}" href="data:image/png;base64,{data}"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" role="img">'
    return f"{head}{image}</svg>\n"


def show(*things: Any, scale: float = 1.0, title: str | None = None, where: str | None = None) -> Board:
    """Show the views that fit the things, on one clock.

    Every observer looks before this returns, for at most 5 s each, so that the static picture is one of now.

    Args:
        things: Views, journals, or whatever has a ``.journal`` (an observer, a ledger). A journal gets a
            `SegmentMap` per stream, a `ReaderBoard` and a `CheckpointTimeline` per reader group, a
            `QueryTimeline` per query and a `LedgerView` per ledger that it contains; while it is empty, a map
            and a timeline. A job has a `JobGraph` and a `CheckpointTimeline`, which
            has the readers of a group that is shown too.
        scale: Size of text and marks; 1.5 suits a projector.
        title: Text in the header of the first view; by default the name of what it shows.
        where: "right" shows the board in a panel on the right of JupyterLab, "inline" below its cell. By
            default as the variable ``PRAVEGA_LAB_VIEWS`` says: ``make lab`` and Binder set it to "right".
            Without JupyterLab or the package ``sidecar`` the board is below its cell.

    Raises:
        BadInputError: A thing is none of these; the message says how to get one from it. Or ``where`` is no
            place.
    """
    needed()
    refuse_place(where)
    if not things:
        raise BadInputError("show() needs something to show: a view, a journal, or an observer.")
    for thing in things:
        if hasattr(thing, "look"):
            thing.look(LOOK_S)
    clock = f"board-{next(_boards)}"
    told = [j for j in (getattr(t, "journal", t) for t in things) if isinstance(j, Journal)]
    views = [view for thing in things for view in _views(thing, clock, scale, told)]
    if title is not None and views:
        views[0].title = title
    numbers: dict[int, int] = {}  # of journals; the first view of each reports what was observed when
    for view in views:
        view.tells_steps = id(view.journal) not in numbers
        number = numbers.setdefault(id(view.journal), len(numbers))
        view._settings = {**view._settings, "clock": clock, "journal": number}
    board = Board(views)
    board.where = where
    return board


def _views(thing: Any, clock: str, scale: float, told: Sequence[Journal]) -> list[View]:
    if isinstance(thing, Board):
        return thing.views
    if isinstance(thing, View):
        return [thing]
    journal = getattr(thing, "journal", thing)
    if not isinstance(journal, Journal):
        raise BadInputError(
            f"show() cannot show {type(thing).__name__}: it takes views, journals and observers. "
            "observe(uri, stream=...) makes an observer; lab.show(stream) does so for you."
        )
    seen = journal.since(all_samples=False)
    streams = dict.fromkeys(o.stream for o in seen if isinstance(o, StreamSeen))
    queries = dict.fromkeys(o.query for o in seen if isinstance(o, QueryStarted | BatchDone | BatchPlanned))
    wanted = getattr(thing, "shows", None) or ("streams", "queries", "all ledgers")
    if wanted == ("ledgers",):
        return [LedgerView(thing, clock=clock, scale=scale)]
    kept = dict.fromkeys(o.ledger for o in seen if isinstance(o, LedgerCounted))
    ledgers = list(kept) if "all ledgers" in wanted else []
    maps: list[str | None] = list(streams) or ([None] if "streams" in wanted else [])
    timelines: list[str | None] = list(queries) or ([None] if "queries" in wanted else [])
    groups = _groups(thing, seen)
    if groups and not getattr(thing, "shows", None):  # a journal with a group need not have a query
        timelines = list(queries)
    if (seen and not journal.live) or ledgers:  # a recording does not grow
        maps, timelines = list(streams), list(queries)
    others = [
        other for other in told if other is not journal
    ]  # with a stream beside it a query shows the unread bytes
    if _has_job(journal) or wanted == ("jobs",):
        return _of_job(journal, others, groups, clock, scale)
    made: list[View] = [SegmentMap(journal, stream=s, readers=others, clock=clock, scale=scale) for s in maps]
    for group in groups:
        made.append(ReaderBoard(journal, group=group, clock=clock, scale=scale))
        made.append(CheckpointTimeline(journal, group=group, clock=clock, scale=scale))
    made += [QueryTimeline(journal, query=q, clock=clock, scale=scale) for q in timelines]
    return made + [LedgerView(journal, ledger=name, clock=clock, scale=scale) for name in ledgers]


def _has_job(journal: Journal) -> bool:
    return any(isinstance(o, JobSeen) for o in journal.since(all_samples=False))


def _of_job(
    journal: Journal, others: Sequence[Journal], groups: Sequence[str | None], clock: str, scale: float
) -> list[View]:
    """Return the views of a job; a reader group's journal puts its checkpoints into the job's timeline."""
    beside = next(
        (o for o in others if any(isinstance(e, GroupSeen) for e in o.since(all_samples=False))), None
    )
    made: list[View] = [ReaderBoard(journal, group=g, clock=clock, scale=scale) for g in groups]
    graph = JobGraph(journal, clock=clock, scale=scale)
    return [graph, *made, CheckpointTimeline(journal, job=True, beside=beside, clock=clock, scale=scale)]


def _groups(thing: Any, seen: Sequence[Observation]) -> list[str | None]:
    """Return the reader groups in a journal; the name is empty where an observer has seen none yet."""
    groups: list[str | None] = list(dict.fromkeys(o.group for o in seen if isinstance(o, GroupSeen)))
    return groups or ([None] if "groups" in (getattr(thing, "shows", None) or ()) else [])

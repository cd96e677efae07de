"""What all views share: the journal, the live page, the static picture, the frame and the export.

A view reads a journal and nothing else. One fold feeds its rows, its picture, its ``.frame`` and its
JavaScript. Data travel to the page as custom messages, never as traits: a trait that is set while a cell
awaits can lock up for good in this stack, and traits have no back-pressure.
"""

from __future__ import annotations

import contextlib
import math
import re
import threading
from collections.abc import Callable
from difflib import get_close_matches
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from uuid import uuid4

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.progress import is_run_by_program

from ..bundles import bundle, style
from .clock import Clock, clock_named
from .comm import control
from .export import export
from .jupyter import anywidget, needed, traitlets
from .payload import Payload
from .publisher import Publisher
from .recording import keep
from .scrubber_facts import ScrubberFacts
from .side import is_right, shown_right
from .still import still

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

RECORDING = "a recording: nothing can be done to it"
# For pages without a kernel.
STILL = {"live": False, "trouble": "", "control": "", "no_control": RECORDING, "answer": ""}
_ADDRESS = re.compile(r"( at )?\b(tcp|tls)://\S+")
SVG_RECTANGLES_MAX = 1_000  # above, a PNG is smaller and faster


class UnknownArgumentError(BadInputError, TypeError):
    """Raised when a view does not know a keyword; the message names the nearest keyword."""


class History(Protocol):
    """Describes a fold in progress."""

    start_ms: int | None
    now_ms: int | None
    changed: dict[int, None]

    def apply(self, observation: Observation) -> None:
        """Take one more observation into account."""


class View(anywidget.AnyWidget):
    """Shows a journal live. Use one of the views, such as `SegmentMap` or `QueryTimeline`.

    Args:
        journal: A `Journal`, or anything with a ``.journal`` (an observer).
        title: Text in the header; by default the name of what the view shows.
        scale: Size of text and marks; 1.5 suits a projector.
        clock: Views with the same name share time, hover and selection. By default those of one journal do.
    """

    script: ClassVar[str]  # the name of the bundle that draws the view
    history: ClassVar[Callable[[], Any]]
    options: ClassVar[dict[str, tuple[str, ...]]] = {}  # what the page's own controls choose

    _settings = traitlets.Dict().tag(sync=True)  # set once, before the page sees it

    def __init__(
        self,
        journal: Any,
        *,
        title: str | None = None,
        scale: float = 1.0,
        clock: str | None = None,
        **unknown: Any,
    ) -> None:
        _refuse_unknown(type(self), unknown)
        self.journal = journal_of(journal)
        self.title = title
        self._lock = threading.RLock()
        self._history = type(self).history()
        self._read_to = 0
        self._begins_late = False  # without the measurements that the journal had in its spill file
        self._origin_ms: int | None = None
        self._span_ms: tuple[int, int] | None = None
        self.told: dict[str, Any] = {}  # the facts that pages know; empty while there is no page
        self.control: str | None = None  # the variable that acts, in the calls that the page shows
        self.on_request: Callable[[dict[str, Any]], None] | None = (
            None  # carries out what a page asks for; must not block
        )
        self.answer = ""  # the result of the last request
        self.tells_steps = (
            True  # whether it feeds the scrubber; `show` leaves that to one view of each journal
        )
        self._scrubber_facts = ScrubberFacts(self.journal)
        hub, name = control(), uuid4().hex
        hub.views[name] = self
        settings = {"clock": clock or clock_of(self.journal), "control": hub.model_id, "me": name}
        # Its page finds the model by this name (hearing.ts).
        super().__init__(model_id=name, _settings={**settings, "scale": scale})
        self._clock = clock_named(settings["clock"])
        self._clock.join(self)
        self.publisher = Publisher(self._produce, self._deliver, lambda: self.journal.live)
        self.on_msg(lambda _widget, content, _buffers: self.heard(content))

    @property
    def _esm(self) -> str:
        """The view's JavaScript; read when a view is made, so that importing this package needs no bundle."""
        return bundle(self.script)

    @property
    def _css(self) -> str:
        return style()

    @property
    def page_id(self) -> str:
        """The name of this view on its page."""
        return str(self._settings["me"])

    # What a view sends.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        """Return the rows to send (all, or those that changed) and what has grown; forget what changed."""
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        """Return what the header and the legend say."""
        raise NotImplementedError

    def _svg(self) -> str:
        raise NotImplementedError

    def _png(self) -> bytes:
        raise NotImplementedError

    def _summary(self) -> str:
        """Return what there is, in words, for the representation and the title of the picture."""
        raise NotImplementedError

    def _rectangles(self) -> int:
        raise NotImplementedError

    def _frame_of(self, history: Any) -> pd.DataFrame:
        raise NotImplementedError

    def figure(self) -> Figure:
        """Return the picture as a plain plotly figure, which stays small in a notebook's file."""
        raise NotImplementedError

    # The fold.

    def _wants(self, observation: Observation) -> bool:
        return True

    def _concerns(self, source: str) -> bool:
        """Return whether the view shows something of this source: a stream, a reader group or a query."""
        return True

    def _catch_up(self) -> Any:
        """Return the history with all observations of the journal. Hold the lock while you use it."""
        if not self._read_to:
            self._begins_late = self.journal.has_spilled_samples
        for observation in self.journal.since(self._read_to, all_samples=False):
            self._read_to = observation.seq + 1
            if self._wants(observation):
                self._history.apply(observation)
        history, journal = self._history, self.journal
        if history.start_ms is not None:  # views of one journal begin at the same moment
            history.start_ms = min(history.start_ms, journal.start_ms or history.start_ms)
            history.now_ms = max(history.now_ms, journal.until_ms or history.now_ms)
        return history

    def _look_ahead(self, history: Any, observation: Observation) -> None:
        """Take an observation that follows the moment of `at` into account: it may say that something was
        not known at that moment.
        """

    @property
    def frame(self) -> pd.DataFrame:
        """Everything that the view shows, as a table; see the class for its columns."""
        with self._lock:
            return self._frame_of(self._catch_up())

    def at(self, t_s: float) -> pd.DataFrame:
        """Return the frame as it was ``t_s`` seconds after the start of what the view shows.

        Raises:
            BadInputError: ``t_s`` is no number.
        """
        if not isinstance(t_s, Real) or math.isnan(t_s):
            raise BadInputError(
                f"at({t_s!r:.80}): give a number of seconds after the start, such as at(12.5)"
            )
        with self._lock:
            now = self._catch_up()
            start_ms, now_ms = now.start_ms or 0, now.now_ms
        history, at_ms = type(self).history(), start_ms + t_s * 1000
        for observation in self.journal.outline(at_ms):
            if not self._wants(observation):
                continue
            if observation.time_ms <= at_ms:
                history.apply(observation)
            else:
                self._look_ahead(history, observation)
        # It begins where the whole view does, and what runs lasts until then.
        if history.start_ms is not None:
            history.start_ms, history.now_ms = start_ms, int(min(at_ms, now_ms or at_ms))
        return self._frame_of(history)

    # The live page.

    @property
    def _observed(self) -> str:
        """What the journal observes, without the address of the store."""
        return _ADDRESS.sub("", self.journal.source).strip(" +")

    @property
    def heading(self) -> str:
        """The text in the header: `title`, or the name of what the view shows."""
        with self._lock:
            self._catch_up()
            return str({**self._header(), **self._facts()}["title"])

    def _header(self) -> dict[str, Any]:
        history, journal = self._history, self.journal
        start_ms = history.start_ms or 0
        return {
            "title": self.title or self._observed or "nothing yet",
            "live": journal.live,
            "trouble": self.trouble,
            "seed": journal.seed,
            "gap": str(journal.gap),
            "origin_ms": start_ms,
            "now_s": ((history.now_ms or start_ms) - start_ms) / 1000,
            "ticking": history.start_ms is not None,
            "answer": self.answer,
        }

    @property
    def trouble(self) -> str:
        """Why the view does not show the present, in words; "" while it does, and in a recording."""
        troubles = list(self.journal.troubles.values()) if self.journal.live else []
        found = dict.fromkeys(t.message.rstrip(".") for t in troubles if self._concerns(t.source))
        return "; ".join(found)

    def snapshot(self, *, live: bool | None = None) -> Payload:
        """Return everything that the page needs, as one payload."""
        with self._lock:
            self._origin_ms = self._catch_up().start_ms
            tables, grown = self._packed(everything=True)
            self.told = {**self._header(), **self._facts()}
            facts = self.told if live is not False else {**self.told, **STILL}
            return Payload("snapshot", tables, facts, grown)

    def _packed(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        """Return what the view has to send, and what the scrubber needs."""
        tables, grown = self._pack(everything=everything)
        if self.tells_steps and self._history.start_ms is not None:
            steps, moments = self._scrubber_facts.tell(self._history.start_ms, everything=everything)
            tables, grown = {**tables, "steps": steps}, {**grown, "moments": moments}
        return tables, grown

    def _produce(self, everything: bool) -> Payload | None:
        if everything:
            return self.snapshot()
        with self._lock:
            if self._catch_up().start_ms != self._origin_ms:  # all seconds count from there
                return self.snapshot()
            tables, grown = self._packed(everything=False)
            facts = {**self._header(), **self._facts()}
            changed = {k: v for k, v in facts.items() if self.told.get(k) != v}
            self.told = facts
        tables = {name: table for name, table in tables.items() if table}
        grown = {name: items for name, items in grown.items() if items}
        return Payload("delta", tables, changed, grown) if tables or grown or changed else None

    def _deliver(self, seq: int, payload: Payload) -> None:
        self.send(payload.content(seq), payload.buffers())

    def heard(self, content: dict[str, Any]) -> None:
        """Handle a message of a page: it shows the view, or has an update. Any thread may call."""
        page, seen = str(content.get("page", "")), content.get("seen") is not False
        kind = content.get("kind")
        if kind == "hello":
            self.publisher.hello(page, seen)
            self.clock.greet(self)
        elif kind == "clock":
            self.clock.said(content)
        elif kind == "here":
            self.publisher.here(page, seen)
        elif kind == "bye":
            self.publisher.bye(page)
        elif kind == "ask" and self.on_request is not None:
            self.on_request(content)
        elif kind == "ack":
            self.publisher.answered(int(content["seq"]))

    @property
    def clock(self) -> Clock:
        """Pause, seek, step and play from Python; views of the same clock share it."""
        clock = self._clock
        if clock.name != self._settings["clock"]:
            clock.leave(self)
            clock = self._clock = clock_named(self._settings["clock"])
            clock.join(self)
        return clock

    @property
    def errors(self) -> list[BaseException]:
        """The errors of the publisher's thread; empty while all is well."""
        return self.publisher.errors

    def close(self) -> None:
        """Take the view off the page and end its thread."""
        self.publisher.close()
        super().close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.publisher.close()

    # Without a kernel.

    def __repr__(self) -> str:
        if self.journal.live:
            return f"{type(self).__name__}({self.title or self._observed!r}, live)"
        with self._lock:
            self._catch_up()
            return f"{type(self).__name__}({self._summary()})"

    @property
    def span_ms(self) -> tuple[int, int] | None:
        """The first and the last moment with something to see; None while there is nothing."""
        with self._lock:
            history = self._catch_up()
            return None if history.start_ms is None else (history.start_ms, history.now_ms)

    def picture(self, span_ms: tuple[int, int] | None = None) -> tuple[str, str | bytes]:
        """Return the static picture as (media type, data): SVG, or PNG above about a thousand rectangles.

        Args:
            span_ms: First and last moment of the time axis, so that several pictures share it.
        """
        with self._lock:
            self._catch_up()
            self._span_ms = span_ms
            if self._rectangles() > SVG_RECTANGLES_MAX:
                return "image/png", self._png()
            return "image/svg+xml", self._svg()

    @property
    def alternative(self) -> str:
        """The picture in words, for readers who do not see it."""
        with self._lock:
            self._catch_up()
            found = self._summary().removesuffix(", recording")
        title = f"{self.title}. " if self.title else ""
        return f"{title}{type(self).__name__}: {found}"

    @property
    def words(self) -> list[str]:
        """What the view shows in sentences: its summary, why that is not the present, and each reason that
        it knows, oldest first.

        A narrow view leaves out reasons that have no room. All of them are here.
        """
        said = [self.alternative, *([f"Not live: {self.trouble}."] if self.trouble else [])]
        with self._lock:
            return [*said, *self._reasons(self._catch_up())]

    def _reasons(self, history: Any) -> list[str]:
        """Return the reasons that the picture states, one sentence each."""
        return []

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if is_run_by_program():
            keep([self])
            return {"text/html": still(self.picture()[1], self.alternative), "text/plain": repr(self)}
        needed()
        if is_right(None):
            return shown_right(self, still(self.picture()[1], self.alternative), self.alternative)
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        mime, picture = self.picture()
        return {**data, mime: picture}, metadata

    def export(self, path: str | Path) -> Path:
        """Write one page that works without kernel and network, scrubbing included; return its path."""
        return export([self], path)


def clock_of(journal: Journal) -> str:
    """Return the name of the clock that the views of a journal share by default."""
    return f"journal-{id(journal):x}"


def journal_of(thing: Any) -> Journal:
    """Return ``thing`` if it is a journal, else its ``.journal``.

    Raises:
        BadInputError: It is not a journal and has none.
    """
    journal = getattr(thing, "journal", thing)
    if isinstance(journal, Journal):
        return journal
    raise BadInputError(
        f"a view needs a Journal or something with a .journal, and got {type(thing).__name__}. "
        "Journal.load(path) opens a recording; observe(uri, stream=...) makes a live one."
    )


def refuse_value(view: str, name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    """Raise, naming the nearest, when the value of an argument is not one of those allowed."""
    if value is not None and value not in allowed:
        near = get_close_matches(str(value), allowed, 1, 0.3)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInputError(f"{view}({name}={value!r}): {hint}It is one of {', '.join(map(repr, allowed))}.")


def _refuse_unknown(cls: type[View], unknown: dict[str, Any]) -> None:
    for name in unknown:
        own = (
            p for base in cls.__mro__ if issubclass(base, View) for p in signature(base.__init__).parameters
        )
        known = [p for p in dict.fromkeys(own) if p not in ("self", "unknown", "kwargs", "journal")]
        near = get_close_matches(name, known, 1, 0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"it knows {', '.join(known)}."
        raise UnknownArgumentError(f"{cls.__name__} has no argument {name!r}; {hint}")

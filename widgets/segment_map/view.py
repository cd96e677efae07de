"""Segments as rectangles: time across, key space up; below them the rates, and the cause of each scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pravega_lab.observe.group.observations import GroupObservation
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentAcquired,
    SegmentMeasured,
    SegmentRead,
    SegmentReleased,
)
from pravega_lab.observe.landmarks import scale_text
from pravega_lab.observe.stream.fold import SegmentRow, thresholds
from pravega_lab.portable.words import plural

from ..live.payload import Payload
from ..live.view import View, journal_of, refuse_value
from ..svg.picture import moment_text
from .history import MapHistory
from .rows import SegmentPacker, tier_text

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

OF_READERS = (SegmentRead, SegmentAcquired, SegmentReleased, GroupObservation)
COLOURS = ("rate", "owner", "unread")
COLUMNS = (
    "segment_id", "label", "epoch", "low", "high", "start_s", "end_s", "reader", "events_per_s",
    "bytes_per_s", "stored_bytes", "log_bytes", "tier2_bytes", "unread_bytes", "predecessors", "cause",
    "cause_kind",
)  # fmt: skip


class SegmentMap(View):
    """Draws segments as rectangles: time across (seconds since the first was seen), key space up, 0 to 1.

    Args:
        journal: A `Journal` or an observer.
        stream: ``scope/stream``; by default the first in the journal.
        colour: ``"rate"``, ``"owner"`` or ``"unread"``; by default owner where readers are known, else rate.
        key: A routing key whose line is drawn from the start.
        readers: Journals (or observers) of who reads the stream: they show what is unread and who owns it.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per segment in order of opening: segment_id, label, epoch, low, high (it owns
    (low, high]), start_s, end_s (null while active), reader, events_per_s and bytes_per_s now (null once
    sealed), stored_bytes, of which log_bytes and tier2_bytes (null where the store does not report tiers),
    unread_bytes (null where nobody's position is known), predecessors (ids), cause and cause_kind of its
    opening.
    """

    script = "segment_map"
    history: ClassVar[Any] = MapHistory

    def __init__(
        self,
        journal: Any,
        *,
        stream: str | None = None,
        colour: str | None = None,
        key: str | None = None,
        readers: Sequence[Any] = (),
        **more: Any,
    ) -> None:
        refuse_value("SegmentMap", "colour", colour, COLOURS)
        self.stream, self.colour, self.key = stream, colour, key
        self._packer = SegmentPacker()
        self.readers = {journal_of(reader): 0 for reader in readers}
        super().__init__(journal, **more)

    def _catch_up(self) -> Any:
        history = super()._catch_up()
        for journal, read_to in self.readers.items():
            for observation in journal.since(read_to, all_samples=False) if history.rows else ():
                self.readers[journal] = observation.seq + 1
                if isinstance(observation, OF_READERS) and self._wants(observation):
                    history.apply(observation)
        return history

    def _wants(self, observation: Observation) -> bool:
        stream = getattr(observation, "stream", None)
        if stream is None:
            return True
        self.stream = self.stream or stream
        return bool(stream == self.stream)

    def _look_ahead(self, history: MapHistory, observation: Observation) -> None:
        if isinstance(observation, SegmentMeasured):
            history.foresee(observation)

    def _concerns(self, source: str) -> bool:
        return not self.stream or source == self.stream or source in self._history.groups

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        return self._packer.pack(self._history, everything=everything)

    def _produce(self, everything: bool) -> Payload | None:
        with self._lock:
            is_full = self._packer.is_full(self._catch_up())
        return super()._produce(everything or is_full)

    def _facts(self) -> dict[str, Any]:
        history: MapHistory = self._history
        seen = history.streams.get(self.stream or "")
        knows = ["owner"] if history.knows_owners else []
        if any(r.read_offset is not None for r in history.rows[-64:]):
            knows.append("unread")
        if any(r.tiered_offset is not None for r in history.rows[-64:]):
            knows.append("tiers")
        return {
            "stream": self.stream or "",
            "title": self.title or self.stream or self._observed or "no stream yet",
            "readers": list(history.readers),
            "thresholds": [[t.rate, t.label] for t in thresholds(seen)],
            "rate_unit": self._rate_unit(),
            "events_how": next((r.events_how for r in history.rows[-16:] if r.events_how), ""),
            "colour": self.colour or ("owner" if history.knows_owners else "rate"),
            "has_group": bool(history.groups),
            "key": self.key,
            "knows": knows,
            "left_out": self._left_out(),
            "empty": ["No segments yet: run this, and watch them open.", _EMPTY_CODE],
        }

    def _left_out(self) -> str:
        dropped, together = self._history.samples_dropped, self._packer.left_out
        oldest = f"oldest {dropped:,}" if dropped else "oldest" if self._begins_late else ""
        texts = [f"the {oldest} rates are left out" if oldest else ""]
        if together:
            n = len(self._history.rows)
            texts.append(f"{n - together:,} of {n:,} segments drawn, the oldest {together:,} only together")
        return "; ".join(text for text in texts if text)

    def _rate_unit(self) -> str:
        """Return events per second, unless the policy counts bytes or no source counts events."""
        history: MapHistory = self._history
        seen = history.streams.get(self.stream or "")
        if seen is not None and seen.policy == "kbytes":
            return "bytes/s"
        if seen is not None and seen.policy == "events":
            return "events/s"
        told = any(r.events_how for r in history.rows[-64:])
        return "events/s" if told or not history.samples else "bytes/s"

    # Table, words and pictures.

    def _frame_of(self, history: MapHistory) -> pd.DataFrame:
        from pravega_lab.portable.frames import pd

        start_ms = history.start_ms or 0
        causes = {(s.stream, i): s for s in history.scales for i in s.created}
        rows = [_frame_row(r, start_ms, causes.get((r.stream, r.segment_id))) for r in history.rows]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        sizes = ("stored_bytes", "log_bytes", "tier2_bytes", "unread_bytes")
        nullable = {**dict.fromkeys(sizes, "Int64"), "end_s": "Float64"}
        return frame.astype({**nullable, "events_per_s": "Float64", "bytes_per_s": "Float64"})

    def _reasons(self, history: MapHistory) -> list[str]:
        start_ms = history.start_ms or 0
        scales = [
            f"{moment_text((s.time_ms - start_ms) / 1000)}: {scale_text(s)} ({s.cause_kind})"
            for s in history.scales
        ]
        return [*scales, *(f"{row.label}: {tier_text(row)}" for row in history.rows if tier_text(row))]

    def _summary(self) -> str:
        history: MapHistory = self._history
        segments = plural(len(history.rows), "segment")
        return f"{self.stream!r}, {segments}, {len(history.active):,} active, recording"

    def _rectangles(self) -> int:
        return len(self._history.rows)

    def _svg(self) -> str:
        from .picture import segment_svg

        return segment_svg(self._history, self._facts(), str(self.journal.gap), self._span_ms)

    def _png(self) -> bytes:
        from .picture import segment_png

        return segment_png(self._history, self._facts(), self._span_ms)

    def figure(self) -> Figure:
        """Return segments, and the rate of the busiest, as a plotly figure of two rows."""
        from .figures import segment_figure

        with self._lock:
            return segment_figure(self._catch_up(), self._facts())


_EMPTY_CODE = """stream = lab.create_stream("demo/flights")
stream.write(["a", "b", "c"], keys=["N1", "N2", "N3"])"""


def _frame_row(row: SegmentRow, start_ms: int, scale: Any) -> tuple[Any, ...]:
    end_s = None if row.end_ms is None else (row.end_ms - start_ms) / 1000
    stored = None if row.write_offset is None else row.write_offset - row.start_offset
    return (
        row.segment_id, row.label, row.epoch, row.low, row.high, (row.start_ms - start_ms) / 1000, end_s,
        row.reader, row.events_per_s, row.bytes_per_s, stored, row.log_bytes, row.tier2_bytes,
        row.unread_bytes, row.predecessors, scale.cause if scale else None,
        scale.cause_kind if scale else None,
    )  # fmt: skip

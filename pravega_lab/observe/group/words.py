"""Every update of a group's state log in a sentence, and its fields as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from pravega_lab.observe.group.rows import LAG_MS_PLAUSIBLE, label_of, split_segment
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import Update

_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
NAMES_MAX = 6  # listed in a sentence; more are counted


def name_of(segment: str) -> str:
    """Return a segment in words: ``#3 e1 of scope/stream``."""
    stream, segment_id = split_segment(segment)
    return f"{label_of(segment_id)} of {stream}"


def names(items: Iterable[str]) -> str:
    """Return ``a, b and c``. If there are many, return the first of them and how many more there are."""
    listed = list(items)
    more = len(listed) - NAMES_MAX
    if more > 0:
        return ", ".join(listed[:NAMES_MAX]) + f" and {more:,} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def places(positions: Mapping[str, int]) -> str:
    """Return segments and their offsets in words."""
    return names(
        f"{name_of(segment)} {'to its end' if offset == -1 else f'up to {offset:,}'}"
        for segment, offset in positions.items()
    )


def explained(update: Update) -> str:
    """Return the update as one sentence, without its effect on others."""
    return _SENTENCES[type(update)](update)


def details(update: Update) -> str:
    """Return the fields of an update as JSON, or counts for a whole state.

    What a newer client added is there in hex.
    """
    values = _summary(update) if isinstance(update, _WHOLE) else _fields(update)
    left = update.leftover
    unread = [data for _, data in left.unknown] + [tail for tail in left.tails if tail]
    if unread:
        values["leftover"] = [data.hex() for data in unread]
    return _ENCODE(values)


_WHOLE = (rg.ReaderGroupStateInit, rg.CompactReaderGroupState)


def _fields(update: Update) -> dict[str, Any]:
    return {f.name: _plain(getattr(update, f.name)) for f in fields(update) if f.name != "leftover"}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key.segment if isinstance(key, rg.SegmentWithRange) else key: v for key, v in value.items()}
    return value


def _summary(update: Any) -> dict[str, Any]:
    config = update.config
    summary = {
        "streams": list(config.starting_stream_cuts),
        "generation": config.generation,
        "automatic_checkpoint_interval_ms": config.automatic_checkpoint_interval_ms,
        "updating_config": update.updating_config,
        "end_segments": len(update.end_segments),
    }
    if isinstance(update, rg.ReaderGroupStateInit):
        return summary | {"start_segments": len(update.start_segments)}
    return summary | {
        "readers": list(update.assigned_segments),
        "assigned": sum(map(len, update.assigned_segments.values())),
        "unassigned": len(update.unassigned_segments),
        "future": len(update.future_segments),
        "checkpoints": list(update.checkpoint_state.checkpoints),
    }


def _init(update: rg.ReaderGroupStateInit) -> str:
    streams = names(update.config.starting_stream_cuts)
    return f"the group begins to read {streams}: {len(update.start_segments):,} segments, no readers"


def _compact(update: rg.CompactReaderGroupState) -> str:
    return (
        f"the whole state in one update, so that the log before it can go: "
        f"{len(update.assigned_segments):,} readers, {len(update.unassigned_segments):,} segments without one"
    )


def _remove_reader(update: rg.RemoveReader) -> str:
    if not update.positions:
        return f"{update.reader} is offline; no positions given, so its segments go on where they are stored"
    return f"{update.reader} is offline; it had read {places(update.positions)}"


def _distance(update: rg.UpdateDistanceToTail) -> str:
    if update.distance_to_tail >= LAG_MS_PLAUSIBLE:
        return f"{update.reader} wrote its clock as its distance to the tail, as Java's readers do"
    return f"{update.reader} says it is {update.distance_to_tail:,} ms behind"


def _completed(update: rg.SegmentCompleted) -> str:
    after = names(name_of(segment) for segment in update.successors)
    return f"{update.reader} read {name_of(update.segment)} to its end; " + (
        f"next: {after}" if after else "nothing follows it"
    )


def _passed(update: rg.CheckpointReader) -> str:
    at = f" with {places(update.positions)}" if update.positions else " holding nothing"
    return f"{update.reader} passed checkpoint {update.checkpoint_id}{at}"


def _published(update: rg.UpdateCheckpointPublished) -> str:
    if update.is_published:
        return "the controller knows the last checkpoint, so what was read before it may be dropped"
    return "the last checkpoint has still to be told to the controller"


def _updating(update: rg.UpdatingConfig) -> str:
    return f"a reset of the group {'begins' if update.updating_config else 'is over'}"


_SENTENCES: dict[type[Update], Callable[[Any], str]] = {
    rg.ReaderGroupStateInit: _init,
    rg.CompactReaderGroupState: _compact,
    rg.AddReader: lambda u: f"{u.reader} came online",
    rg.RemoveReader: _remove_reader,
    rg.ReleaseSegment: lambda u: f"{u.reader} gave {name_of(u.segment)} back at {u.offset:,}",
    rg.AcquireSegment: lambda u: f"{u.reader} took {name_of(u.segment)}",
    rg.UpdateDistanceToTail: _distance,
    rg.SegmentCompleted: _completed,
    rg.CheckpointReader: _passed,
    rg.CreateCheckpoint: lambda u: f"checkpoint {u.checkpoint_id} was asked for",
    rg.ClearCheckpointsBefore: lambda u: f"checkpoints before {u.checkpoint_id} are forgotten",
    rg.UpdateCheckpointPublished: _published,
    rg.UpdatingConfig: _updating,
    rg.RemoveOutstandingCheckpoints: lambda _: "the checkpoints that wait for readers were cancelled",
}

"""`Limits`: how much of the store one client, or all clients together, may take.

Each field is an option of ``pravega-lab standalone`` (``stream_segments`` is ``--max-stream-segments``).
docs/store.md has a table of them.
"""

from __future__ import annotations

import argparse
from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any

from pravega_lab.errors import BadInputError

MIB = 1 << 20
LIMIT_MAX = (1 << 31) - 1
"""The highest limit. The libraries that keep some of them take no larger numbers."""
DESCRIPTORS_KEPT = 128
"""File descriptors that connections never take: log files, both listening ports, gRPC's own."""


def _limit(default: int, words: str) -> Any:
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True)
class Limits:
    """The limits of one store, each a whole number from 1 to `LIMIT_MAX`.

    Raises:
        BadInputError: A limit is out of range.
    """

    connections: int = _limit(4096, "open connections, on each of both ports")
    frame_bytes: int = _limit(64 * MIB, "bytes of unfinished large frames, of all connections together")
    frame_s: int = _limit(10, "seconds for the first command, and for a large frame when room is short")
    writers: int = _limit(10_000, "writers set up on one connection")
    held_reads: int = _limit(20_000, "reads that wait for data, of all connections together")
    turn_commands: int = _limit(512, "commands of a connection before another connection has its turn")
    turn_ms: int = _limit(2, "milliseconds of a connection before another connection has its turn")
    unsynced_bytes: int = _limit(16 * MIB, "bytes of changes that wait for the disk")
    calls: int = _limit(1000, "calls of the controller at the same time")
    stream_segments: int = _limit(1000, "segments that a stream is created with or scaled to")
    segments: int = _limit(100_000, "segments in the store")
    turn_operations: int = _limit(200, "segments and records that a deletion changes before others go on")
    log_lines: int = _limit(10, "lines of one kind that are logged in ten seconds")

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not isinstance(value, int) or not 1 <= value <= LIMIT_MAX:
                raise BadInputError(f"{_option(limit)} {value}: give a whole number from 1 to {LIMIT_MAX}")

    def options(self) -> list[str]:
        """Return the arguments of ``pravega-lab standalone`` that set the limits which are not defaults."""
        changed = [limit for limit in fields(self) if getattr(self, limit.name) != limit.default]
        return [text for limit in changed for text in (_option(limit), str(getattr(self, limit.name)))]

    def within(self, descriptors: int) -> Limits:
        """Return these limits with no more connections than ``descriptors`` file descriptors allow.

        Both ports take connections, so each gets half of what is left for them.
        """
        room = max(1, (descriptors - DESCRIPTORS_KEPT) // 2)
        return self if self.connections <= room else Limits(**{**asdict(self), "connections": room})


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add one option per limit to ``parser``."""
    group = parser.add_argument_group("limits", "No client can take more than this; see docs/store.md.")
    for limit in fields(Limits):
        words = f"{limit.metadata['words']} ({limit.default})"
        group.add_argument(
            _option(limit), type=_number, default=limit.default, metavar="N", dest=_name(limit), help=words
        )


def limits_of(args: argparse.Namespace) -> Limits:
    """Return the limits that the options of `add_options` set. Raises BadInputError."""
    return Limits(**{limit.name: getattr(args, _name(limit)) for limit in fields(Limits)})


def _option(limit: Field[Any]) -> str:
    return f"--max-{limit.name.replace('_', '-')}"


def _name(limit: Field[Any]) -> str:
    return f"max_{limit.name}"


def _number(text: str) -> int:
    found = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    if not 1 <= found <= LIMIT_MAX:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a limit: give a whole number from 1 to {LIMIT_MAX}"
        )
    return found

"""A journal as a file: JSON lines, a header line first, then one observation a line.

JSON lines and no columnar format, because a recording is most wanted after a crash. The file may then be cut
short, and every line before the cut can still be read.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.journal.records import from_record, header_field, to_line

VERSION = 1
PIECE_BYTES = 1 << 20  # read, or unpacked, at a time
LINE_BYTES_MAX = 16 << 20
UNPACKED_BYTES_MAX = 512 << 20  # some 2 million observations, which take about 1 GB of memory


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file holds: the observations by rising ``seq``, and what the header says about them."""

    source: str
    seed: int | None
    until_ms: int | None
    observations: list[Observation]
    gap: Gap


def write(
    path: Path,
    observations: Iterable[Observation],
    *,
    count: int,
    source: str,
    seed: int | None,
    until_ms: int | None,
    gap: Gap,
) -> None:
    """Write ``count`` observations, packed if the name ends in ``.gz``.

    They go into a file next to ``path``, which is then renamed, so that no reader sees half a file.
    """
    header = {
        "journal": VERSION, "source": source, "seed": seed, "observations": count,
        "facts_dropped": gap.facts, "samples_dropped": gap.samples, "reason": gap.reason,
        "until_ms": until_ms,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file, _packing(file, path.suffix == ".gz") as lines:
        lines.write(json.dumps(header).encode() + b"\n")
        for observation in observations:
            lines.write(to_line(observation).encode() + b"\n")
    os.replace(part, path)


def _packing(file: BinaryIO, packed: bool) -> AbstractContextManager[IO[bytes]]:
    if packed:
        return cast("AbstractContextManager[IO[bytes]]", gzip.GzipFile("", "wb", 6, file, mtime=0))
    return nullcontext(file)


def read(path: Path, *, bytes_max: int = UNPACKED_BYTES_MAX) -> Recording:
    """Read a recording, or the intact part of one that was cut short, which its `Gap` then says.

    Raises:
        BadInputError: The file is no recording, is larger than ``bytes_max`` when it is unpacked, or has a
            value that no journal writes. The message names the line and the field.
        FileNotFoundError: There is no such file.
    """
    with path.open("rb") as file:
        lines = _lines(path, file, bytes_max)
        header = _header(path, next(lines, b""))
        found: list[Observation] = []
        unknown = 0
        for number, line in enumerate(lines, 2):
            record = _record(line)
            if record is None:
                break
            try:
                observation = from_record(record)
            except BadInputError as error:
                raise BadInputError(f"{path}, line {number}: {error}.") from None
            if observation is None:
                unknown += 1
            else:
                found.append(observation)
    found.sort(key=attrgetter("seq"))  # a spill file has facts and measurements apart
    try:
        return Recording(
            source=header_field(header, "source", path.name),
            seed=header_field(header, "seed", None),
            until_ms=header_field(header, "until_ms", None),
            observations=found,
            gap=_gap(header, len(found), unknown),
        )
    except BadInputError as error:
        raise BadInputError(f"{path}, line 1: {error}.") from None


def _gap(header: dict[str, Any], intact: int, unknown: int) -> Gap:
    promised = header_field(header, "observations", None)
    reasons = [header_field(header, "reason", "")]
    if promised is not None and intact + unknown < promised:
        reasons.append(f"the file is cut short: {intact:,} of {promised:,} observations are intact")
    if unknown:
        reasons.append(f"{unknown:,} observations are of a kind that this version does not know")
    facts, samples = (header_field(header, f"{what}_dropped", None) or 0 for what in ("facts", "samples"))
    return Gap(facts, samples, "; ".join(reason for reason in reasons if reason))


def _header(path: Path, line: bytes) -> dict[str, Any]:
    header = _record(line)
    if header is None or "journal" not in header:
        raise BadInputError(
            f"{path} is no recorded journal: its first line is {line[:60]!r}. Journal.save writes one."
        )
    if header["journal"] != VERSION:
        raise BadInputError(
            f"{path} is of journal version {str(header['journal'])[:60]!r}; this pravega_lab reads {VERSION}."
        )
    return header


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # no JSON, or nested deeper than anything that we write
        return None
    return record if isinstance(record, dict) else None


def _lines(path: Path, file: BinaryIO, bytes_max: int) -> Iterator[bytes]:
    """Yield the lines that end in a line feed: what follows the last line feed was cut."""
    taken, rest = 0, b""
    for piece in _pieces(path, file):
        taken += len(piece)
        if taken > bytes_max:
            raise BadInputError(
                f"{path} has more than {bytes_max:,} bytes when it is unpacked. If you trust the file and "
                "have the memory, load it with Journal.load(path, bytes_max=…)."
            )
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > LINE_BYTES_MAX:
            raise BadInputError(
                f"{path} is no recorded journal: it has a line of more than {LINE_BYTES_MAX:,} bytes"
            )
        yield from lines


def _pieces(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """Yield the contents piece by piece; of a packed file all members, up to where it was cut."""
    data = file.read(PIECE_BYTES)
    if data[:2] != b"\x1f\x8b":
        while data:
            yield data
            data = file.read(PIECE_BYTES)
        return
    inflate = zlib.decompressobj(wbits=31)
    try:
        while data:
            yield inflate.decompress(data, PIECE_BYTES)
            if inflate.eof:
                data = inflate.unused_data or file.read(PIECE_BYTES)
                inflate = zlib.decompressobj(wbits=31)
            else:
                data = inflate.unconsumed_tail or file.read(PIECE_BYTES)
        yield inflate.flush()
    except zlib.error as error:
        raise BadInputError(f"{path}: the packed recording is damaged: {error}") from error

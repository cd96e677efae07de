"""A journal as a file: JSON lines, a header line first, then one observation a line.

JSON lines and no columnar format, because a recording is most wanted after a crash, and then the file is
cut short: every line before the cut still reads.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal import VERSION, Gap, Journal
from pravega_lab.observe.observations import Observation, from_record, to_record


def save(journal: Journal, path: Path) -> Path:
    """Write the journal beside ``path`` and move it there, so that no reader meets half a file."""
    n_observations, gap = len(journal), journal.gap
    header = {
        "journal": VERSION, "source": journal.source, "seed": journal.seed, "observations": n_observations,
        "facts_dropped": gap.facts, "samples_dropped": gap.samples, "reason": gap.reason,
        "until_ms": journal.until_ms,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file, _packing(file, path.suffix == ".gz") as lines:
        lines.write(json.dumps(header).encode() + b"\n")
        for observation in islice(journal.iterate(), n_observations):  # more may come meanwhile
            lines.write(json.dumps(to_record(observation), separators=(",", ":")).encode() + b"\n")
    os.replace(part, path)
    return path


def _packing(file: BinaryIO, packed: bool) -> AbstractContextManager[IO[bytes]]:
    if packed:
        return cast("AbstractContextManager[IO[bytes]]", gzip.GzipFile("", "wb", 6, file, mtime=0))
    return nullcontext(file)


def load(path: Path) -> Journal:
    """Open a recording.

    Raises:
        BadInputError: The file is no recording; the message says what was found.
        FileNotFoundError: There is no such file.
    """
    lines = iter(_whole_lines(path))
    header = _header(path, next(lines, b""))
    journal = Journal(
        str(header.get("source", path.name)), capacity=2**62, seed=header.get("seed"), live=False
    )
    unknown = 0
    found: list[Observation] = []
    for line in lines:
        record = _record(line)
        if record is None:
            break
        observation = from_record(record)
        if observation is None:
            unknown += 1
        else:
            found.append(observation)
    journal.extend(sorted(found, key=attrgetter("seq")))  # a spill file has facts and measurements apart
    journal.until_ms = header.get("until_ms")
    journal.adopt(_gap(header, len(journal), unknown))
    return journal


def _gap(header: dict[str, Any], intact: int, unknown: int) -> Gap:
    promised = int(header.get("observations", intact))
    reasons = [str(header.get("reason") or "")]
    if intact + unknown < promised:
        reasons.append(f"the file is cut short: {intact:,} of {promised:,} observations are intact")
    if unknown:
        reasons.append(f"{unknown:,} observations are of a kind that this version does not know")
    reason = "; ".join(r for r in reasons if r)
    return Gap(int(header.get("facts_dropped", 0)), int(header.get("samples_dropped", 0)), reason)


def _header(path: Path, line: bytes) -> dict[str, Any]:
    header = _record(line)
    if header is None or "journal" not in header:
        raise BadInputError(
            f"{path} is no recorded journal: its first line is {line[:60]!r}. Journal.save writes one."
        )
    if header["journal"] != VERSION:
        raise BadInputError(
            f"{path} is of journal version {header['journal']}; this pravega_lab reads {VERSION}."
        )
    return header


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The lines that end in a line feed: what follows the last one was cut."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = _unpacked(data)
    yield from data.split(b"\n")[:-1]


def _unpacked(data: bytes) -> bytes:
    """All members of a gzip file, up to where it was cut off."""
    found = bytearray()
    try:
        while data:
            inflate = zlib.decompressobj(wbits=31)
            found += inflate.decompress(data)
            data = inflate.unused_data
    except zlib.error as error:
        raise BadInputError(f"the packed recording is damaged: {error}") from error
    return bytes(found)

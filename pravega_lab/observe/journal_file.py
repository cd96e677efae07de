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
from pathlib import Path
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal import Gap, Journal
from pravega_lab.observe.observations import from_record, to_record

VERSION = 1


def save(journal: Journal, path: Path) -> Path:
    """Write the journal beside ``path`` and move it there, so that no reader meets half a file."""
    observations, gap = journal.since(), journal.gap
    header = {
        "journal": VERSION, "source": journal.source, "seed": journal.seed, "observations": len(observations),
        "facts_dropped": gap.facts, "samples_dropped": gap.samples, "reason": gap.reason,
        "until_ms": journal.until_ms,
    }  # fmt: skip
    lines = [json.dumps(header), *(json.dumps(to_record(o), separators=(",", ":")) for o in observations)]
    data = ("\n".join(lines) + "\n").encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data)
    os.replace(part, path)
    return path


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
    for line in lines:
        record = _record(line)
        if record is None:
            break
        observation = from_record(record)
        if observation is None:
            unknown += 1
        else:
            journal.append(observation)
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
    inflate = zlib.decompressobj(wbits=31)
    try:
        return inflate.decompress(data)
    except zlib.error as error:
        raise BadInputError(f"the packed recording is damaged: {error}") from error

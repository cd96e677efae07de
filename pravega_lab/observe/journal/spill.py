"""`Spill`: what a journal has no room for in memory, in a file: packed blocks of JSON lines, found again
by ``seq``.

The file is a gzip file of many members whose first line is a journal's header. So `Journal.load` can open
the file of a program that died. One journal writes it, under its lock.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, cast

from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.journal.outline import WHOLE, outline_of_lines
from pravega_lab.observe.journal.records import from_record, to_line

BLOCK = 1_000  # observations packed together
BYTES_MAX = 4 * 1024**3


@dataclass(frozen=True, slots=True)
class _Block:
    is_sample: bool
    last_seq: int
    last_ms: int
    at: int
    length: int
    unpacked: int


class Spill:
    """Blocks of observations in a file, each sort (facts, measurements) by rising ``seq``.

    Args:
        path: The caller's file, which does not exist yet, and stays. With None a temporary file is used,
            which is deleted with this object.
        header: The first line of the file, as `file.write` writes it.
        bytes_max: The largest size of the file; `add` refuses more.

    Raises:
        OSError: The file exists, or cannot be created.
    """

    def __init__(self, path: Path | None, header: dict[str, object], *, bytes_max: int = BYTES_MAX) -> None:
        self.path = path
        self.n_bytes = 0
        self.n_kept = 0
        self._bytes_max = bytes_max
        self._blocks: list[_Block] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryFile() if path is None else path.open("x+b")  # noqa: SIM115 - lives on
        self._file = cast(BinaryIO, made)
        self._write(json.dumps(header).encode() + b"\n")

    def add(self, items: Sequence[Observation]) -> int:
        """Keep these items, and return how many of them there was room for.

        Args:
            items: Of one sort, and later than those before.

        Raises:
            OSError: The disk is full, or the file is gone.
        """
        for start in range(0, len(items), BLOCK):
            part = items[start : start + BLOCK]
            if self.n_bytes >= self._bytes_max:
                return start
            data = ("\n".join(map(to_line, part)) + "\n").encode()
            at, length = self._write(data)
            self._blocks.append(_Block(part[0].sample, part[-1].seq, part[-1].time_ms, at, length, len(data)))
            self.n_kept += len(part)
        return len(items)

    def _write(self, data: bytes) -> tuple[int, int]:
        packed = gzip.compress(data, 1, mtime=0)
        at = self._file.seek(0, 2)
        self._file.write(packed)
        self._file.flush()
        self.n_bytes = at + len(packed)
        return at, len(packed)

    @property
    def has_samples(self) -> bool:
        """Return whether measurements are here."""
        return any(block.is_sample for block in self._blocks)

    def since(self, seq: int, *, samples: bool) -> Iterator[Observation]:
        """Return the observations of one sort from ``seq`` on that are here now, with one block at a time
        in memory.

        One thread may read while another one adds.
        """
        blocks = [b for b in self._blocks if b.is_sample == samples and b.last_seq >= seq]
        return (o for block in blocks for o in self._read(block) if o.seq >= seq)

    def outline(self, until_ms: float) -> Iterator[Observation]:
        """Return an outline of the measurements that are here now, one block at a time; see `outline`."""
        blocks = [b for b in self._blocks if b.is_sample]
        later = bisect_right(blocks, until_ms, key=attrgetter("last_ms"))
        whole = blocks[max(0, later - WHOLE // BLOCK) : later + 1]
        return (_parsed(line) for b in blocks for line in self._outlined(b, until_ms, is_whole=b in whole))

    def _outlined(self, block: _Block, until_ms: float, *, is_whole: bool) -> list[bytes]:
        lines = self._lines(block)
        return lines if is_whole else outline_of_lines(lines, until_ms)

    def _read(self, block: _Block) -> Iterator[Observation]:
        return map(_parsed, self._lines(block))

    def _lines(self, block: _Block) -> list[bytes]:
        packed = os.pread(self._file.fileno(), block.length, block.at)
        return _unpacked(packed, block.unpacked).splitlines()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _parsed(line: bytes) -> Observation:
    observation = from_record(json.loads(line))
    assert observation is not None, "this program wrote it"
    return observation


def _unpacked(packed: bytes, n_bytes: int) -> bytes:
    """Return the contents of a block, which this program wrote with ``n_bytes``.

    Raises:
        OSError: Another program has changed the file.
    """
    inflate = zlib.decompressobj(wbits=31)
    try:
        data = inflate.decompress(packed, n_bytes + 1)
    except zlib.error as error:
        raise OSError(f"the spill file was changed: {error}") from error
    if len(data) != n_bytes:
        raise OSError(f"the spill file was changed: a block of {n_bytes:,} bytes has another length")
    return data

"""What a store records about itself next to its log: its newest log file, its last stop in order, the tails
that recovery has cut, and its lives.

The log alone does not distinguish a torn tail from a damaged one: in both, the last group is invalid. A stop
in order leaves no torn tail, so the disk has lost any group up to the recorded one that is missing. The
record of a stop stays true while the log grows, so it need not be removed when the store starts again.

Each log file names the one before it, so only the newest can disappear without a trace in the others. It is
recorded here when it exists, and before a group is written to it. A file that is recorded and missing was
therefore removed, whenever the store crashed.

A store with tier 2 records the tag of each life before it writes anything there. What a life that is not
recorded here has written is of another store with the same id, which began as a copy.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass, replace
from zlib import crc32

from ..errors import CorruptStoreError, check_version
from . import values
from .disk import Disk

HISTORY_NAME = "history"
HISTORY_VERSION = 3
CUTS_REMEMBERED = LIVES_REMEMBERED = 1000
UNRECORDED_LIFE = "00000000"
"""The tag of a life that could not be recorded, because the disk had no room yet."""

_NAME = b"PLHIST"
_MAGIC_BYTES = len(_NAME) + 2
_HEADER = struct.Struct(">8sI")


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop in order: the last group of the log, and the file and offset at which it ended."""

    sequence: int
    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A torn tail that recovery cut: ``length`` bytes at ``offset`` of ``file``, after group ``sequence``.

    ``log_ms`` is the time of the last group, in ms since 1970.
    """

    file: str
    offset: int
    length: int
    sequence: int
    log_ms: int


@dataclass(frozen=True, slots=True)
class History:
    """The last stop in order, if there was one, and the latest cuts, oldest first.

    ``newest_file`` is the highest id of a log file into which groups may have been written, 0 if none was
    recorded. ``lives`` are the tags of the latest lives with tier 2, this one last.
    """

    stop: Stop | None = None
    cuts: tuple[Cut, ...] = ()
    newest_file: int = 0
    lives: tuple[str, ...] = (UNRECORDED_LIFE,)

    def with_cuts(self, cuts: list[Cut]) -> History:
        """Return the history with these cuts too. One that was recorded before is recorded once."""
        every = tuple(dict.fromkeys((*self.cuts, *cuts)))
        return replace(self, cuts=every[-CUTS_REMEMBERED:])

    def without_lives(self) -> History:
        """Return the history without the lives, for a store that was restored from a backup."""
        return replace(self, lives=(UNRECORDED_LIFE,))

    def with_life(self, life: str) -> History:
        """Return the history with the tag of one more life."""
        return replace(self, lives=(*self.lives, life)[-LIVES_REMEMBERED:])


def encode_history(history: History) -> bytes:
    """Return the bytes of the file. Without a recorded life they have version 2, which has no lives."""
    stop = None if history.stop is None else astuple(history.stop)
    cuts = tuple(astuple(cut) for cut in history.cuts)
    lives = () if history.lives == (UNRECORDED_LIFE,) else (history.lives,)
    body = values.encode((stop, cuts, history.newest_file, *lives))
    return _HEADER.pack(_NAME + b"%02d" % (HISTORY_VERSION if lives else 2), crc32(body)) + body


def read_history(disk: Disk) -> History:
    """Return the history on ``disk``. It is empty in a store that an older release wrote.

    Raises:
        StoreVersionError: Another release wrote it, in a format that this one does not read.
        CorruptStoreError: It is damaged.
    """
    files = disk.files()
    if HISTORY_NAME not in files:
        return History()
    data = disk.read(HISTORY_NAME, 0, files[HISTORY_NAME])
    version = data[len(_NAME) : _MAGIC_BYTES]
    is_history = data.startswith(_NAME) and version.isdigit()
    if is_history:
        check_version(HISTORY_NAME, int(version), HISTORY_VERSION, oldest=1)
    body = data[_HEADER.size :]
    if not is_history or len(data) < _HEADER.size or _HEADER.unpack_from(data)[1] != crc32(body):
        raise CorruptStoreError(
            f"The file {HISTORY_NAME!r} of the store is damaged at offset 0 (checksum). It says whether the"
            " store was stopped in order. Restore the folder from a copy, or delete this file: the store then"
            " opens as after a crash. A damaged end of the log is then taken for a torn one, and nothing"
            " shows whether the newest log file is missing. Of a store with tier 2, delete the object 'owner'"
            " there, too, if no copy of this store uses it."
        )
    (stop, cuts, *rest), _ = values.decode(body)  # version 1 ends with the cuts, version 2 with the file
    return History(None if stop is None else Stop(*stop), tuple(Cut(*cut) for cut in cuts), *rest)

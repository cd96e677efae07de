"""The cut of a checkpoint and its barrier on one line per segment, as a static picture and in words.

The picture shows what the checkpoint stored, what passed the barrier, and where reading resumed after a
failure. What lies between the place of resumption and the barrier was copied twice, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..svg.palette import NONE, READERS, SOFT, TEXT, VERMILION
from ..svg.picture import Picture, steps
from .drawing import Drawing

if TYPE_CHECKING:
    import pandas as pd

WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 900, 70, 690, 52, 42, 14
PASSED = READERS[4]


@dataclass(frozen=True)
class CutLine:
    """Describes one segment; all places count the events before them.

    Args:
        segment: Its name.
        events: The number of its events.
        barrier: The number of events before the barrier.
        kept: Who stored a position, and which one the checkpoint has.
        read_on: Where the job resumed; ``events`` if it read nothing more of the segment.
        lost: The number of events that are missing in the result.
        doubled: The number of events that are in the result twice.
    """

    segment: str
    events: int
    barrier: int
    kept: tuple[tuple[str, int], ...]
    read_on: int
    lost: int
    doubled: int

    @property
    def words(self) -> str:
        """Return the line as a sentence."""
        kept = ", ".join(f"{at}{f' ({who})' if who else ''}" for who, at in self.kept) or "in no state"
        said = f"{self.segment}: barrier {self.barrier}, kept {kept}, resumed at {self.read_on}"
        return f"{said} of {self.events}: {self.outcome}"

    @property
    def outcome(self) -> str:
        """What became of the events, such as ``15 doubled``."""
        parts = [f"{n} {what}" for n, what in ((self.lost, "lost"), (self.doubled, "doubled")) if n]
        return " and ".join(parts) or "exact"


class CutPicture(Drawing):
    """Shows a line per segment. ``frame`` has the same as a table."""

    def __init__(self, title: str, rest: str, lines: Sequence[CutLine]) -> None:
        self.lines = list(lines)
        name = f"{title}, {rest}"
        picture = Picture(WIDTH, TOP + ROW * len(self.lines) + 26, name)
        picture.heading(title, rest)
        _legend(picture)
        most = max((line.events for line in self.lines), default=0) or 1
        for n, line in enumerate(self.lines):
            _draw(picture, line, TOP + ROW * n, (RIGHT - LEFT) / most)
        _axis(picture, TOP + ROW * len(self.lines) + 6, most)
        super().__init__(picture, [name, *(line.words for line in self.lines)])

    @property
    def frame(self) -> pd.DataFrame:
        """A table with the columns of `CutLine`."""
        from pravega_lab.portable.frames import pd

        return pd.DataFrame([asdict(line) for line in self.lines])


def _legend(picture: Picture) -> None:
    y = 36
    picture.rect(LEFT, y - 9, 18, 9, PASSED)
    picture.text(LEFT + 24, y, "before the barrier")
    _barrier(picture, LEFT + 146, y - 11, 13)
    picture.text(LEFT + 154, y, "barrier")
    _kept(picture, LEFT + 216, y - 4)
    picture.text(LEFT + 226, y, "kept in the checkpoint")
    _read_on(picture, LEFT + 366, y - 4)
    picture.text(LEFT + 380, y, "resumed there")
    picture.rect(LEFT + 470, y - 9, 18, 9, "url(#plab-hatch)")
    picture.text(LEFT + 494, y, "read twice")
    picture.rect(LEFT + 540, y - 9, 18, 9, VERMILION)
    picture.text(LEFT + 564, y, "never read")


def _axis(picture: Picture, y: float, most: int) -> None:
    picture.line(LEFT, y, RIGHT, y)
    for at in steps(0, most, 8):
        x = LEFT + (RIGHT - LEFT) * at / most
        picture.line(x, y, x, y + 4)
        picture.text(x, y + 15, f"{at:.0f}", anchor="middle")
    picture.text(RIGHT + 14, y + 15, "events of the segment")


def _draw(picture: Picture, line: CutLine, y: float, unit: float) -> None:
    def x(events: int) -> float:
        return LEFT + events * unit

    top = y + ROW - BAR - 12
    middle = top + BAR / 2
    picture.text(LEFT - 8, middle + 4, line.segment, size=12, anchor="end", fill=TEXT)
    picture.rect(LEFT, top, line.events * unit, BAR, "none", f'stroke="{NONE}"', line.words)
    if line.barrier:
        picture.rect(LEFT, top, line.barrier * unit, BAR, PASSED)
    low, high = sorted((line.barrier, line.read_on))
    if line.doubled or line.lost:
        fill = "url(#plab-hatch)" if line.doubled else VERMILION
        picture.rect(x(low), top, (high - low) * unit, BAR, fill)
    _barrier(picture, x(line.barrier), top - 6, BAR + 12)
    for _, at in line.kept:
        _kept(picture, x(at), top - 7)
    _read_on(picture, x(line.read_on), top + BAR + 6)
    wrong = bool(line.lost or line.doubled)
    colour, weight = (VERMILION, 'font-weight="600"') if wrong else (SOFT, "")
    picture.text(RIGHT + 14, middle + 4, line.outcome, size=12, fill=colour, extra=weight)
    if not line.kept:
        picture.text(RIGHT + 110, middle + 4, "in no state")


def _barrier(picture: Picture, x: float, y: float, height: float) -> None:
    picture.rect(x - 1.5, y, 3, height, READERS[0])


def _kept(picture: Picture, x: float, y: float) -> None:
    picture.path(f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5Z", f'fill="{TEXT}" shape-rendering="auto"')


def _read_on(picture: Picture, x: float, y: float) -> None:
    picture.path(
        f"M{x:.1f} {y - 5:.1f}l9 5l-9 5Z",
        f'fill="{READERS[1]}" stroke="{TEXT}" stroke-width="0.6" shape-rendering="auto"',
    )

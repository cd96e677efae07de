"""Shares of several groups as bars, drawn once: in how many of its runs each form went wrong, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pravega_lab.errors import BadInputError

from ..svg.palette import LINE, SOFT, TEXT, VERMILION, reader_colour
from ..svg.picture import Picture
from .drawing import Drawing

WIDTH, LEFT, RIGHT, TOP = 900, 264, 768, 48
BAR, GAP = 11, 14


@dataclass(frozen=True)
class Share:
    """``part`` of ``whole``; ``note`` is the text after the bar."""

    part: int
    whole: int
    note: str = ""

    @property
    def percent(self) -> float:
        """The share in percent; 0 where the whole is 0."""
        return 100 * self.part / self.whole if self.whole else 0.0


def share_picture(title: str, groups: Mapping[str, Sequence[Share]], whats: Sequence[str]) -> Drawing:
    """Draw a group of bars for each name, one bar for each of ``whats``, from 0 to 100 %.

    Args:
        whats: What a bar counts, in order; the first has the colour of loss.

    Raises:
        BadInputError: A group does not have one share for each of ``whats``.
    """
    for name, shares in groups.items():
        if len(shares) != len(whats):
            raise BadInputError(f"{name!r} has {len(shares)} shares, and there are {', '.join(whats)}")
    high = len(whats) * BAR + GAP
    picture = Picture(WIDTH, TOP + high * len(groups) + 26, title)
    picture.heading(title, "")
    colours = [VERMILION, *(reader_colour(n) for n in range(len(whats) - 1))]
    for n, what in enumerate(whats):
        picture.rect(LEFT + 130 * n, 24, 18, 9, colours[n])
        picture.text(LEFT + 130 * n + 24, 33, what)
    bottom = TOP + high * len(groups)
    for percent in (0, 25, 50, 75, 100):
        x = LEFT + (RIGHT - LEFT) * percent / 100
        picture.line(x, TOP - 4, x, bottom, LINE)
        picture.text(x, bottom + 14, f"{percent} %", anchor="middle")
    words = [title]
    for n, (name, shares) in enumerate(groups.items()):
        y = TOP + high * n
        picture.text(LEFT - 8, y + high / 2, name, size=12, anchor="end", fill=TEXT)
        for k, share in enumerate(shares):
            _bar(picture, y + BAR * k, share, colours[k])
        said = (f"{s.part} of {s.whole} {what}" for s, what in zip(shares, whats, strict=True) if s.part)
        words.append(f"{name}: {', '.join(said) or 'none'}")
    return Drawing(picture, words)


def _bar(picture: Picture, y: float, share: Share, colour: str) -> None:
    width = (RIGHT - LEFT) * share.percent / 100
    if share.part:
        picture.rect(LEFT, y, width, BAR - 2, colour)
        note = f" · {share.note}" if share.note else ""
        picture.text(LEFT + width + 5, y + BAR - 3, f"{share.part}{note}", fill=SOFT)

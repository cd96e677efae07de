"""Colours of the static pictures; `common.js` has the same.

Okabe-Ito. Vermilion means failure or loss and nothing else, so no reader gets it.
"""

from __future__ import annotations

READERS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")
VERMILION = "#D55E00"
TEXT, SOFT, LINE, NONE, COLD, HOT = "#1a1a1a", "#555555", "#d0d0d0", "#c4c4c4", "#dcebf6", "#08519c"


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(a: str, b: str, t: float) -> str:
    """Between two colours; ``t`` from 0 to 1."""
    return "#" + "".join(f"{round(x + (y - x) * t):02x}" for x, y in zip(rgb(a), rgb(b), strict=True))


def ink(colour: str) -> str:
    """Black or white, whichever reads better on this colour."""
    red, green, blue = rgb(colour)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def reader_colour(place: int) -> str:
    """The colour of the reader that joined as number ``place``, from 0."""
    return READERS[place % len(READERS)]

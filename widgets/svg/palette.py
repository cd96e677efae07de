"""Colours of the static pictures; the page's ``colours.ts`` has the same.

The palette is Okabe-Ito's. Vermilion means failure or loss and nothing else, so no reader gets it.
"""

from __future__ import annotations

READERS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")
VERMILION = "#D55E00"
TEXT, SOFT, LINE, NONE, COLD, HOT = "#1a1a1a", "#555555", "#d0d0d0", "#c4c4c4", "#dcebf6", "#08519c"
THEMED = "plab-picture"

GROUND = "#ffffff"
# Colours on a light ground, and what they become on a dark one. Marks of readers keep theirs.
_ON_DARK = {
    GROUND: "#111111", TEXT: "#e6e6e6", SOFT: "#b4b4b4", LINE: "#4a4a4a", NONE: "#5a5a5a",
    "#888888": "#8c8c8c", "#f4f4f4": "#222222", "#f6f6f6": "#1c1c1c", "#eeeeee": "#2a2a2a",
    "#007a56": "#3fcf9f", "#c04d00": "#ff8a4c",  # the verdicts of a ledger
    "#cfe3f3": "#1f4a6b", "#fbe3b5": "#5f4410", "#fbe5d8": "#5a2c12",  # pale grounds of text
}  # fmt: skip

_TEXT_ON_DARK = {VERMILION: "#ff8a4c", READERS[0]: "#56a8e0"}  # of text; marks keep these colours


def on_dark(colour: str) -> str:
    """Return what a colour of text becomes on a dark ground."""
    return (_ON_DARK | _TEXT_ON_DARK).get(colour, colour)


def _style() -> str:
    """Return style rules for light and dark grounds.

    An inline picture follows the theme of JupyterLab or nbconvert, and elsewhere the colour scheme that its
    page declares. A page that declares none is white, also in a dark browser. A picture in an ``<img>``
    follows the colour scheme of the image if the page declares one (the style sheet passes on JupyterLab's),
    or else the browser's. A viewer that ignores the rules draws it light.
    """
    rules = ["svg:root{color-scheme:light dark}"]
    rules += [f"[data-jp-theme-light=true] .{THEMED}{{color-scheme:light}}"]
    rules += [f"[data-jp-theme-light=false] .{THEMED}{{color-scheme:dark}}"]
    for light, dark in _ON_DARK.items():
        fill = f'{":not(text)" if light == GROUND else ""}[fill="{light}"]'  # white letters are on colours
        rules += [f".{THEMED} {fill}{{fill:light-dark({light},{dark})}}"]
        rules += [f'.{THEMED} [stroke="{light}"]{{stroke:light-dark({light},{dark})}}']
    for light, dark in _TEXT_ON_DARK.items():
        rules += [f'.{THEMED} text[fill="{light}"]{{fill:light-dark({light},{dark})}}']
    return "".join(rules)


STYLE = f"<style>{_style()}</style>"
HALO = 'stroke="#ffffff" stroke-width="3" paint-order="stroke"'  # of text on lines and on every colour


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#rrggbb``, each from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(a: str, b: str, t: float) -> str:
    """Return the colour between ``a`` and ``b``; ``t`` is from 0 to 1."""
    return "#" + "".join(f"{round(x + (y - x) * t):02x}" for x, y in zip(rgb(a), rgb(b), strict=True))


def ink(colour: str) -> str:
    """Return black or white, whichever reads better on this colour."""
    red, green, blue = rgb(colour)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def reader_colour(place: int) -> str:
    """Return the colour of the reader that joined as number ``place``, from 0."""
    return READERS[place % len(READERS)]

"""The one way from data to a terminal: control characters are spelled out, and nothing is markup.

Names, events and messages come from a cluster. A terminal obeys the escape sequences in them (it changes
its title, moves the cursor, makes links), and `rich` obeys brackets. So the screens of this folder show every
text by way of `shown`, and print on the `console` of this module.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Control and formatting characters (escape, bidirectional overrides, zero width), lone surrogates, and the
# two separators that break a line.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def printable(text: str, *, keep: str = "") -> str:
    r"""Return ``text`` with control characters spelled out: ``\x1b`` for an escape.

    Args:
        keep: Control characters that stay as they are, a line feed for example.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in _HIDDEN and char not in keep
        else char
        for char in text
    )


def shown(text: str, style: str = "") -> Text:
    """Return ``text`` as `rich` prints it character by character, without control characters."""
    from rich.text import Text

    return Text(printable(text), style)


def console() -> Console:
    """Return a console that takes no string for markup, emoji or something to highlight."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)

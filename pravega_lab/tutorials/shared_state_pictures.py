"""The pictures of tutorial 15: the entries of a log, and the partitions of a key-value table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.svg.palette import SOFT, TEXT, VERMILION
from pravega_lab.widgets.svg.picture import Picture

BOX, ROW, LEFT = 148, 40, 12
HERE, THERE = "#cfe3f3", "#fbe3b5"


def log_picture(title: str, entries: Sequence[tuple[str, str, int]], refused: Sequence[str] = ()) -> Drawing:
    """Draw a log: each entry as (who, what, offset after it), and attempts that were refused, below it.

    Entries of this program are blue, those of the other one yellow, refused attempts outlined in vermilion.
    """
    picture = Picture(
        LEFT + (BOX + 10) * max(len(entries), len(refused), 3) + 10, 120 + 36 * bool(refused), title
    )
    picture.heading(title, "blue: this program, yellow: the other one")
    words = [title]
    for n, (who, what, end) in enumerate(entries):
        x = LEFT + n * (BOX + 10)
        picture.rect(x, 36, BOX, 30, HERE if who == "here" else THERE, f'stroke="{TEXT}" stroke-width="0.8"')
        picture.text(x + BOX / 2, 55, what, size=12, anchor="middle", fill=TEXT)
        picture.text(x + BOX, 82, str(end), size=11, anchor="end", fill=SOFT)
        words.append(f"- {who}: {what}; the log ends at {end}")
    for n, what in enumerate(refused):
        x = LEFT + n * (BOX + 10)
        picture.rect(x, 100, BOX, 30, "#ffffff", f'stroke="{VERMILION}" stroke-dasharray="4 3"')
        picture.text(x + BOX / 2, 119, what, size=12, anchor="middle", fill=TEXT)
        words.append(f"- refused: {what}")
    return Drawing(picture, words)


def partitions_picture(title: str, keys: Mapping[int, Sequence[str]]) -> Drawing:
    """Draw the partitions of a table, each with the primary keys in it."""
    rows = max((len(found) for found in keys.values()), default=0)
    picture = Picture(LEFT + (BOX + 10) * len(keys) + 10, 76 + 20 * rows, title)
    picture.heading(title, "a box for each partition, with its primary keys")
    words = [title]
    for n, (segment, found) in enumerate(keys.items()):
        x = LEFT + n * (BOX + 10)
        picture.rect(x, 36, BOX, 26 + 20 * rows, HERE, f'stroke="{TEXT}" stroke-width="0.8"')
        picture.text(x + 8, 53, f"segment {segment}", size=12, fill=TEXT, extra='font-weight="600"')
        for row, key in enumerate(found):
            picture.text(x + 8, 74 + 20 * row, key, size=12, fill=TEXT)
        words.append(f"- segment {segment}: {', '.join(found) or 'empty'}")
    return Drawing(picture, words)

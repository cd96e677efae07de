"""What `Lab.show` and `Lab.observe` take: things with views, things to observe, and the names of streams.

`Lab` imports this module.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pravega_lab.client import Client, Stream
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.errors import BadInputError

NEAREST_MAX = 3


def has_a_view(thing: Any) -> bool:
    """Return whether `show` takes the thing as it is: a view, a board, a journal, or what has a journal."""
    from pravega_lab.observe.journal.journal import Journal

    return isinstance(getattr(thing, "journal", thing), Journal) or hasattr(thing, "views")


def observed(thing: Any) -> dict[str, Any]:
    """Return the argument of `observe` for a stream, a group, or anything else: query, driver or folder."""
    if isinstance(thing, ReaderGroup):
        return {"group": thing.scoped_name}
    return {"stream": thing.scoped_name} if isinstance(thing, Stream) else {"query": thing}


def named(text: str, scoped_name: str, client: Client) -> Stream | str:
    """Return the stream ``scoped_name`` if it exists, else ``text``, as for a path that exists."""
    if _is_path(text):
        return text
    try:
        stream = client.stream(scoped_name)
        return stream if stream.exists() else text
    except BadInputError:  # no name that a stream can have
        return text


def check_text(thing: Any, client: Client) -> None:
    """Refuse a text that `named` returned as it is, unless it is a path that exists.

    Raises:
        BadInputError: The message says what `show` takes, and which streams have the nearest names.
    """
    if not isinstance(thing, str) or _is_path(thing):
        return
    names = [f"{scope}/{name}" for scope in client.list_scopes() for name in client.list_streams(scope)]
    nearest = get_close_matches(thing, names, NEAREST_MAX, 0.0)
    found = (
        f"The streams with the nearest names: {', '.join(nearest)}"
        if nearest
        else "The store has no stream yet"
    )
    raise BadInputError(
        f"show({thing!r}): there is no stream {thing!r}, and no file or folder of that name. show takes a"
        " stream, a reader group, a query, a driver, a journal or a view. A text is the name of a stream, or"
        f" the path of a checkpoint folder or progress file that exists. {found}"
    )


def _is_path(text: str) -> bool:
    path = text.removeprefix("file:")
    return bool(path) and Path(path).exists()

"""`reset` is the last cell of every tutorial: it cleans up and says what it did."""

from __future__ import annotations

from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable.words import plural
from pravega_lab.tutorials.learning.checking import wrong_answers
from pravega_lab.tutorials.learning.predictions import predictions


def reset(*things: Any) -> None:
    """Close what a tutorial made, forget its predictions and wrong answers, and print what was done.

    Args:
        things: Labs, readers, observers, temporary folders: anything with ``close()`` or ``cleanup()``. They
            are closed in the order given; a lab also closes its own store.

    Raises:
        BadInputError: A thing has neither; in that case nothing was closed.
    """
    for thing in things:
        _way_to_close(thing)
    for thing in things:
        _way_to_close(thing)()
        print(f"{_name(thing)}.")
    made = sum(prediction.is_made for prediction in predictions.values())
    print(f"Forgotten: {plural(made, 'prediction')}, {plural(sum(wrong_answers.values()), 'wrong answer')}.")
    predictions.clear()
    wrong_answers.clear()
    print("To begin again, run the notebook from the top.")


def _way_to_close(thing: Any) -> Any:
    for name in ("close", "cleanup"):
        if callable(way := getattr(thing, name, None)):
            return way
    kind = type(thing).__name__
    raise BadInputError(f"reset() closes labs, readers and folders; {kind} has no close() and no cleanup()")


def _name(thing: Any) -> str:
    kind = type(thing).__name__
    if kind == "Lab":
        ours = getattr(thing, "store", None)
        if ours is None:
            return f"Lab closed; the store at {thing.uri} was joined and continues, with all that is in it"
        return "Lab closed, and its store with it"
    if kind == "TemporaryDirectory":
        return "Temporary folder removed"
    return f"{thing!r} closed"

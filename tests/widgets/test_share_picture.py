"""Bars of shares: what is in the picture is in the words, and nothing is drawn of what did not happen."""

from __future__ import annotations

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.widgets.drawings.share_picture import Share, share_picture
from pravega_lab.widgets.svg.palette import VERMILION
from tests.widgets.pictures import drawn

WHATS = ("lost", "doubled")


def test_it_says_what_it_draws() -> None:
    made = share_picture(
        "Runs", {"one": [Share(0, 8), Share(2, 8, "7 rows")], "two": [Share(0, 8)] * 2}, WHATS
    )
    assert repr(made).splitlines() == ["Runs", "one: 2 of 8 doubled", "two: none"]
    assert "2 · 7 rows" in made.svg
    assert drawn(made.svg).count(VERMILION) == 1  # the legend's
    assert 'width="126"' in made.svg  # a quarter


def test_every_group_needs_every_share() -> None:
    with pytest.raises(BadInputError, match="'one' has 1 shares, and there are lost, doubled"):
        share_picture("Runs", {"one": [Share(0, 8)]}, WHATS)

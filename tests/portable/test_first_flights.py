"""What a browser has in place of the table of the flights, and of pandas, compared with both."""

from __future__ import annotations

from collections.abc import Callable

import pandas
import pytest

from pravega_lab import datasets
from pravega_lab.errors import BadInputError
from pravega_lab.portable.plain import frames
from tests.tutorials.cells_in_light import words_of


@pytest.mark.slow
def test_the_first_flights_are_those_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = datasets.flights(datasets.FIRST_FLIGHTS)
    monkeypatch.setattr(datasets, "HAVE_NO_PANDAS", True)
    found = datasets.flights(datasets.FIRST_FLIGHTS)
    assert found.events.to_pylist() == whole.events.to_pylist()
    assert found.keys.to_pylist() == whole.keys.to_pylist()
    assert datasets.flights(10).keys.to_pylist() == whole.keys.to_pylist()[:10]
    with pytest.raises(BadInputError, match=r"flights\(6000\)"):
        datasets.flights()


def test_a_crosstab_is_that_of_pandas() -> None:
    def words(series: Callable[..., object], crosstab: Callable[..., object]) -> list[str]:
        rows, columns = series([0, 4, 0, 1, 4], name="before"), series([1, 1, 2, 1, 1], name="after")
        return words_of(crosstab(rows, columns)._repr_html_())  # type: ignore[attr-defined]

    assert words(frames.Series, frames.crosstab) == words(pandas.Series, pandas.crosstab)

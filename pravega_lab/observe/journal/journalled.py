"""`Journalled`: what every observer offers of the journal that it fills: rows, sentences, a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Observation

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client.reader_group.explain import Explanation


class Journalled:
    """Base of observers. ``journal`` is theirs alone or shared with others."""

    journal: Journal

    def since(self, seq: int = 0, *, all_samples: bool = True) -> list[Observation]:
        """Return the observations from ``seq`` on; see `Journal.since`."""
        return self.journal.since(seq, all_samples=all_samples)

    def to_pandas(self, kind: str | None = None) -> pd.DataFrame:
        """Return a row for each observation; see `Journal.to_pandas`."""
        return self.journal.to_pandas(kind)

    def save(self, path: str | Path) -> Path:
        """Write a recording that `Journal.load` reads; see `Journal.save`."""
        return self.journal.save(path)

    def explain(self) -> Explanation:
        """Return sentences on the end of the journal; see `Journal.explain`."""
        return self.journal.explain()

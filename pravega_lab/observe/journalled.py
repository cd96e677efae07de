"""What every observer tells of the journal that it fills: rows, sentences, a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pravega_lab.observe.journal import Journal
from pravega_lab.observe.observations import Observation

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.client.reader_group.explain import Explanation


class Journalled:
    """Base of observers; ``journal`` is theirs alone or shared with others."""

    journal: Journal

    def since(self, seq: int = 0) -> list[Observation]:
        """Observations from ``seq`` on; see `Journal.since`."""
        return self.journal.since(seq)

    def to_pandas(self, kind: str | None = None) -> pd.DataFrame:
        """A row for each observation; see `Journal.to_pandas`."""
        return self.journal.to_pandas(kind)

    def save(self, path: str | Path) -> Path:
        """A recording that `load` reads; see `Journal.save`."""
        return self.journal.save(path)

    def explain(self) -> Explanation:
        """In sentences: what is behind and since when, who waits for whom, what has no owner."""
        return self.journal.explain()

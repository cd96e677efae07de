"""Journals of typed observations, and the observers of streams, reader groups, queries and jobs that fill
them.

``observe(uri, stream=..., group=..., query=...)`` starts observers. This package is callable too, so that
both ``from pravega_lab import observe`` and ``import pravega_lab.observe`` lead to it. It imports neither
Spark nor Jupyter, and the client only when a stream or a group is observed. Widgets, the lab and the
terminal import it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pravega_lab.observe.group.fold import fold_groups
from pravega_lab.observe.job.fold import fold_jobs
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.merging import merge
from pravega_lab.observe.query.fold import fold_batches
from pravega_lab.observe.stream.fold import fold_segments
from pravega_lab.observe.watch import Watch, observe

if TYPE_CHECKING:
    from pravega_lab.client.reader_group.explain import Explanation
    from pravega_lab.observe.ledger.ledger import Ledger
    from pravega_lab.observe.ledger.numbered import count_by_key, json_ids, numbered

__all__ = [
    "Gap", "JobObserver", "Journal", "Ledger", "Watch", "count_by_key", "fold_batches", "fold_groups",
    "fold_jobs", "fold_segments", "json_ids", "merge", "numbered", "observe",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "Ledger":  # imports numpy
        from pravega_lab.observe.ledger.ledger import Ledger

        return Ledger
    if name in ("count_by_key", "json_ids", "numbered"):
        from pravega_lab.observe.ledger import numbered as parsers

        return getattr(parsers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _explain(journal: Journal) -> Explanation:
    from pravega_lab.observe.explain import explain  # imports the client

    return explain(journal)


Journal.explainer = _explain


class _Package(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Watch:
        return observe(*args, **options)


sys.modules[__name__].__class__ = _Package

"""The main job: real events in, a stream that splits and merges, Spark out, proven exactly once.

``replay`` paces the flights, ``pipeline`` is the Spark driver script, ``verdict`` compares the result with
the table that the flights came from, and ``command`` runs all of them. The quickstart notebook uses the
same parts, by the names of this package. Importing it starts nothing and imports neither Spark nor pandas.
Only the command line and notebooks import it; it may import every package but the tutorials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.portable.lazy import lazy_names

if TYPE_CHECKING:
    from pravega_lab.demo.history import Scales
    from pravega_lab.demo.pipeline import END_OF_DATA, SCHEMA, WATERMARK, main
    from pravega_lab.demo.replay import SCALING_CLOCK, STORM_FIRST_DAY, STORM_LAST_DAY, Chunk, plan
    from pravega_lab.demo.run import Job, JobFailedError, around_the_storm
    from pravega_lab.demo.verdict import Verdict

__all__ = [
    "END_OF_DATA",
    "SCALING_CLOCK",
    "SCHEMA",
    "STORM_FIRST_DAY",
    "STORM_LAST_DAY",
    "WATERMARK",
    "Chunk",
    "Job",
    "JobFailedError",
    "Scales",
    "Verdict",
    "around_the_storm",
    "main",
    "plan",
]

_HOMES = {
    "END_OF_DATA": "pipeline",
    "SCHEMA": "pipeline",
    "WATERMARK": "pipeline",
    "main": "pipeline",
    "SCALING_CLOCK": "replay",
    "STORM_FIRST_DAY": "replay",
    "STORM_LAST_DAY": "replay",
    "Chunk": "replay",
    "plan": "replay",
    "Job": "run",
    "JobFailedError": "run",
    "around_the_storm": "run",
    "Verdict": "verdict",
    "Scales": "history",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)

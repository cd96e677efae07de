"""`parse_seeds`: a range of seeds on a command line."""

from __future__ import annotations

import re
import sys

from pravega_lab.errors import BadInputError

_SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?")


def parse_seeds(text: str) -> range:
    """Return the seeds of ``A..B`` (both included) or ``A``. Raises BadInputError."""
    found = _SEEDS.fullmatch(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    if last < first:
        raise BadInputError(f"--seeds {text!r}: write A..B with A up to B, 0..199 for example, or one number")
    if last - first >= sys.maxsize:
        raise BadInputError(f"--seeds {text!r}: give at most {sys.maxsize} seeds")
    return range(first, last + 1)

"""``np``, ``npt``, ``pa`` and ``pc``: numpy and pyarrow, or stand-ins on lists where they are not installed.

Everything that decides imports them from here, so it also runs with the standard library and protobuf alone,
in a browser for example. The stand-ins have what the client, the engine and the simulation use with plain
rows, and give the same results. They have no Arrow tables, no nested types and no functions over whole
columns. Code that has these for many rows asks `pravega_lab.portable.few` from how many on, and what it does
for few rows is all that a browser needs. No other place asks whether there are arrays: a test says which may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import HAVE_ARRAYS

if TYPE_CHECKING or HAVE_ARRAYS:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    from .plain import arrays as np
    from .plain import arrays as npt
    from .plain import batches as pa

    pc = None

__all__ = ["np", "npt", "pa", "pc"]

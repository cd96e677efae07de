"""The protocol needs no gRPC, no numbers' packages and next to no time."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, pravega_lab, pravega_lab.protocol
assert not any(name.startswith("pravega_lab.protocol.") for name in sys.modules)
from pravega_lab.protocol import controller_methods, frames, hashing, names, reader_group, stream_cut
heavy = {"grpc", "numpy", "numba", "pandas", "pyarrow", "pyspark", "asyncio"} & set(sys.modules)
assert not heavy, heavy
"""


def test_importing_the_protocol_is_light() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)

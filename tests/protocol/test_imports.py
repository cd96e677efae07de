"""The protocol needs no gRPC, no numbers' packages and next to no time."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, pravega_lab, pravega_lab.protocol
assert not any(name.startswith("pravega_lab.protocol.") for name in sys.modules)
from pravega_lab.protocol import hashing, names, stream_cut
from pravega_lab.protocol.controller import methods
from pravega_lab.protocol.metadata import reader_group
from pravega_lab.protocol.wire import frames
heavy = {"grpc", "numpy", "numba", "pandas", "pyarrow", "pyspark", "asyncio"} & set(sys.modules)
assert not heavy, heavy
"""


def test_importing_the_protocol_is_light() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)

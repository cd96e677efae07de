"""Make ``controller_pb2.py`` and its ``.pyi`` from ``controller.proto``.

Run ``python -m pravega_lab.protocol.generate`` from the checkout's root after a change of the schema; a
test compares what it would write with what is there. Needs ``grpcio-tools`` (a ``dev`` extra), which
nothing needs at run time.
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).parent
GENERATED = ("controller_pb2.py", "controller_pb2.pyi")


def generate(into: Path) -> None:
    """Write the two modules below ``into``, at ``pravega_lab/protocol/``; raises ``RuntimeError``."""
    from grpc_tools import protoc  # type: ignore[import-untyped]

    root = PACKAGE.parent.parent
    # The name relative to the root becomes the file's name in protobuf's registry: unique to us.
    schema = (PACKAGE / "controller.proto").relative_to(root)
    arguments = ["protoc", f"-I{root}", f"--python_out={into}", f"--pyi_out={into}", str(schema)]
    if protoc.main(arguments) != 0:
        raise RuntimeError(f"protoc refused {schema}; its complaint is above")
    stubs = into / "pravega_lab" / "protocol" / "controller_pb2.pyi"
    # protoc's stubs are right but not strict: bare Mapping, and a field whose name is a keyword.
    stubs.write_text("# mypy: ignore-errors\n" + stubs.read_text())


if __name__ == "__main__":
    generate(PACKAGE.parent.parent)
    sys.stdout.write("wrote " + ", ".join(GENERATED) + "\n")

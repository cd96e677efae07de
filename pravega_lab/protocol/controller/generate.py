"""Makes ``controller_pb2.py`` and its ``.pyi`` from ``controller.proto``.

Run ``python -m pravega_lab.protocol.controller.generate`` in the root of the checkout after a change of the
schema. A test compares its output with the files in the repository. It needs ``grpcio-tools`` (in the
``dev`` extra), which is not needed at run time.
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).parent
GENERATED = ("controller_pb2.py", "controller_pb2.pyi")


def generate(into: Path) -> None:
    """Write the two modules below ``into``. Raises ``RuntimeError`` if protoc refuses the schema."""
    from grpc_tools import protoc  # type: ignore[import-untyped]

    root = PACKAGE.parents[2]
    # protobuf registers the file under its name relative to the root, which must be unique.
    schema = (PACKAGE / "controller.proto").relative_to(root)
    arguments = ["protoc", f"-I{root}", f"--python_out={into}", f"--pyi_out={into}", str(schema)]
    if protoc.main(arguments) != 0:
        raise RuntimeError(f"protoc refused {schema}; its error is above")
    stubs = into / "pravega_lab" / "protocol" / "controller" / "controller_pb2.pyi"
    # protoc's stubs do not pass strict checks: bare Mapping, and a field whose name is a keyword.
    stubs.write_text("# mypy: ignore-errors\n" + stubs.read_text())


if __name__ == "__main__":
    generate(PACKAGE.parents[2])
    sys.stdout.write("wrote " + ", ".join(GENERATED) + "\n")

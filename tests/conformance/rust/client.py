"""The official Rust client, by programs of our own: ``python -m tests.conformance.rust.client [URI]``

Its published crates (pravega-client 0.3.7) contain unit tests against mocks of their own, and no integration
tests. Therefore ``src/`` uses the crates as any program does. The command builds it with cargo, which takes
minutes the first time, runs every case on the embedded store or on the cluster at ``URI``, and compares the
answers.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from pravega_lab.engine.server.store_process import StoreProcess

SOURCES = Path(__file__).parent
TARGET = Path(__file__).parents[3] / "build/rust"
PROGRAM = TARGET / "debug/conformance"
RUN_S_MAX = 300

ANSWERS = {
    "controller": "1 segment, then 2, 2 successors",
    "events": "5 keys, 100 events, in order: true",
    "transactions": "20 events, in order: true",
    "bytes": "4 to 10, read 6789",
    "table": '[("key", 3)]',
    "synchronizer": "10 and 10 gates",
    "index": "first of 35 or later: 4, last: 10",
}


def build() -> Path | None:
    """Build the program and return it, None where there is no cargo."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return None
    command = [cargo, "build", "--quiet", "--locked", "--manifest-path", str(SOURCES / "Cargo.toml")]
    subprocess.run([*command, "--target-dir", str(TARGET)], check=True)
    return PROGRAM


def answers(program: Path, uri: str) -> dict[str, str]:
    """Run every case at a controller, and return its answer by name."""
    command = [str(program), uri, *ANSWERS]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=RUN_S_MAX, check=True)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def main() -> int:
    program = build()
    if program is None:
        print("NOT COMPARED WITH THE RUST CLIENT: there is no cargo. Install Rust (rustup) and try again.")
        return 1
    if sys.argv[1:]:
        found = answers(program, sys.argv[1])
    else:
        with StoreProcess() as store:
            found = answers(program, store.uri)
    for name, wanted in ANSWERS.items():
        print(f"{'same' if found.get(name) == wanted else 'OTHER':6}{name}: {found.get(name)}")
    return int(found != ANSWERS)


if __name__ == "__main__":
    sys.exit(main())

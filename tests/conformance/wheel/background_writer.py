"""A wheel writer in a process of its own: ``python -m tests.conformance.wheel.background_writer URI STREAM
IN_FLIGHT``.

Its calls keep Python's global lock while they wait for the store, so a store that is to be restarted under
it must be restarted from another process. Writes round after round, a number to every key, prints the
number of each round, and flushes and ends when its standard input closes.
"""

from __future__ import annotations

import select
import sys

from tests.conformance.wheel.calls import manager_of

KEYS = [f"key-{n}" for n in range(7)]


def main(uri: str, stream: str, in_flight: str) -> None:
    manager = manager_of(uri)
    writer = manager.create_writer("scope", stream, int(in_flight))
    written = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for key in KEYS:
            writer.write_event(f"{key}:{written}", key)
        written += 1
        print(written, flush=True)
    writer.flush()
    print("flushed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The well-behaved client: ``python -m benchmarks.hostile.victim URI INTERVAL_MS``.

It writes an event every INTERVAL_MS and reads at the tail. It prints ``ready``, and measures from a line of
input to the next one. An event that is due while another is on its way is late from the time at which it
was due.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from benchmarks.pipelines.ends import LAB, Ends, ends_of
from benchmarks.pipelines.open_loop import WARM_UP, due_ns_of, event_due_at, latencies

NAME, KEY = "victim", "key"
SEGMENT = f"bench/{NAME}/0.#epoch.0"
PATIENCE_S = 30.0
WARM_EVENTS = 20


class Tail:
    """Reads the stream of the client in a thread, and keeps when each event arrived."""

    def __init__(self, ends: Ends) -> None:
        self.due_ns: list[int] = []
        self.done_ns: list[int] = []
        self.n_warm = 0
        self._ends = ends
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        with self._ends.reading(NAME) as pieces:
            for events in pieces:
                now_ns = time.monotonic_ns()
                for due_ns in map(due_ns_of, events):
                    if due_ns == WARM_UP:
                        self.n_warm += 1
                    else:
                        self.done_ns.append(now_ns)
                        self.due_ns.append(due_ns)


def _stop_at_input(stopped: threading.Event) -> None:
    sys.stdin.readline()
    stopped.set()


def main() -> None:
    """Write and read until the second line of input, and print the latencies as JSON."""
    uri, interval_ms = sys.argv[1], int(sys.argv[2])
    ends, stopped = ends_of(LAB, uri), threading.Event()
    ends.create(NAME, 1)
    tail = Tail(ends)
    with ends.writing(NAME) as writer:
        while tail.n_warm < WARM_EVENTS:
            writer.write(event_due_at(WARM_UP), KEY)
            writer.flush()
            time.sleep(0.05)
        print("ready", flush=True)
        sys.stdin.readline()
        threading.Thread(target=_stop_at_input, args=(stopped,), daemon=True).start()
        due_ns, sent = time.monotonic_ns(), 0
        while not stopped.is_set():
            writer.write(event_due_at(due_ns), KEY)
            sent += 1
            due_ns += interval_ms * 1_000_000
            time.sleep(max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
        deadline = time.monotonic() + PATIENCE_S
        while len(tail.due_ns) < sent and time.monotonic() < deadline:
            time.sleep(0.01)
    found = latencies(tail.due_ns, tail.done_ns)
    print(json.dumps({**found._asdict(), "sent": sent, "arrived": len(tail.due_ns)}), flush=True)


if __name__ == "__main__":
    main()

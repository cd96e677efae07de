"""One end of a pipeline in its own process: ``python -m benchmarks.pipelines.child ROLE JSON``.

It prints ``ready`` when it is connected and warm, waits for one line, and then prints its figures as JSON.
The line for a role that sends on a schedule is the time at which the schedule begins.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.pipelines.ends import Ends, Writer, ends_of
from benchmarks.pipelines.open_loop import (
    EVENT_BYTES,
    KEYS,
    KEYS_BY_INDEX,
    WARM_UP,
    Schedule,
    due_ns_of,
    event_due_at,
    latencies,
    send_on_schedule,
)
from benchmarks.pipelines.raw_appends import RawAppends
from pravega_lab.client.framing.arrays import wait_until_compiled

WARM_EVENTS = 4_000
COMPILED_S = 60.0


class Task(NamedTuple):
    """What a child is asked to do. ``rate`` is infinite for events that are all due at once."""

    kind: str
    address: str
    name: str
    n_events: int
    rate: float = float("inf")


Figures = dict[str, Any]


def write_on_schedule(task: Task) -> Figures:
    """Send events to a reader in another process, which measures."""
    with ends_of(task.kind, task.address).writing(task.name) as writer:
        _warm_up(writer)
        begin_ns = int(_wait_for_begin())
        send_on_schedule(writer.write, Schedule(task.rate, task.n_events), begin_ns)
        writer.flush()
    return {}


def follow(task: Task) -> Figures:
    """Read at the tail, and return the latencies of the events that were not sent to warm up."""
    due_ns: list[int] = []
    done_ns: list[int] = []
    n_warm = 0
    with ends_of(task.kind, task.address).reading(task.name) as pieces:
        for events in pieces:
            now_ns = time.monotonic_ns()
            times = [due for due in map(due_ns_of, events) if due != WARM_UP]
            due_ns += times
            done_ns += [now_ns] * len(times)
            before, n_warm = n_warm, n_warm + len(events) - len(times)
            if before < WARM_EVENTS <= n_warm:
                _wait_for_begin()
            if len(due_ns) >= task.n_events:
                break
    return latencies(due_ns, done_ns)._asdict()


def acknowledged(task: Task) -> Figures:
    """Append single events to the store itself, without the client, and measure until the acknowledgement."""
    with RawAppends(task.address, f"bench/{task.name}") as appends:
        appends.send(Schedule(float("inf"), WARM_EVENTS), time.monotonic_ns())
        begin_ns = int(_wait_for_begin())
        return appends.send(Schedule(task.rate, task.n_events), begin_ns)._asdict()


def write(task: Task) -> Figures:
    """Write in a loop as fast as possible, then flush."""
    events = [event_due_at(index) for index in range(1, task.n_events + 1)]
    with ends_of(task.kind, task.address).writing(task.name) as writer:
        _warm_up(writer)
        _wait_for_begin()
        begin = time.perf_counter()
        for index, event in enumerate(events):
            writer.write(event, KEYS_BY_INDEX[index % KEYS])
        writer.flush()
        return {"rate": task.n_events / (time.perf_counter() - begin)}


def one_by_one(task: Task) -> Figures:
    """Write an event and wait for its acknowledgement, ``n_events`` times."""
    begin_ns: list[int] = []
    done_ns: list[int] = []
    with ends_of(task.kind, task.address).writing(task.name) as writer:
        _warm_up(writer)
        _wait_for_begin()
        for index in range(task.n_events):
            begin_ns.append(time.monotonic_ns())
            writer.write(event_due_at(index + 1), KEYS_BY_INDEX[index % KEYS])
            writer.flush()
            done_ns.append(time.monotonic_ns())
    return latencies(begin_ns, done_ns)._asdict()


def read(task: Task) -> Figures:
    """Read events that are there already in a plain loop, and touch each of them."""
    ends = ends_of(task.kind, task.address)
    with ends.writing(task.name) as writer:
        for index in range(task.n_events):
            writer.write(event_due_at(index + 1), KEYS_BY_INDEX[index % KEYS])
        writer.flush()
    _seconds_to_read(ends, task)
    _wait_for_begin()
    return {"rate": task.n_events / _seconds_to_read(ends, task)}


def _seconds_to_read(ends: Ends, task: Task) -> float:
    """Return the seconds from the first event to the last."""
    events = ends.single_events(task.name, task.n_events)
    n_bytes = len(next(events))
    begin = time.perf_counter()
    for event in events:
        n_bytes += len(event)
    seconds = time.perf_counter() - begin
    if n_bytes != task.n_events * EVENT_BYTES:
        raise RuntimeError(f"{task.kind}: {n_bytes} bytes of events came back of {task.n_events} events")
    return seconds


def _warm_up(writer: Writer) -> None:
    for index in range(WARM_EVENTS):
        writer.write(event_due_at(WARM_UP), KEYS_BY_INDEX[index % KEYS])
    writer.flush()


def _wait_for_begin() -> str:
    wait_until_compiled(COMPILED_S)  # compiling in the background takes half of the cores
    print("ready", flush=True)
    return sys.stdin.readline()


ROLES: dict[str, Callable[[Task], Figures]] = {
    role.__name__: role for role in (write_on_schedule, follow, acknowledged, write, one_by_one, read)
}


def main() -> int:
    role, task = sys.argv[1:]
    print(json.dumps(ROLES[role](Task(*json.loads(task)))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

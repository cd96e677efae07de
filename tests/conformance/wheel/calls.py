"""What the tests of the official wheel share: reading to an end, limits, and children for the risky calls.

The wheel works in Rust threads and may wait for ever: each of its tests is `bounded`, and one that expects a
failure of it runs the call in a child process (`in_child`), which can be killed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pravega_client

ROOT = Path(__file__).resolve().parents[3]
READ_TIMEOUT_S = 80
"""The wheel stalls now and then until its own 30 s timeout of held reads ends: in a few of 100 cycles of
"new writer, new reader, read", on the released server as on ours. Nothing is unanswered meanwhile."""


def read_events(reader: Any, count: int, timeout_s: float = READ_TIMEOUT_S) -> list[bytes]:
    """The next ``count`` events of a reader, every slice released; fails if they do not come in time."""
    return asyncio.run(_read_events(reader, count, timeout_s))


async def _read_events(reader: Any, count: int, timeout_s: float) -> list[bytes]:
    events: list[bytes] = []
    deadline = time.monotonic() + timeout_s
    while len(events) < count:
        assert time.monotonic() < deadline, f"{len(events)} of {count} events after {timeout_s} s"
        piece = await reader.get_segment_slice_async()
        events += [bytes(event.data()) for event in piece]
        reader.release_segment(piece)
    return events


def read_nothing(reader: Any) -> list[bytes]:
    """The events of one more slice: after the last event it comes back empty within a second or so."""
    return asyncio.run(_one_slice(reader))


async def _one_slice(reader: Any) -> list[bytes]:
    piece = await reader.get_segment_slice_async()
    events = [bytes(event.data()) for event in piece]
    reader.release_segment(piece)
    return events


def read_stream(manager: Any, scope: str, stream: str, count: int, group: str = "all") -> list[bytes]:
    """``count`` events of a stream from its head, by a group and a reader made for it."""
    reader = manager.create_reader_group(group, scope, stream).create_reader("reader")
    events = read_events(reader, count)
    reader.reader_offline()
    return events


def by_key(events: list[bytes]) -> dict[str, list[int]]:
    """Events ``key:number`` as lists of numbers per key, in the order read."""
    found: dict[str, list[int]] = {}
    for event in events:
        key, number = event.decode().split(":")
        found.setdefault(key, []).append(int(number))
    return found


def in_child(function: Callable[..., Any], *arguments: Any, timeout_s: float = 60) -> Any:
    """Call a module-level function in a process of its own; what it returns (JSON).

    A Rust panic cannot take the test run with it, and a call that never returns ends at the timeout.
    """
    code = (
        "import sys, json, importlib; module, name, arguments = json.loads(sys.argv[1])\n"
        "print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))"
    )
    call = json.dumps([function.__module__, function.__name__, arguments])
    done = subprocess.run(
        [sys.executable, "-c", code, call], cwd=ROOT, capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def manager_of(uri: str) -> Any:
    is_secure = uri.startswith("tls://")  # then user and authority are in the client's own variables
    return pravega_client.StreamManager(uri, auth_enabled=is_secure, tls_enabled=is_secure)

"""Attacks on a store next to a well-behaved client: python -m benchmarks.attacks

Each attack runs in its own process on a new durable store. A well-behaved client writes an event every 50 ms
and reads at the tail at the same time. Wanted of every attack: the client's p99 is below 50 ms and its
maximum below 500 ms from the time at which an event was due, nothing is lost, the store's memory returns to
within 50 MB of what it was before, and its log has no traceback and at most 100 kB. Everything happens on the
loopback. `nobody` and `busy` are no attacks: the client alone, and next to a program that computes. What they
give on a machine is what an attack can give there at best.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.run import Machine, in_words, number
from benchmarks.hostile.attacker import ATTACKS, BASELINES
from benchmarks.hostile.store import Store

INTERVAL_MS = 50
P99_MS_MAX, MAX_MS_MAX, MEMORY_MIB_MAX, LOG_BYTES_MAX = 50, 500, 50, 100_000
QUIET_S, SETTLE_S, CHILD_S = 1.0, 30.0, 300.0
NOBODY = "nobody"
DESCRIPTORS = {"silent-1024": ("silent", 1024)}
"""Attacks on a store with few file descriptors."""


class Row(NamedTuple):
    """What one attack did to the client and to the store."""

    attack: str
    p50_ms: float
    p99_ms: float
    max_ms: float
    lost: int
    memory_mib: tuple[float, float, float]
    log_bytes: int
    told: str
    faults: list[str]


def child(module: str, *arguments: str, niceness: int = 0) -> subprocess.Popen[str]:
    """Start a process of the benchmark and wait until it is ready."""
    command = [sys.executable, "-m", f"benchmarks.hostile.{module}", *arguments]
    started = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.nice(niceness),
    )
    assert started.stdout is not None
    if started.stdout.readline().strip() != "ready":
        raise RuntimeError(f"{module} {' '.join(arguments)} did not become ready; exit code {started.wait()}")
    return started


def run_attack(name: str, size: float, folder: Path) -> Row:
    """Run one attack, or none, next to the client."""
    attack, descriptors = DESCRIPTORS.get(name, (name, None))
    store = Store(folder, descriptors, [])
    with ExitStack() as stack:
        stack.callback(store.process.kill)
        client = stack.enter_context(child("victim", store.uri, str(INTERVAL_MS)))
        attacker = None
        if attack != NOBODY:
            attacker = stack.enter_context(child("attacker", attack, store.uri, str(size), niceness=10))
        before_mib = store.peak_mib = store.resident_mib()
        client.stdin.write("\n")  # type: ignore[union-attr]
        client.stdin.flush()  # type: ignore[union-attr]
        time.sleep(QUIET_S if attacker else 10 * QUIET_S * size)
        told = attacker.communicate("\n", CHILD_S)[0].strip() if attacker else ""
        time.sleep(QUIET_S)
        after_mib = store.settled_mib(before_mib + MEMORY_MIB_MAX, SETTLE_S)
        found = json.loads(client.communicate("\n", CHILD_S)[0])
        memory = (before_mib, store.peak_mib, after_mib)
        code = store.close()
        return row_of(name, found, memory, store.log(), told, code)


def row_of(
    name: str, found: dict[str, Any], memory: tuple[float, float, float], log: str, told: str, code: int
) -> Row:
    """Return the row of one attack with its faults in words."""
    lost = found["sent"] - found["arrived"]
    checks = {
        f"p99 {number(found['p99_ms'])} ms": found["p99_ms"] < P99_MS_MAX,
        f"maximum {number(found['max_ms'])} ms": found["max_ms"] < MAX_MS_MAX,
        f"{lost} events lost": lost == 0,
        f"{number(memory[2] - memory[0])} MiB kept": memory[2] - memory[0] <= MEMORY_MIB_MAX,
        f"{len(log)} bytes logged": len(log) <= LOG_BYTES_MAX,
        "a traceback": "Traceback" not in log,
        f"exit code {code}": code == 0,
    }
    faults = [words for words, is_good in checks.items() if not is_good]
    times = (found["p50_ms"], found["p99_ms"], found["max_ms"])
    return Row(name, *times, lost, memory, len(log), told, faults)


def table(rows: list[Row]) -> str:
    """Return the table of all attacks."""
    lines = [
        "| attack | client p50 / p99 / max, ms | store's memory before / peak / after, MiB | logged, bytes |"
        " verdict | what the attacker was told |",
        "|---|--:|--:|--:|---|---|",
    ]
    for row in rows:
        times = " / ".join(map(number, (row.p50_ms, row.p99_ms, row.max_ms)))
        memory = " / ".join(f"{size:.0f}" for size in row.memory_mib)
        verdict = "good" if not row.faults else "BAD: " + ", ".join(row.faults)
        lines.append(f"| {row.attack} | {times} | {memory} | {row.log_bytes} | {verdict} | {row.told} |")
    return "\n".join(lines)


def main() -> int:
    """Run the attacks and print a table."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    names = [NOBODY, *BASELINES, *ATTACKS, *DESCRIPTORS]
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"all of {', '.join(names)}")
    parser.add_argument(
        "--size", type=float, default=1.0, help="share of the full size (default: %(default)s)"
    )
    parser.add_argument("--data", metavar="DIR", help="the stores keep their logs in new folders in here")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a verdict is bad")
    options = parser.parse_args()
    if unknown := [name for name in options.attacks if name not in names]:
        parser.error(f"{unknown[0]!r} is no attack; there are {', '.join(names)}")
    before, rows = Machine.now(), []
    for name in options.attacks or names:
        with tempfile.TemporaryDirectory(dir=options.data) as folder:
            rows.append(run_attack(name, options.size, Path(folder)))
        if not options.json:
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    machine = before.until_now()
    if options.json:
        print(json.dumps({"rows": [row._asdict() for row in rows], "machine": machine}, indent=1))
    else:
        print(f"\n{table(rows)}\n\n{in_words(machine)}")
    return int(options.check and any(row.faults for row in rows))


if __name__ == "__main__":
    sys.exit(main())

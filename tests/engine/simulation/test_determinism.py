"""The same seed gives the same bytes, in another process with another hash seed too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pravega_lab.engine.simulation.store.scenarios import NAMES, run_seed

PROGRAM = """
import asyncio
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop

loop = SimulationLoop({seed})
loop.network.conditions.split_chance = 0.3
loop.network.conditions.cut_chance = 0.02
lines = []
writers = []  # kept: asyncio closes a writer when it is collected, and no seed says when that is

async def serve(reader, writer):
    try:
        while data := await reader.read(100):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()

async def client(number):
    for attempt in range(5):
        try:
            async with asyncio.timeout(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", 1)
                writers.append(writer)
                for n in range(10):
                    writer.write(f"{{number}} {{n}}\\n".encode())
                    lines.append((loop.now_us, number, await reader.readline()))
        except (OSError, TimeoutError) as error:
            lines.append((loop.now_us, number, type(error).__name__))

async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", 1):
        tasks = {{asyncio.ensure_future(client(n)) for n in range(5)}}
        async with asyncio.TaskGroup() as group:
            for n in range(6):
                group.create_task(client(n))
        await asyncio.wait(tasks)

loop.run_until_complete(main())
print(lines, loop.draws, loop.steps, sorted(loop.network.faults.items()))
"""


def run(program: str, hash_seed: int) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, timeout=60
    ).stdout


def test_the_loop_and_the_network_repeat_in_another_process() -> None:
    first, second = run(PROGRAM.format(seed=5), 1), run(PROGRAM.format(seed=5), 2)
    assert first == second
    assert b"'cut'" in first
    assert run(PROGRAM.format(seed=6), 1) != first


WORLD = """
import sys
from pravega_lab.engine.simulation.store.scenarios import NAMES, run_seed
for n, name in enumerate(NAMES):
    result = run_seed(1 + 10 * n, name)
    sys.stdout.buffer.write(result.journal.to_bytes())
    print(result.summary(), result.problems, flush=True)
"""


@pytest.mark.slow
def test_whole_runs_repeat_in_another_process() -> None:
    first = run(WORLD, 1)
    assert first == run(WORLD, 2)
    assert first.count(b"\n") > 1000
    here, other = (run_seed(seed, NAMES[0]).journal.to_bytes() for seed in (1, 5))
    assert first.startswith(here)
    assert here != other

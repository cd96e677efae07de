"""``pravega_lab.testing`` as its users have it: a project of their own, pytest in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pravega_lab import connect
from pravega_lab.testing import SimulatedPravega

ROOT = Path(__file__).parent.parent.parent
TIMEOUT_S = 250

DOUBLING = """
import asyncio
import pytest

async def produce(client):
    async with client.stream("shop/orders").writer() as writer:
        for n in range(10):
            await writer.write(f"order {n}", "IBM")
            await writer.flush()

@pytest.mark.pravega_seeds("0..29")
def test_every_order_is_there_once(pravega_simulation):
    world = pravega_simulation

    async def story():
        async with world.client("setup") as client:
            stream = await client.create_stream("shop/orders")
            world.trouble()
            first = world.start("first", produce(world.client("first")))
            await asyncio.sleep(world.chance.choice([0.01, 60, 60, 60]))
            first.kill()
            if not first.is_done:  # the bug: it begins again, and does not look what is there
                await world.start("second", produce(world.client("second"))).ends()
            async with stream.read() as batches:
                return [event async for batch in batches for event in batch.column("event").to_pylist()]

    assert world.run(story()) == [f"order {n}".encode() for n in range(10)]
"""
JOURNAL = """
import sys
from pravega_lab.testing import SimulatedPravega

world = SimulatedPravega(seed=7)

async def story():
    async with world.client("setup") as client:
        stream = await client.create_stream("shop/orders")
        world.trouble(for_s=3)
        async with stream.writer() as writer:
            for n in range(20):
                await writer.write(f"order {n}", "IBM")
                await writer.flush()
                world.log("written", order=n)

world.run(story())
sys.stdout.buffer.write(world.journal)
print(world.summary())
"""
AWRY = r"""
import asyncio
import pytest
from pravega_lab.errors import BadInputError

def test_killing_what_all_share(pravega):
    with pytest.raises(BadInputError, match="pravega_store"):
        pravega.store.kill()

def test_the_scope_of_another_test(pravega):
    with pytest.raises(BadInputError, match="in another scope"):
        pravega.stream("lab/flights")

def test_a_group_of_a_list(pravega):
    with pytest.raises(BadInputError, match=r"give a list of names: \['orders'\]"):
        pravega.create_reader_group("group", "orders")

@pytest.mark.pravega_seeds("3..3")
def test_one_run_per_world(pravega_simulation):
    async def story(): return 4
    assert pravega_simulation.run(story()) == 4
    with pytest.raises(BadInputError, match="has had its run"):
        pravega_simulation.run(story())

@pytest.mark.pravega_seeds(1)
def test_a_task_that_fails_unseen(pravega_simulation):
    async def fails(): raise ValueError("nobody looks")
    async def story():
        asyncio.get_running_loop().create_task(fails())
        await asyncio.sleep(1)
    with pytest.raises(AssertionError, match="nobody looks"):
        pravega_simulation.run(story())

@pytest.mark.pravega_seeds(1)
def test_waiting_for_a_killed_program(pravega_simulation):
    async def story():
        program = pravega_simulation.start("sleeper", asyncio.sleep(5))
        program.kill()
        with pytest.raises(TimeoutError, match="sleeper is not done after 3600 virtual seconds"):
            await program.ends(within_s=3600)
        assert await pravega_simulation.start("other", asyncio.sleep(5, "done")).ends() == "done"
    pravega_simulation.run(story())
    assert pravega_simulation.now_s >= 3605

@pytest.mark.pravega_seeds(3)
def test_a_restart_forgets_nothing_that_was_acknowledged(pravega_simulation):
    async def story():
        async with pravega_simulation.client() as client:
            stream = await client.create_stream("shop/orders")
            await stream.write("order", "IBM")
            await pravega_simulation.restart_store()
            async with stream.read() as batches:
                return [event async for batch in batches for event in batch.column("event").to_pylist()]
    assert pravega_simulation.run(story()) == [b"order"]
    assert pravega_simulation.faults["store crash"] == 1
"""
LIGHT = """
import sys
def test_nothing_heavy_came_along():
    heavy = {"numpy", "grpc", "pyspark", "IPython", "ipywidgets", "pandas", "pyarrow", "pravega_lab.client"}
    assert "pravega_lab.testing.plugin" in sys.modules
    assert not heavy & set(sys.modules)
"""


def run_pytest(folder: Path, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """pytest in ``folder``, which knows nothing of this checkout but the package."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "LAB_"))}
    env["PYTHONPATH"] = str(ROOT)
    plain = ["--color=no", "-p", "no:cacheprovider", "-p", "no:nbval"]  # nbval takes a second to import
    command = [sys.executable, "-m", "pytest", *plain, *args]
    return subprocess.run(
        command, cwd=folder, env={**env, **environ}, capture_output=True, text=True, timeout=TIMEOUT_S
    )


def page_files(folder: Path) -> Path:
    """The Python of the page, as files of a project; each block names its file."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs/testing.md").read_text(), re.DOTALL):
        (folder / block.split("\n", 1)[0].removeprefix("# ")).write_text(block)
    return folder


@pytest.mark.slow
def test_the_lines_of_the_page_run_as_printed(tmp_path: Path) -> None:
    done = run_pytest(page_files(tmp_path), "-q")
    assert "37 passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("where", ["store", pytest.param("real_pravega", marks=pytest.mark.real_pravega)])
def test_the_same_tests_on_a_pravega_that_runs_already(
    tmp_path: Path, request: pytest.FixtureRequest, where: str
) -> None:
    uri = request.getfixturevalue(where)
    done = run_pytest(page_files(tmp_path), "-q", "-rs", "--pravega-uri", uri, "test_pipeline.py")
    assert "4 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    with connect(uri) as client:
        assert [scope for scope in client.list_scopes() if scope.startswith("test-")] == []


@pytest.mark.slow
def test_a_failing_run_says_its_seed_and_repeats(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(DOUBLING)
    done = run_pytest(tmp_path, "-q", "-x")
    said = re.search(r"seed (\d+) \(.* virtual s, \d+ steps\): .*; repeat: pytest '(.*)'", done.stdout)
    assert said is not None, done.stdout
    assert said[2] == f"test_orders.py::test_every_order_is_there_once[seed{said[1]}]"
    again = run_pytest(tmp_path, "-q", "--pravega-seeds", said[1])
    assert said[0] in again.stdout
    assert "1 failed" in again.stdout


@pytest.mark.slow
def test_equal_seeds_make_equal_runs_in_any_process(tmp_path: Path) -> None:
    journals = [
        subprocess.run(
            [sys.executable, "-c", JOURNAL],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
            timeout=TIMEOUT_S,
        ).stdout
        for seed in ("1", "2")
    ]
    assert journals[0] == journals[1]
    assert journals[0].count(b'"written"') == 20
    assert b"no faults" not in journals[0]


@pytest.mark.slow
def test_what_is_asked_wrongly_is_said(tmp_path: Path) -> None:
    (tmp_path / "test_awry.py").write_text(AWRY)
    done = run_pytest(tmp_path, "-q")
    assert "9 passed" in done.stdout, done.stdout
    wrong = run_pytest(tmp_path, "-q", "--pravega-seeds", "9..1")
    assert "write A..B with A up to B" in wrong.stdout + wrong.stderr


MARKS = {
    "pravega_store(True)": ("pravega", "pravega_store takes durable and scaling_clock by name: True"),
    "pravega_store(durabel=True)": ("pravega", "takes durable and scaling_clock by name: durabel"),
    "pravega_seeds()": ("pravega_simulation", "pravega_seeds takes one value without a name"),
    "pravega_seeds(seeds='0..3')": ("pravega_simulation", "pravega_seeds takes one value without a name"),
}


def test_a_mistyped_fault_is_refused() -> None:
    world = SimulatedPravega()
    for faulty in (world.network, world.controller, world.disk):
        with pytest.raises(AttributeError, match="cut_chnace"):
            faulty.cut_chnace = 0.1  # type: ignore[union-attr]


def test_a_mark_without_a_meaning_is_refused(tmp_path: Path) -> None:
    for n, (mark, (fixture, _)) in enumerate(MARKS.items()):
        program = f"import pytest\n\n@pytest.mark.{mark}\ndef test_marked({fixture}):\n    pass\n"
        (tmp_path / f"test_marked_{n}.py").write_text(program)
    done = run_pytest(tmp_path, "-q", "--continue-on-collection-errors")
    for _, words in MARKS.values():
        assert words in done.stdout
    assert "\n4 errors in" in done.stdout


def test_a_run_that_asks_for_nothing_imports_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(LIGHT)
    done = run_pytest(tmp_path, "-q", "-p", "no:nbval", "-p", "no:hypothesispytest")
    assert "1 passed" in done.stdout, done.stdout


LEFT = """
from pravega_lab.client.reader_group import reading

def test_made_by_the_scope(pravega):
    pravega.create_stream("orders").write("buy", "IBM")
    pravega.create_table("register").put(b"key", b"value")
    with pravega.create_reader_group("group", ["orders"]).create_reader("one") as reader:
        assert reader.read_next(timeout_s=30).event == b"buy"

def test_made_past_it(pravega):
    pravega.create_stream("orders")
    pravega.client.create_reader_group(f"{pravega.name}/mine", reading([f"{pravega.name}/orders"]))
"""


@pytest.mark.slow
def test_what_was_made_past_the_scope_is_reported_where_it_would_stay(tmp_path: Path, store: str) -> None:
    (tmp_path / "test_left.py").write_text(LEFT)
    done = run_pytest(tmp_path, "-q", "--pravega-uri", store)
    assert "2 passed, 1 error" in done.stdout, done.stdout
    left = re.search(rf"the scope (test-\d+-1) is left on {store}", done.stdout)
    assert left is not None, done.stdout
    with connect(store) as client:
        client.reader_group(f"{left[1]}/mine").delete()
        client.delete_scope(left[1])
        assert [scope for scope in client.list_scopes() if scope.startswith("test-")] == []

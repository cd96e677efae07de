"""``make mutants``: changes the cores one small thing at a time, and counts how many changes are noticed.

One process imports and collects everything. It first runs each fast test and each seed once, and notes which
functions of the cores it calls. For each mutant it then forks; the child puts the changed code into the
living function, and runs what calls this function, the fastest first, until something fails or does not
end. This one has to pass without the change. A mutant that nothing notices survives. Survivors are judged in
``survivors.toml``; one that is not is a gap in the tests. A judged survivor breaks nothing that anybody was
promised, so it does not count.

Tests of the client share one running store. A mutant is planted in this process only, never in the store's.

``--sample N`` takes N mutants of each core, drawn with ``--seed``. ``--write`` puts the table into
docs/simulation.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import select
import signal
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from pravega_lab.connector.simulation.small_runs import write_between
from pravega_lab.portable import ARRAYS_VARIABLE
from tests import conftest
from tests.mutation.cores import CORES, ROOT, SEEDS, TESTS
from tests.mutation.operators import Mutant, code_of, mutants
from tests.standalone import Standalone

PAGE = "docs/simulation.md"
MARKS = "<!-- mutants -->\n", "<!-- end of mutants -->\n"
JUDGED = Path(__file__).with_name("survivors.toml")
TEST_S_MAX = 2.0  # of CPU; a slower test is not among the fast ones of `make check` either
STUCK_S = 120.0  # a test that takes this long does not end
CHECKS_S_MAX = 20.0  # of CPU, for one mutant
KILLED_SHARE = 0.9
ALIVE, KILLED = 0, 1
Place = tuple[str, str, int]  # file, qualified name, first line


@dataclass
class Check:
    """A test or a seed: whether it passes, what it calls, and how long it takes."""

    name: str
    passes: Callable[[], bool]
    seconds: float = 0.0


@dataclass(frozen=True)
class Task:
    """A mutant of a file."""

    core: str
    path: str
    mutant: Mutant

    @property
    def name(self) -> str:
        return f"{self.path} {self.mutant.name}"


class Meter:
    """A plugin of pytest that runs mutants in place of the tests."""

    def __init__(self, tasks: Sequence[Task], keep: Path | None) -> None:
        self.tasks, self._keep = tasks, keep
        self.killers: dict[str, str] = {}  # by mutant; "" for one that survived

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out tests that are slow or need a process of their own."""
        apart = {"real_pravega", "standalone"}
        marks = ("slow", "spark", "browser", "real_pravega", "real_flink", "tutorials")
        items[:] = [
            item
            for item in items
            if not any(item.get_closest_marker(mark) for mark in marks)
            and not apart & set(getattr(item, "fixturenames", ()))
        ]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        with Standalone("--memory") as uri, pytest.MonkeyPatch.context() as patch:
            patch.setattr(conftest, "Standalone", lambda *_: nullcontext(uri))
            self._run(session)
        return True

    def _run(self, session: pytest.Session) -> None:
        checks = [*_tests(session), *_seeds()]
        functions = _living_functions({task.path for task in self.tasks})
        gc.freeze()  # children do not copy what they only look at
        called = _survey(checks, set(functions))
        print(f"{len(checks)} tests and seeds, {len(called)} functions of the cores are called", flush=True)
        known = _read(self._keep)
        for number, task in enumerate(self.tasks, 1):
            place = (task.path, task.mutant.function, task.mutant.line)
            if task.name in known:
                killer = known[task.name]
            elif place not in functions or (code := _changed(functions[place], task)) is None:
                continue  # no living function can be changed: this one is replaced when it is imported
            else:
                killer = _killer(partial(_plant, functions[place], code), _fastest(called.get(place, ())))
                if self._keep is not None:
                    with self._keep.open("a") as lines:
                        lines.write(json.dumps([task.name, killer]) + "\n")
            self.killers[task.name] = killer
            print(f"{number}/{len(self.tasks)} {task.name}: {killer or 'SURVIVED'}", flush=True)


def _read(keep: Path | None) -> dict[str, str]:
    if keep is None or not keep.exists():
        return {}
    return dict(json.loads(line) for line in keep.read_text().splitlines())


# -- what is run ---------------------------------------------------------------------------------------------


def _tests(session: pytest.Session) -> Iterator[Check]:
    for item in session.items:

        def passes(item: pytest.Item = item) -> bool:
            return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))

        yield Check(item.nodeid, passes)


def _seeds() -> Iterator[Check]:
    from pravega_lab.connector.simulation.families import run_any

    for scenario, count in SEEDS.items():
        for seed in range(count):

            def passes(scenario: str = scenario, seed: int = seed) -> bool:
                return not run_any(seed, scenario, None).problems

            yield Check(f"simulate {scenario} {seed}", passes)


def _living_functions(paths: set[str]) -> dict[Place, list[FunctionType]]:
    found: dict[Place, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and (place := _place_of(thing.__code__))[0] in paths:
            found.setdefault(place, []).append(thing)
    return found


_PATHS: dict[str, str] = {}


def _place_of(code: CodeType) -> Place:
    path = _PATHS.get(code.co_filename)
    if path is None:
        real = os.path.realpath(code.co_filename)
        path = _PATHS[code.co_filename] = real.removeprefix(f"{ROOT}/")
    return path, code.co_qualname, code.co_firstlineno


def _survey(checks: Sequence[Check], places: set[Place]) -> dict[Place, list[Check]]:
    """Return by function the checks that call it, pass, and are fast.

    One child runs all checks for their time. Another runs the fast ones, slowly, for what they call. Its
    threads are watched from their beginning, because the loop of the synchronous client outlives the test
    that starts it.
    """
    fast: list[Check] = []
    for check, (passed, seconds) in _in_turn(checks, _time_each):
        check.seconds = seconds
        if not passed:
            print(f"left out, because it fails by itself: {check.name}")
        elif seconds <= TEST_S_MAX:
            fast.append(check)
    called: dict[Place, list[Check]] = {}
    for check, found in _in_turn(fast, partial(_watch_each, places)):
        for path, name, line in found:
            called.setdefault((path, name, line), []).append(check)
    return called


Report = Callable[[str], None]


def _in_turn(
    checks: Sequence[Check], work: Callable[[Sequence[Check], Report], None]
) -> Iterator[tuple[Check, Any]]:
    """Yield each check with what ``work`` reports of it. A check that does not end is left out."""
    number = 0
    while number < len(checks):
        for line in _in_child(partial(work, checks[number:]), STUCK_S):
            yield checks[number], json.loads(line)
            number += 1
        if number < len(checks):
            print(f"left out, because it does not end: {checks[number].name}")
            number += 1


def _time_each(checks: Sequence[Check], report: Report) -> None:
    for check in checks:
        begin_s = time.process_time()
        passed = check.passes()
        report(json.dumps([passed, round(time.process_time() - begin_s, 4)]))


def _watch_each(places: set[Place], checks: Sequence[Check], report: Report) -> None:
    codes: dict[CodeType, Place | None] = {}
    found: set[Place] = set()

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code not in codes:
                place = _place_of(code)
                codes[code] = place if place in places else None
            if (place_or_none := codes[code]) is not None:
                found.add(place_or_none)

    threading.setprofile(watch)
    sys.setprofile(watch)
    for check in checks:
        found.clear()
        check.passes()
        report(json.dumps(sorted(found)))


# -- one mutant ----------------------------------------------------------------------------------------------


def _changed(functions: Sequence[FunctionType], task: Task) -> CodeType | None:
    """Return the mutant's code, None if it closes over other variables than the living functions."""
    source = (ROOT / task.path).read_text(encoding="utf-8")
    code = code_of(source, task.mutant, functions[0].__code__.co_filename)
    return code if all(f.__code__.co_freevars == code.co_freevars for f in functions) else None


def _plant(functions: Sequence[FunctionType], code: CodeType) -> None:
    for function in functions:
        function.__code__ = code


def _fastest(checks: Sequence[Check]) -> list[Check]:
    """Return the checks by their time, as many as one mutant may take."""
    ordered = sorted(checks, key=lambda check: check.seconds)
    spent = list(accumulate(check.seconds for check in ordered))
    return [check for check, until_s in zip(ordered, spent, strict=True) if until_s <= CHECKS_S_MAX]


def _killer(plant: Callable[[], None], checks: Sequence[Check]) -> str:
    """Return the name of the first check that notices the mutant and passes without it, or "" if none does.

    On a busy machine a check may fail by chance. Such a failure does not count.
    """
    while name := _first_failure(plant, checks):
        at = next(n for n, check in enumerate(checks) if check.name == name)
        if not _first_failure(lambda: None, checks[at : at + 1]):
            return name
        checks = checks[at + 1 :]
    return ""


def _first_failure(plant: Callable[[], None], checks: Sequence[Check]) -> str:
    """Return the name of the first check that fails or does not end in a child that planted, or ""."""

    def run(write: Callable[[str], None]) -> None:
        plant()
        for check in checks:
            write(check.name)
            if not check.passes():
                os._exit(KILLED)

    begun: list[str] = []
    limit_s = 15 + 10 * max((check.seconds for check in checks), default=0)
    outcome: list[int] = []
    begun.extend(_in_child(run, limit_s, outcome))
    if outcome[0] == ALIVE:
        return ""
    return begun[-1]


def _in_child(
    work: Callable[[Callable[[str], None]], None], limit_s: float, outcome: list[int] | None = None
) -> Iterator[str]:
    """Fork, work there, and yield the lines that it writes. A child silent for ``limit_s`` is killed."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        code = ALIVE
        try:
            work(lambda line: (os.write(writing, line.encode() + b"\n"), None)[1])
        except BaseException:
            code = KILLED
        os._exit(code)
    os.close(writing)
    end_s, text = time.monotonic() + limit_s, b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end_s - time.monotonic()))
        piece = os.read(reading, 1 << 16) if ready else b""
        if not piece:
            break
        end_s = time.monotonic() + limit_s
        *lines, text = (text + piece).split(b"\n")
        yield from (line.decode() for line in lines)
    os.close(reading)
    with_limit = os.pidfd_open(pid)
    if not select.select([with_limit], [], [], 5.0 if time.monotonic() < end_s else 0.0)[0]:
        os.killpg(pid, signal.SIGKILL)
    os.close(with_limit)
    _, status = os.waitpid(pid, 0)
    if outcome is not None:
        outcome.append(ALIVE if status == 0 else KILLED)


# -- results -------------------------------------------------------------------------------------------------


def all_tasks() -> list[Task]:
    """Return the mutants of all cores."""
    return [
        Task(core, path, mutant)
        for core, paths in CORES.items()
        for path in paths
        for mutant in mutants((ROOT / path).read_text(encoding="utf-8"))
    ]


def sampled(tasks: Sequence[Task], count: int | None, seed: int) -> list[Task]:
    """Return ``count`` mutants of each core, in their order, or all of them."""
    if count is None:
        return list(tasks)
    chosen: list[Task] = []
    for core in CORES:
        own = [task for task in tasks if task.core == core]
        picked = sorted(Random(f"{seed}/{core}").sample(range(len(own)), min(count, len(own))))
        chosen += [own[n] for n in picked]
    return chosen


def table(tasks: Sequence[Task], killers: dict[str, str], total: Counter[str]) -> str:
    """Return the counts of each core as Markdown. A survivor that is judged does not count in the share."""
    judged = judgements()
    lines = [
        "| Core | Mutants | Tried | Judged | Killed | Share | by a test | by a seed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for core in (*CORES, "all"):
        tried = [t.name for t in tasks if t.name in killers and core in (t.core, "all")]
        by = [killers[name] for name in tried if killers[name]]
        n_judged = sum(not killers[name] and name in judged for name in tried)
        seeds = sum(name.startswith("simulate ") for name in by)
        count = total[core] if core != "all" else total.total()
        share = len(by) / max(1, len(tried) - n_judged)
        numbers = f"{count:,} | {len(tried):,} | {n_judged:,} | {len(by):,} | {share:.1%}"
        lines.append(f"| {core} | {numbers} | {len(by) - seeds:,} | {seeds:,} |")
    return "\n".join(lines)


def judgements() -> dict[str, str]:
    """Return the mutants that may live, each with the reason."""
    found: dict[str, str] = tomllib.loads(JUDGED.read_text(encoding="utf-8"))
    return found


def unjudged(killers: dict[str, str]) -> list[str]:
    """Return the survivors of which nobody has said why they may live."""
    judged = judgements()
    return [name for name, killer in killers.items() if not killer and name not in judged]


def gaps(names: Sequence[str]) -> list[str]:
    """Return the survivors that are not judged as paragraphs of Markdown."""
    if not names:
        return []
    lines = [f"- {name.partition(' ')[0]}, {name.partition(' ')[2]}" for name in names]
    return [f"{len(names)} survivors are not judged. Each is a gap in the fast tests:", "\n".join(lines)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the meter. Return 1 if too few mutants are killed, or a survivor is not judged."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--sample", type=int, help="mutants of each core; all of them without it")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (%(default)s)")
    parser.add_argument("--only", default="", help="mutants whose core and name contain this text")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    parser.add_argument("--keep", type=Path, help="write each result there, and go on from there")
    asked = parser.parse_args(arguments)
    tasks = all_tasks()
    total = Counter(task.core for task in tasks)
    chosen = [
        task for task in sampled(tasks, asked.sample, asked.seed) if asked.only in f"{task.core} {task.name}"
    ]
    meter = Meter(chosen, asked.keep)
    options = ["-q", "-s", "--no-header", "-o", "addopts=", "-o", "timeout=0"]
    for plugin in ("xdist", "cacheprovider", "nbval", "rerunfailures", "timeout"):
        options += ["-p", f"no:{plugin}"]
    folders = dict.fromkeys(folder for task in chosen for folder in TESTS[task.core])
    pytest.main([*options, "-W", "ignore", *folders], plugins=[meter])
    new = unjudged(meter.killers)
    text = "\n\n".join([table(chosen, meter.killers, total), *gaps(new)])
    print(text)
    if asked.write:
        write_between(ROOT / PAGE, MARKS, text)
    killed = sum(map(bool, meter.killers.values()))
    return 1 if new or killed < KILLED_SHARE * (killed + len(new)) else 0


if __name__ == "__main__":
    if os.environ.get(ARRAYS_VARIABLE) != "off":  # a process without arrays starts and forks faster
        command = [sys.executable, "-m", "tests.mutation.meter", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | {ARRAYS_VARIABLE: "off"})
    sys.exit(main())

"""Run the stages of `make test`, some of them at the same time, and say what was checked and what was not.

    python tests/run_stages.py [--at-once 2] lint types unit ...

A stage is a target of the Makefile. Stages start in the order in which they are named, and one more than
``--at-once`` while the processors have time left. Each writes into a file of its own, which is printed when
the stage ends. The close has a line for each stage, and a last line that says whether every check passed.
Skipped tests, and steps that a stage left out, are counted there by reason: a run that skipped something did
not pass all checks. A few tests that failed are run again when all stages have ended; if they pass, the last
line names them as unsteady (`second_try`).

A stage reports what it did not check in two ways: by ``NAME*.xml`` in the folder ``REPORTS`` (pytest's
``--junitxml``), and by lines of its output that begin with ``SKIPPED: ``.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import second_try, shared  # noqa: E402 - a script finds the package by the line above

REPORTS = "PRAVEGA_LAB_TEST_REPORTS"
PULSE_S = 60.0
POLL_S = 0.2
LOOK_S = 30.0
IDLE_SHARE = 0.2
"""One more stage starts if the processors had nothing to do for this share of the last LOOK_S."""
STOP_S_MAX = 30.0
REASON_MAX = 120
SKIPPED_LINE = re.compile(r"^SKIPPED: (.+)$", re.MULTILINE)
CLOSING_LINE = re.compile(r"^=*\s?(\d+ (?:passed|failed|error|skipped)[^\n=]*?)\s?=*$", re.MULTILINE)


@dataclass
class Stage:
    """A target that runs, or has run."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]
    began_s: float = field(default_factory=time.monotonic)
    took_s: float = 0.0
    busy_s: float = 0.0
    """Processor time of the stage and of all processes that were waited for in it."""
    skipped: Counter[str] = field(default_factory=Counter)
    """What was left out, in words, and how often."""
    unsteady: list[str] = field(default_factory=list)
    """What failed at first, and passed when it was run again."""

    @property
    def passed(self) -> bool:
        return self.process.returncode == 0 or bool(self.unsteady)

    def close(self, reports: Path) -> None:
        """Read what the stage, which has ended, says about itself."""
        self.took_s = time.monotonic() - self.began_s
        self.skipped.update(skipped_tests(self.name, sorted(reports.glob(f"{self.name}*.xml"))))
        self.skipped.update(SKIPPED_LINE.findall(self.text()))

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def line(self) -> str:
        """Return the stage's line of the close."""
        counts = "; ".join(CLOSING_LINE.findall(self.text()))
        return (
            f"  {self.name:14}{'passed' if self.passed else 'FAILED'} {self.took_s:6.0f} s, "
            f"{self.busy_s:5.0f} s of processors  {counts}".rstrip()
        )


def skipped_tests(stage: str, reports: Iterable[Path]) -> Counter[str]:
    """Return the kinds of skipped tests in pytest's reports, ``unit tests (no Java)``, with their numbers."""
    found: Counter[str] = Counter()
    for report in reports:
        for skipped in ElementTree.parse(report).iter("skipped"):
            if skipped.get("type") != "pytest.xfail":
                found[f"{stage} tests ({_short(skipped.get('message', ''))})"] += 1
    return found


def _short(reason: str) -> str:
    line = reason.strip().split("\n")[0]
    return line if len(line) <= REASON_MAX else f"{line[: REASON_MAX - 1]}…"


def verdict(name: str, failed: Sequence[str], skipped: Counter[str], unsteady: Sequence[str] = ()) -> str:
    """Return the last line of the run."""
    left_out = ", ".join(f"{count} {what}" if count > 1 else _one(what) for what, count in skipped.items())
    parts = [f"FAILED: {', '.join(failed)}"] if failed else []
    if unsteady:
        parts.append(f"UNSTEADY, passed only when run again: {', '.join(unsteady)}")
    if left_out:
        parts.append(f"SKIPPED: {left_out}")
    if not parts:
        return f"{name}: all checks passed"
    return f"{name}: {'' if failed else 'passed, but '}{'; '.join(parts)}"


def _one(what: str) -> str:
    one, replaced = re.subn(r"^(\S+) tests \(", r"1 \1 test (", what)
    return one if replaced else what


def run(names: Sequence[str], at_once: int, folder: Path) -> list[Stage]:
    """Run the stages, ``at_once`` at a time or one more. Print each as it ends; return them in that order."""
    waiting, running, ended = list(names), list[Stage](), list[Stage]()
    pulse_s = time.monotonic()
    spare = Spare()
    try:
        while waiting or running:
            while waiting and (len(running) < at_once or (len(running) == at_once and spare.found())):
                running.append(_start(waiting.pop(0), folder))
                spare = Spare()
            time.sleep(POLL_S)
            for stage in [s for s in running if _ended(s)]:
                running.remove(stage)
                stage.close(folder)
                ended.append(stage)
                _print_stage(stage)
            if running and time.monotonic() - pulse_s >= PULSE_S:
                pulse_s = time.monotonic()
                ages = ", ".join(f"{s.name} {pulse_s - s.began_s:.0f} s" for s in running)
                print(f"still running: {ages}; waiting: {' '.join(waiting) or 'none'}", flush=True)
    finally:
        _stop(running)
    return ended


class Spare:
    """Looks whether the processors have time left for another stage, since it was made."""

    def __init__(self) -> None:
        self._look()

    def _look(self) -> None:
        self._since_s, self._idle_s = time.monotonic(), _idle_s()

    def found(self) -> bool:
        """Say whether they had nothing to do for IDLE_SHARE of the last LOOK_S. False in between."""
        took_s = time.monotonic() - self._since_s
        if took_s < LOOK_S:
            return False
        idle_s = (_idle_s() - self._idle_s) / (os.cpu_count() or 1)
        self._look()
        return idle_s >= IDLE_SHARE * took_s


def _ended(stage: Stage) -> bool:
    """Say whether the stage has ended. What its processes used becomes known when it is waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if stage.process.poll() is None:
        return False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stage.busy_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return True


def _stop(stages: list[Stage]) -> None:
    """End stages that still run after Ctrl-C, as Ctrl-C would: their tests stop what they have started."""
    stages = [stage for stage in stages if stage.process.poll() is None]
    for stage in stages:
        os.killpg(stage.process.pid, signal.SIGINT)
    for stage in stages:
        try:
            stage.process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(stage.process.pid, signal.SIGKILL)


def try_again(stage: Stage, folder: Path) -> None:
    """Run the tests of a stage that failed again, and note them if they pass now."""
    again = second_try.targets(stage.name, folder)
    if again is None:
        return
    target, names = again
    second = _start(f"{stage.name} again", folder, target)
    try:
        second.process.wait()
    finally:
        _stop([second])
    second.close(folder)
    _print_stage(second)
    if second.passed:
        stage.unsteady = names


def _start(name: str, folder: Path, target: Sequence[str] = ()) -> Stage:
    print(f"=== {name} starts", flush=True)
    log = folder / f"{name}.log"
    environ = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["make", "--no-print-directory", *(target or [name])],
            cwd=ROOT,
            env={**environ, REPORTS: str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Stage(name, log, process)


def _print_stage(stage: Stage) -> None:
    print(f"{f'=== {stage.name} ':=<78}")
    print(stage.text().rstrip())
    words = "passed" if stage.passed else f"FAILED with exit code {stage.process.returncode}"
    print(f"=== {stage.name} {words} after {stage.took_s:.0f} s", flush=True)


def _idle_s() -> float:
    """Return for how long the machine's processors have had nothing to do, added up."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--at-once",
        type=int,
        default=2,
        help="so many stages, and one more if processors are idle",
    )
    parser.add_argument("--name", default="run_stages", help="what was called, for the last line")
    parser.add_argument("stages", nargs="+")
    args = parser.parse_args()
    began_s, idle_s = time.monotonic(), _idle_s()
    shared.begin()
    try:
        ended = run(args.stages, args.at_once, shared.folder())
        for stage in [stage for stage in ended if not stage.passed]:
            try_again(stage, shared.folder())
        print(f"{'=== summary ':=<78}")
        ended.sort(key=lambda stage: args.stages.index(stage.name))
        for stage in ended:
            print(stage.line())
    finally:
        shared.end()
    took_s = time.monotonic() - began_s
    busy = 1 - (_idle_s() - idle_s) / (took_s * (os.cpu_count() or 1))
    print(f"  {'all':14}{'':6} {took_s:6.0f} s  processors busy for {busy:.0%} of it")
    failed = [stage.name for stage in ended if not stage.passed]
    unsteady = [test for stage in ended for test in stage.unsteady]
    print(verdict(args.name, failed, sum((stage.skipped for stage in ended), Counter()), unsteady))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

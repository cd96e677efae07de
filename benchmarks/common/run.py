"""What all benchmarks share: figures by round, ratios within a round, targets, the machine in words.

Figures of one round are taken one shortly after the other, so what else the machine does hits all of them
alike; a ratio is taken inside each round, and of the ratios (and of everything else) minimum, median and
maximum are shown, never the best alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

OTHERS_MAX = 0.1  # of all cores, during the run
STEAL_MAX = 0.02  # the same, of what the host gave to other guests


def parser_of(document: str | None, rounds: int = 5) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=document, formatter_class=formatter)
    parser.add_argument("--rounds", type=int, default=rounds, help="that are counted (default: %(default)s)")
    parser.add_argument("--cold", action="store_true", help="no round to warm up: compiling counts too")
    parser.add_argument("--json", action="store_true", help="print figures, targets and machine as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


def in_turns(names: Sequence[str], turn: int) -> list[str]:
    """The names in another order each turn, so that none always comes after the same other."""
    first = turn % len(names) if names else 0
    return [*names[first:], *names[:first]]


def rounds_of(options: argparse.Namespace) -> Iterable[int]:
    """0 is for warming up and is not counted, then 1, 2, … with a progress bar."""
    turns: Iterable[int] = tqdm(
        range(int(options.cold), options.rounds + 1), unit="round", leave=False, disable=None
    )
    return turns


@dataclass(frozen=True)
class Target:
    """What was to be reached, and the figure found (a median)."""

    what: str
    found: float
    wanted: float
    at_least: bool

    @property
    def is_reached(self) -> bool:
        return self.found >= self.wanted if self.at_least else self.found <= self.wanted

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "reached" if self.is_reached else "MISSED"
        return f"{verdict}: {self.what}: {number(self.found)}, wanted {sign} {number(self.wanted)}"


@dataclass
class Run:
    """Figures of one run of one benchmark."""

    title: str
    figures: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._before = Machine.now()
        self._machine: dict[str, Any] | None = None

    def add(self, what: str, where: str, value: float) -> None:
        """One figure of the round at hand. ``what`` names the unit too."""
        self.figures.setdefault((what, where), []).append(value)

    def of(self, what: str, where: str) -> list[float]:
        return self.figures.get((what, where), [])

    def ratio(self, name: str, over: tuple[str, str], under: tuple[str, str]) -> float | None:
        """Show the ratio of two figures, round by round; its median, or None if one was not measured."""
        pairs = zip(self.of(*over), self.of(*under), strict=True) if self._have(over, under) else []
        found = [one / other for one, other in pairs]
        if not found:
            return None
        self.figures[name, "ratio"] = found
        return statistics.median(found)

    def difference(self, name: str, over: tuple[str, str], under: tuple[str, str]) -> float | None:
        """As `ratio`, of the difference."""
        pairs = zip(self.of(*over), self.of(*under), strict=True) if self._have(over, under) else []
        found = [one - other for one, other in pairs]
        if not found:
            return None
        self.figures[name, "difference"] = found
        return statistics.median(found)

    def _have(self, *keys: tuple[str, str]) -> bool:
        return all(key in self.figures for key in keys)

    def target(self, what: str, found: float | None, wanted: float, *, at_least: bool = True) -> None:
        """Compare with what was to be reached; nothing if it was not measured."""
        if found is not None:
            self.targets.append(Target(what, found, wanted, at_least))

    def median(self, what: str, where: str) -> float | None:
        found = self.of(what, where)
        return statistics.median(found) if found else None

    def measured(self) -> None:
        """Look at the machine before Spark is stopped, after which its workers count as others."""
        self._machine = self._before.until_now()

    def finish(self, options: argparse.Namespace) -> int:
        """Print everything; the exit code."""
        machine = self._machine or self._before.until_now()
        print(self.as_json(machine) if options.json else self.as_text(machine))
        return int(options.check and not all(target.is_reached for target in self.targets))

    def as_text(self, machine: dict[str, Any]) -> str:
        lines = [self.title, "", "| | | min | median | max |", "|---|---|--:|--:|--:|"]
        for (what, where), values in self._rows():
            low, middle, high = (number(f(values)) for f in (min, statistics.median, max))
            lines.append(f"| {what} | {where} | {low} | {middle} | {high} |")
        return "\n".join([*lines, "", *map(str, self.targets), in_words(machine)])

    def _rows(self) -> list[tuple[tuple[str, str], list[float]]]:
        """What belongs together is together; otherwise as it came."""
        order = {what: None for what, _ in self.figures}
        return [item for what in order for item in sorted(self.figures.items()) if item[0][0] == what]

    def as_json(self, machine: dict[str, Any]) -> str:
        figures = [{"what": w, "where": p, "values": v} for (w, p), v in self.figures.items()]
        targets = [{**vars(target), "is_reached": target.is_reached} for target in self.targets]
        everything = {"title": self.title, "figures": figures, "targets": targets, "machine": machine}
        return json.dumps(everything, indent=1)


def number(value: float) -> str:
    """Four digits or all before the point."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Machine:
    """How loaded the machine was when a run began."""

    load: float
    ticks: tuple[int, int, int]
    own: float

    @classmethod
    def now(cls) -> Machine:
        return cls(os.getloadavg()[0], _ticks(), _own_ticks())

    def until_now(self) -> dict[str, Any]:
        """The machine in figures, from then until now."""
        busy, stolen, all_ticks = (last - first for last, first in zip(_ticks(), self.ticks, strict=True))
        others = max(busy - stolen - (_own_ticks() - self.own), 0.0) / max(all_ticks, 1)
        steal = stolen / max(all_ticks, 1)
        return {
            "cores": os.cpu_count(),
            "processor": _processor(),
            "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            "load_before": round(self.load, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "others": round(others, 3),
            "steal": round(steal, 3),
            "is_noisy": others > OTHERS_MAX or steal > STEAL_MAX,
        }


def _ticks() -> tuple[int, int, int]:
    """Busy, stolen and all ticks of all cores since the start; zeros where there is no ``/proc``."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0, 0, 0
    user, nice, system, idle, wait, irq, soft, steal = map(int, stat.read_text().split()[1:9])
    busy = user + nice + system + irq + soft + steal
    return busy, steal, busy + idle + wait


def _own_ticks() -> float:
    """Ticks of this process, of its ended children, and of all that descends from it and still runs."""
    spent: dict[int, float] = {}
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        spent[int(stat.parent.name)] = sum(map(int, fields[11:15]))  # its own, and its ended children's
    return sum(ticks for pid, ticks in spent.items() if _descends(pid, parents))


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid and pid != os.getpid():
        pid = parents.get(pid, 0)
    return pid != 0


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def in_words(machine: dict[str, Any]) -> str:
    """One line about the machine, and a warning where others used it too."""
    line = (
        "{cores} cores ({processor}), {system}; load {load_before} before, {load_after} after; "
        "others used {others:.0%} of the cores, {steal:.0%} were stolen"
    )
    said = line.format(**machine)
    if machine["is_noisy"]:
        said += "\nNOISY: others used the machine too. Compare within a round only, and run it again"
    return said

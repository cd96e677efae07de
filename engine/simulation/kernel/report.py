"""The report of one seed for another person: problems, versions, order of steps, log, and the command.

It has what the team that found FLINK-18641 asks of a good report: a complete description of the problem,
detailed versions, the error log, and how to reproduce it. All but the versions is a function of the seed.
"""

from __future__ import annotations

import json
import logging
import platform
import re
from collections.abc import Callable
from importlib import metadata

from pravega_lab.portable.words import plural

from .journal import Entry
from .run import Result

STEPS_MAX = 60
LOGGED_MAX = 100
TAIL = 12
ABOUT_MAX = 150
PACKAGES = ("numpy", "pyarrow")
# Turning points of a run: the report always shows them, whatever the problem is about.
TURNS = {
    "CheckpointPending", "CheckpointCompleted", "CheckpointFailed", "Restored", "JobStateChanged", "healed",
    "start", "crash", "fault", "epoch",
}  # fmt: skip
_WORD = re.compile(r"[\w./→ -]*\w\[\d+\]|[A-Za-z][\w/-]*\d[\w-]*|checkpoint \d+")


class Log(logging.Handler):
    """Collects what the project logs in a ``with`` block, one line each, without the time, which
    is virtual.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first line of a record, or count it if there are too many."""
        if len(self.lines) >= LOGGED_MAX:
            self.left_out += 1
            return
        first = record.getMessage().splitlines() or [""]
        self.lines.append(f"{record.levelname} {record.name}: {first[0]}")

    def __enter__(self) -> Log:
        logging.getLogger("pravega_lab").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("pravega_lab").removeHandler(self)


def run_and_report(run: Callable[[], Result], commit: str) -> tuple[Result, str]:
    """Run a seed, and return its result and its report as Markdown."""
    with Log() as log:
        result = run()
    return result, report(result, commit, log)


def report(result: Result, commit: str, log: Log) -> str:
    """Return the report of a run, as Markdown."""
    problems = result.problems
    title = problems[0].splitlines()[0] if problems else "no violation"
    bug = f" with the planted bug `{result.bug}`" if result.bug else ""
    parts = [
        f"# Seed {result.seed} of scenario {result.scenario}: {title}",
        _seen(result) + (f" This run was made{bug}: it is expected to fail." if bug else ""),
        "## Repeat it",
        f"```\n{result.command}\n```",
        "The run is a function of its seed: the same command gives the same steps on every machine. "
        "`--journal FILE` with it writes all of them down.",
        "## Versions",
        "\n".join(f"- {name}: {version}" for name, version in versions(commit)),
        "## What was drawn",
        result.summary(),
        *_wrong(problems),
        "## Order of steps",
        *_steps(result),
        "## Log",
        *_log(log),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _seen(result: Result) -> str:
    n = len(result.problems)
    if not n:
        return "Every check held. `docs/simulation.md` lists the checks."
    return (
        f"{plural(n, 'violation')} of what must hold in every run (`docs/simulation.md` lists "
        "the rules; the word before the first colon is the rule)."
    )


def versions(commit: str) -> list[tuple[str, str]]:
    """Return names and versions of the software that ran, beginning with the project."""
    found = [("pravega_lab", f"{metadata.version('pravega-lab')}, commit {commit}")]
    found.append(("Python", f"{platform.python_implementation()} {platform.python_version()}"))
    for name in PACKAGES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "not installed"))
    release = platform.release().partition("-")[0]  # without the name of the builder
    found.append(("System", f"{platform.system()} {release}, {platform.machine()}"))
    return found


def _wrong(problems: list[str]) -> list[str]:
    if not problems:
        return []
    shown = "\n".join(f"{k}. {_fenced(problem)}" for k, problem in enumerate(problems[:20], 1))
    more = f"\n\nAnd {len(problems) - 20} more." if len(problems) > 20 else ""
    return ["## What went wrong", shown + more]


def _fenced(text: str) -> str:
    """Return a text with all lines but the first indented."""
    first, *rest = text.splitlines() or [""]
    return "\n".join([first, *(f"       {line}" for line in rest)])


def subjects(problems: list[str]) -> list[str]:
    """Return what the problems are about: names with numbers, ``count-4[1]``, ``files-5``,
    ``checkpoint 3``.
    """
    found = (word.strip() for problem in problems for word in _WORD.findall(problem))
    return list(dict.fromkeys(word for word in found if len(word) > 2))


def chosen(entries: list[Entry], problems: list[str]) -> list[Entry]:
    """Return the steps to print: those about the first problem and the turning points, or else the last
    steps.

    Later problems are mostly consequences of the first.
    """
    entries = _until_violated(entries, problems)
    words = subjects(problems[:1])
    if not words:
        return entries[-STEPS_MAX:]
    names = [json.dumps(word)[1:-1] for word in words]  # with the escapes of a line of the journal
    about = [name.replace("checkpoint ", '"checkpoint_id":') for name in names]
    mine = [e for e in entries if e.what in TURNS or any(word in e.to_line() for word in about)]
    return mine[-STEPS_MAX:] or entries[-STEPS_MAX:]


def _until_violated(entries: list[Entry], problems: list[str]) -> list[Entry]:
    """Return the steps up to the first problem, if it was found while the job ran."""
    for n, entry in enumerate(entries):
        if entry.what == "violated" and entry.about["problem"] in problems[:1]:
            return entries[: n + 1]
    return entries


def _steps(result: Result) -> list[str]:
    entries = list(result.journal.entries)
    if not entries:
        return ["The journal is empty: it failed before anything happened."]
    steps = chosen(entries, result.problems)
    words = ", ".join(f"`{word}`" for word in subjects(result.problems[:1])[:8])
    why = f"those about {words} (the first violation), and what turned the run" if words else "the last"
    said = f"{len(steps)} of {len(entries):,} steps: {why}. Times are virtual ms since the start."
    begin_us = entries[0].time_us
    lines = [_line(entry, begin_us) for entry in steps]
    tail = [_line(entry, begin_us) for entry in entries[-TAIL:]]
    shown = [said, "```\n" + "\n".join(lines) + "\n```"]
    if steps[-1] is entries[-1]:
        return shown
    return [*shown, "The very last:", "```\n" + "\n".join(tail) + "\n```"]


def _line(entry: Entry, begin_us: int) -> str:
    about = entry.about.get("about", entry.about)
    items = about.items() if isinstance(about, dict) else [("about", about)]
    text = " ".join(f"{name}={value}" for name, value in items if value not in (None, "", []))
    text = text if len(text) <= ABOUT_MAX else f"{text[:ABOUT_MAX]}…"
    ms = (entry.time_us - begin_us) / 1000
    return f"{entry.seq:>7} {ms:>10.3f}  {entry.who:<12} {entry.what:<22} {text}".rstrip()


def _log(log: Log) -> list[str]:
    if not log.lines:
        return ["Nothing was logged."]
    more = [f"And {log.left_out:,} more."] if log.left_out else []
    return ["```\n" + "\n".join(log.lines) + "\n```", *more]

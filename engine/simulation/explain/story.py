"""`story_of`: the story of a run as moments in order, and as sentences.

It describes every fault that happened, the steps that the violated rule is about, and what turned the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..kernel.journal import Entry
from ..kernel.loop import START_US
from ..kernel.report import TURNS
from ..kernel.run import Result
from .rules import rule_of
from .words import fault_words, lanes_of, line_words

MOMENTS_MAX = 40
EARLIER = 6  # moments at the beginning that a shortened story keeps
PROBLEM_MAX = 300
TURNING = (TURNS | {"sealed", "scaled", "input ends", "declared-dead", "checkpointed", "reset", "killed"}) - {
    "fault",
    "epoch",
}
_NAME = re.compile(
    r"[\w.#-]+\|[\w-]+\|\d+|[\w.#/→-]+(?: #\d+)?\[\d+\]|\b[A-Za-z][\w-]*\d[\w.-]*|checkpoint \d+"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, ``time_us`` after the start, in a lane, and where a message came from.

    ``sort`` is "step", "fault", "turn" or "violation".
    """

    time_us: int
    sort: str
    lane: str
    origin: str
    words: str

    def sentence(self) -> str:
        """Return the sentence with its time in virtual ms."""
        return f"At {self.time_us / 1000:,.1f} ms: {self.words}"


@dataclass(frozen=True)
class Story:
    """The moments of a run in order, how many were left out, and the violation."""

    result: Result
    rule: str
    problem: str
    moments: tuple[Moment, ...]
    left_out: int

    def sentences(self) -> list[str]:
        """Return the story, a sentence for each moment."""
        told = [moment.sentence() for moment in self.moments]
        if self.left_out:
            told.insert(EARLIER, f"({self.left_out:,} steps are left out here.)")
        return told


def names_in(problem: str) -> list[str]:
    """Return the names that a problem mentions: events, subtasks, processes, checkpoints."""
    found = (word.strip(" .,") for word in _NAME.findall(problem))
    return list(dict.fromkeys(word for word in found if len(word) > 2))


def problem_of(result: Result, rule: str) -> str:
    """Return the first problem that violates the rule."""
    return next((problem for problem in result.problems if rule_of(problem) == rule), "")


def story_of(result: Result, rule: str) -> Story:
    """Return the story of a run that violated a rule."""
    problem = problem_of(result, rule)
    entries = _until_found(result.journal.entries, problem)
    chosen = [entry for entry in _about(entries, problem) if line_words(entry)]
    faults = [Moment(one.time_us - START_US, "fault", lane, "", words) for one in result.happened
              for lane, words in [fault_words(one)]]  # fmt: skip
    end_us = entries[-1].time_us - START_US if entries else 0
    steps = [_moment(entry) for entry in chosen]
    told = sorted([*faults, *steps], key=lambda moment: moment.time_us)
    kept, left_out = _shortened(told)
    last = Moment(end_us, "violation", kept[-1].lane if kept else "checker", "", _violation(problem))
    return Story(result, rule, problem, (*kept, last), left_out)


def _until_found(entries: Sequence[Entry], problem: str) -> Sequence[Entry]:
    """Return the lines up to the violation, if a checker found it while the run continued."""
    for n, entry in enumerate(entries):
        if entry.what == "violated" and entry.about["problem"] == problem:
            return entries[:n]
    return entries


def _about(entries: Sequence[Entry], problem: str) -> list[Entry]:
    names = [json.dumps(name)[1:-1] for name in names_in(problem.splitlines()[0] if problem else "")]
    words = [re.sub(r"^checkpoint ", '"checkpoint_id":', name) for name in names]
    pattern = re.compile("|".join(rf"{re.escape(word)}(?![\d\w])" for word in words) or r"(?!)")
    turns = [entry for entry in entries if entry.what in TURNING]
    mine = [entry for entry in entries if entry.what not in TURNING and pattern.search(entry.to_line())]
    if not mine:  # the problem names nothing: what clients did is the story
        mine = [entry for entry in entries if entry.what not in TURNING]
    return sorted([*turns, *mine], key=lambda entry: entry.seq)


def _moment(entry: Entry) -> Moment:
    lane, origin = lanes_of(entry)
    sort = "turn" if entry.what in TURNING else "step"
    return Moment(entry.time_us - START_US, sort, lane, origin, line_words(entry))


def _shortened(moments: list[Moment]) -> tuple[list[Moment], int]:
    """Return the moments to describe: every fault; of the rest, the first and the last."""
    said: dict[tuple[str, str], None] = {}
    kept = [m for m in moments if m.sort == "fault" or ((m.words, m.lane) not in said
            and said.setdefault((m.words, m.lane)) is None)]  # fmt: skip
    room = MOMENTS_MAX - sum(moment.sort == "fault" for moment in kept)
    rest = [n for n, moment in enumerate(kept) if moment.sort != "fault"]
    if len(rest) <= room:
        return kept, 0
    dropped = set(rest[EARLIER : len(rest) - max(room - EARLIER, EARLIER)])
    return [moment for n, moment in enumerate(kept) if n not in dropped], len(dropped)


def _violation(problem: str) -> str:
    first = (problem.splitlines() or ["?"])[0]
    return f"A rule is violated: {first[:PROBLEM_MAX]}{'…' if len(first) > PROBLEM_MAX else ''}"

"""`RunSpec`: everything that decides a run of the page, and the text of its link.

The link is the part of the address after ``#``: ``scenario=reader-dies&seed=3&act=13+kill+eva&at=12.5``.
The page writes the same text (``page/link.ts``); nothing in it is ever evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote_plus

from pravega_lab.errors import BadInputError

SEED_MAX = 2**53 - 1  # the largest whole number that JavaScript counts exactly
ACTS_MAX = 40
SECONDS_MAX = 3_600.0
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,59}")
_ACT = re.compile(r"[\w.#>:\[\] -]{1,80}")
OWN = ("scenario", "seed", "bug", "act", "at")  # the other names are switches


@dataclass(frozen=True, slots=True)
class Act:
    """Describes an act of a story: at a virtual second, ``kill eva`` for example."""

    at_s: float
    text: str

    def __str__(self) -> str:
        return f"{self.at_s:g} {self.text}"


@dataclass(frozen=True)
class RunSpec:
    """Describes a run. Equal descriptions give equal runs, on every machine and in every browser.

    Args:
        scenario: Its name in `catalogue`.
        seed: 0 to 2**53 - 1.
        bug: The name of the planted bug, or "".
        switches: The chosen value of each switch that is not at its default.
        acts: What happens, in order of time. None stands for the acts of the scenario.
        at_s: The moment that is shown, in virtual seconds, or None for the whole run. It decides nothing.
    """

    scenario: str
    seed: int = 0
    bug: str = ""
    switches: Mapping[str, str] = field(default_factory=dict)
    acts: tuple[Act, ...] | None = None
    at_s: float | None = None

    def link(self) -> str:
        """Return the text of the link, without the ``#``."""
        pairs = [("scenario", self.scenario), ("seed", str(self.seed))]
        pairs += [("bug", self.bug)] if self.bug else []
        pairs += sorted(self.switches.items())
        if self.acts is not None:
            pairs += [("act", str(act)) for act in self.acts] or [("act", "")]
        pairs += [("at", f"{self.at_s:g}")] if self.at_s is not None else []
        return "&".join(f"{name}={quote_plus(value)}" for name, value in pairs)


def parse_link(text: str) -> RunSpec:
    """Return the run of a link's text, with or without the ``#``.

    Raises:
        BadInputError: A part is malformed; the message says which.
    """
    pairs = parse_qsl(text.removeprefix("#"), keep_blank_values=True, max_num_fields=ACTS_MAX + 20)
    values = dict(pairs)
    acts = [value for name, value in pairs if name == "act"]
    return made_of(
        {
            "scenario": values.get("scenario", ""),
            "seed": values.get("seed", "0"),
            "bug": values.get("bug", ""),
            "switches": {name: value for name, value in values.items() if name not in OWN},
            "acts": [act for act in acts if act] if acts else None,
            "at_s": values.get("at"),
        }
    )


def made_of(content: Mapping[str, Any]) -> RunSpec:
    """Return the run that a message of the page, or a command, describes; acts are texts, ``13 kill eva``.

    Raises:
        BadInputError: A part is malformed; the message says which.
    """
    seed = str(content.get("seed", "0"))
    if not re.fullmatch(r"\d{1,16}", seed) or int(seed) > SEED_MAX:
        raise BadInputError(f"seed {seed[:40]!r}: a seed is a whole number from 0 to {SEED_MAX}")
    bug, switches = str(content.get("bug") or ""), dict(content.get("switches") or {})
    for name in [str(content.get("scenario", "")), *([bug] if bug else []), *switches, *switches.values()]:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadInputError(f"{str(name)[:40]!r}: a name has small letters, digits, '-' and '.'")
    acts, at = content.get("acts"), content.get("at_s")
    if acts is not None and len(acts) > ACTS_MAX:
        raise BadInputError(f"{len(acts)} acts: a story has {ACTS_MAX} at most")
    return RunSpec(
        scenario=str(content["scenario"]),
        seed=int(seed),
        bug=bug,
        switches=switches,
        acts=None if acts is None else tuple(sorted(map(act_of, acts), key=lambda act: act.at_s)),
        at_s=None if at is None else seconds(at),
    )


def act_of(text: str) -> Act:
    """Return the act of a text, ``13 kill eva``.

    Raises:
        BadInputError: It has no second, or no words.
    """
    at, _, what = str(text).strip().partition(" ")
    if not _ACT.fullmatch(what):
        raise BadInputError(f"act {str(text)[:60]!r}: write a virtual second and what is done, '13 kill eva'")
    return Act(seconds(at), what)


def seconds(text: object) -> float:
    """Return a number of virtual seconds, rounded to milliseconds.

    Raises:
        BadInputError: It is no number, or not between 0 and an hour.
    """
    try:
        found = float(str(text))
    except ValueError:
        found = math.nan
    if not 0 <= found <= SECONDS_MAX:
        raise BadInputError(
            f"{str(text)[:40]!r}: a moment is a number of virtual seconds, 0 to {SECONDS_MAX:g}"
        )
    return round(found, 3)

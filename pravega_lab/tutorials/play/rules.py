"""`rule_of`: the code that decided, for the page: as it is, and as a planted bug has it."""

from __future__ import annotations

import inspect
from importlib import import_module
from textwrap import dedent
from typing import Any

from pravega_lab.engine.simulation.kernel.planted import Bug
from pravega_lab.tutorials.play.catalogue import Scenario

LINES_MAX = 60


def rule_of(scenario: Scenario, bug: Bug | None) -> dict[str, str]:
    """Return ``where``, ``code``, and with a bug ``wrong``: the code that is in its place in this run."""
    if bug is None:
        module, name = scenario.rule
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return {"where": f"{module}: {name}", "code": _source(found), "wrong": ""}
    owner, attribute, wrong = bug.replacements()[0]
    right = inspect.getattr_static(owner, attribute, None)
    module = getattr(owner, "__module__", None) or owner.__name__
    name = f"{owner.__name__}.{attribute}" if inspect.isclass(owner) else attribute
    return {"where": f"{module}: {name}", "code": _source(right), "wrong": _source(wrong)}


def _source(thing: Any) -> str:
    if isinstance(thing, property):
        thing = thing.fget
    thing = getattr(thing, "__func__", thing)
    try:
        lines = dedent(inspect.getsource(thing)).splitlines()
    except (OSError, TypeError):
        return repr(thing) if not callable(thing) else ""
    return "\n".join([*lines[:LINES_MAX], *(["…"] if len(lines) > LINES_MAX else [])])

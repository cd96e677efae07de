"""``pravega-lab simulate``: the seeds of all scenarios, those of the page included, and the links "
"to the page."""

from __future__ import annotations

import argparse
import re

from pravega_lab.connector.simulation import command as seeds_command
from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.play.catalogue import PLAYED_ONLY, SCENARIOS, scenario_of
from pravega_lab.tutorials.play.spec import RunSpec, made_of

_CHOICE = re.compile(r"([a-z0-9-]+)=([a-z0-9.-]+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    bugs = [bug for scenario in SCENARIOS.values() for bug in scenario.bugs]
    seeds_command.add_arguments(parser, PLAYED_ONLY, bugs)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SWITCH=VALUE",
        help="in a scenario of the page: choose a value of a switch",
    )
    parser.add_argument(
        "--act",
        action="append",
        metavar="'SECOND WORDS'",
        help="in a scenario of the page: what happens, '13 kill eva'; they replace the story ('': none)",
    )
    parser.add_argument(
        "--link",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="run nothing, and print the link of one seed for the page; ADDRESS is where the page is",
    )


def run(args: argparse.Namespace) -> int:
    """Run the seeds or print the link, and return 0 if all passed.

    Raises:
        BadInputError: Options contradict each other, or the scenario has not what they name.
    """
    is_ours = args.scenario in (PLAYED_ONLY if args.link is None else SCENARIOS)
    if not is_ours:
        given = [("--set", args.set), ("--act", args.act), ("--link", args.link is not None)]
        for option, value in given:
            if value:
                raise BadInputError(
                    f"{option} is for a scenario of the page: --scenario {', '.join(SCENARIOS)}"
                )
        return seeds_command.run(args)
    seeds = seeds_command.parse_seeds(args.seeds)
    spec = _spec(args, seeds[0])
    if args.link is not None:
        if len(seeds) > 1:
            raise BadInputError(f"--link is for one seed, but --seeds {args.seeds} has {len(seeds)}")
        print(f"{args.link}#{spec.link()}")
        return 0
    if args.report is not None or args.explain is not None or args.journal or args.plan:
        raise BadInputError(
            "--report, --explain, --plan and --journal are for the other scenarios: the page reports its runs"
        )
    return _play(spec, seeds)


def _spec(args: argparse.Namespace, seed: int) -> RunSpec:
    switches = {}
    for words in args.set:
        found = _CHOICE.fullmatch(words)
        if found is None:
            raise BadInputError(f"--set {words!r}: write SWITCH=VALUE")
        switches[found[1]] = found[2]
    acts = None if args.act is None else [act for act in args.act if act]
    spec = made_of(
        {"scenario": args.scenario, "seed": seed, "bug": args.bug, "switches": switches, "acts": acts}
    )
    scenario_of(spec)
    return spec


def _play(spec: RunSpec, seeds: range) -> int:
    from dataclasses import replace

    from pravega_lab.tutorials.play.commands import command_of
    from pravega_lab.tutorials.play.player import play
    from pravega_lab.tutorials.play.worlds.played import EXACT

    failed = 0
    for seed in seeds:
        mine = replace(spec, seed=seed)
        found = play(mine)
        print(
            f"seed {seed} ({spec.scenario}, {found.virtual_s:.1f} virtual s, {found.steps} steps): "
            f"{found.verdict}"
        )
        for problem in [*found.problems, *([found.first] if found.first else [])]:
            print(f"  {problem}")
        if found.standing != EXACT:
            failed += 1
            print(f"  repeat: {command_of(mine)}")
    print(f"{failed} of {len(seeds)} seeds are not exact" if failed else f"{len(seeds)} seeds, all exact")
    return 1 if failed else 0

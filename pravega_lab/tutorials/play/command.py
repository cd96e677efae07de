"""``pravega-lab simulate``: the seeds of all scenarios, those of the page included, and the
links to the page.
"""

from __future__ import annotations

import argparse
import re
import sys

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
    """Run the seeds or print the link, and return 0 if all passed and every act of ``--act`` was done.

    Raises:
        BadInputError: Options contradict each other, or the scenario has not what they name.
    """
    needs_page = args.link is not None or args.act is not None  # the other ``race`` has no acts
    is_ours = args.scenario in (SCENARIOS if needs_page else PLAYED_ONLY)
    if not is_ours:
        given = [("--set", args.set), ("--act", args.act), ("--link", args.link is not None)]
        for option, value in given:
            if value:
                raise BadInputError(
                    f"{option} is for a scenario of the page: --scenario {', '.join(SCENARIOS)}"
                )
        return seeds_command.run(args)
    seeds = seeds_command.parse_seeds(args.seeds if args.explain is None else str(args.explain))
    spec = _spec(args, seeds[0])
    if args.link is not None:
        if len(seeds) > 1:
            raise BadInputError(f"--link is for one seed, but --seeds {args.seeds} has {len(seeds)}")
        print(f"{args.link}#{spec.link()}")
        return 0
    if args.report is not None or args.journal or args.plan:
        raise BadInputError(
            "--report, --plan and --journal are for the other scenarios: the page reports its runs"
        )
    if args.explain is not None:
        seeds_command.check_place("--output", args.output)
        return _explain(spec, args.seconds, args.output)
    if args.output:
        raise BadInputError("--output names the file of a page: add --explain SEED")
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


def _explain(spec: RunSpec, seconds: float, output: str | None) -> int:
    """Explain a run, as the page does. Return 0 if it did not go wrong."""
    import time
    from pathlib import Path

    from tqdm import tqdm

    from pravega_lab.tutorials.play.explained import Explaining

    explaining, end_s = Explaining(spec), time.monotonic() + seconds
    with tqdm(unit="run", file=sys.stderr, disable=None) as bar:
        while not explaining.is_over and time.monotonic() < end_s:
            explaining.step()
            bar.update()
    print(explaining.as_text())
    if output:
        Path(output).write_text(explaining.as_page(), encoding="utf-8")
        print(f"the pictures are in {output}")
    return 1 if explaining.failure else 0


def _play(spec: RunSpec, seeds: range) -> int:
    from dataclasses import replace

    from pravega_lab.tutorials.play.commands import command_of
    from pravega_lab.tutorials.play.player import play
    from pravega_lab.tutorials.play.worlds.played import EXACT

    failed = skipped = 0
    for seed in seeds:
        mine = replace(spec, seed=seed)
        found = play(mine)
        print(
            f"seed {seed} ({spec.scenario}, {found.virtual_s:.1f} virtual s, {found.steps} steps): "
            f"{found.said}"
        )
        not_done = found.not_done()
        skipped += spec.acts is not None and bool(not_done)
        for problem in [*not_done, *found.problems, *([found.first] if found.first else [])]:
            print(f"  {problem}")
        if found.standing != EXACT:
            failed += 1
            print(f"  repeat: {command_of(mine)}")
    print(f"{failed} of {len(seeds)} seeds are not exact" if failed else f"{len(seeds)} seeds, all exact")
    if skipped:  # a misspelt name would look like a fault that did no harm
        print(f"an act of --act was not done in {skipped} of {len(seeds)} seeds")
    return 1 if failed or skipped else 0

"""Print a hash of the journal of some simulated runs, as JSON: ``{"writers/3": "f00d…", …}``.

    python tests/journals.py SEEDS [SCENARIO…]

Run with different Pythons by `pythons.py`: a run is a function of its seed on all of them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pravega_lab.connector.simulation.scenario import run_connector
from pravega_lab.engine.simulation.flow.race import run_race_seed
from pravega_lab.engine.simulation.flow.scenario import run_flow
from pravega_lab.engine.simulation.groups.scenario import run_groups
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.engine.simulation.kernel.traffic import Size
from pravega_lab.engine.simulation.store.scenarios import NAMES, run_seed

SMALL = Size(messages=1_000, failures=1)
SCENARIOS: dict[str, Callable[[int], Result]] = {
    **{name: partial(run_seed, scenario=name) for name in NAMES},
    "groups": run_groups,
    "flow": partial(run_flow, size=SMALL),
    "connector": lambda seed: run_connector(seed, rows=240, size=Size(failures=2, scales=2))[0],
    "race": run_race_seed,
}


def hashes(seeds: Sequence[int], scenarios: Sequence[str] = tuple(SCENARIOS)) -> dict[str, str]:
    """Return the SHA-256 of each run's journal, in hexadecimal, by scenario and seed."""
    return {
        f"{name}/{seed}": hashlib.sha256(SCENARIOS[name](seed).journal.to_bytes()).hexdigest()
        for name in scenarios
        for seed in seeds
    }


def main(words: Sequence[str]) -> None:
    """Print the hashes of the number of seeds in the first word, of the scenarios in the others."""
    print(json.dumps(hashes(range(1, 1 + int(words[0])), words[1:] or tuple(SCENARIOS))))


if __name__ == "__main__":
    main(sys.argv[1:])

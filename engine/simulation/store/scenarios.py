"""The scenarios of the store: who takes part in a run and which faults happen, drawn from the seed; and
`run_seed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from random import Random

from pravega_lab.client.values import RetentionPolicy, ScalingPolicy

from ...store.retention.retention import PERIOD_MS as RETENTION_PERIOD_MS
from ..kernel.faults import EVERYTHING, Plan
from ..kernel.loop import SimulationLoop
from ..kernel.objects import SimulatedObjects
from ..kernel.run import Result, run_story
from . import apps, readers
from .bugs import BUGS
from .checkers import check
from .clocks.apps import ClockSetter, Tenant
from .conditions.apps import Rival
from .damage.scenario import DamageScenario
from .key_values import apps as key_value_apps
from .retention import apps as retention_apps
from .storage_scenario import StorageScenario
from .tier import draw_settings, draw_tier_trouble
from .tiers.copies import CopiesScenario
from .tiers.mounts import Mounter
from .tiers.room import Room
from .tokens.apps import Thief
from .tokens.users import USER, access_control
from .world import World

Populate = Callable[[World, Random], None]
ALONE = {"log": StorageScenario, "damage": DamageScenario, "copies": CopiesScenario}
"""Scenarios of a storage without the network and the controller."""


# -- who takes part ------------------------------------------------------------------------------------------


def _writers(world: World, chance: Random) -> None:
    """Writers to a stream that is split and merged, and readers of three kinds."""
    for n in range(chance.choice((1, 2))):
        world.apps.append(apps.Writer(world, f"writer{n}", chance.randint(5, 25)))
    world.apps.append(apps.Scaler(world, "scaler", chance.choice((0, 2, 5))))
    world.apps.append(readers.BoundedReader(world, "bounded", chance.choice((0, 2))))
    world.apps.append(apps.Vandal(world, "vandal", chance.choice((0, 0, 5))))
    follower = chance.choice((readers.Follower, readers.Follower, readers.Truncator))
    world.may_be_truncated = follower is readers.Truncator
    world.until_end.append(follower(world, "follower"))
    world.until_end.append(readers.SegmentReader(world, "segments"))
    if chance.random() < 0.3:  # the stream also scales by its policy, a thousand times as fast as usual
        world.store.scaling_clock = 1000
        world.scaling = ScalingPolicy.by_event_rate(chance.choice((5, 50)), 2, 1)


def _singles(world: World, chance: Random) -> None:
    """Writers that add single events from a thread, to a stream that is split and merged."""
    for n in range(chance.choice((1, 2))):
        world.apps.append(apps.SingleWriter(world, f"writer{n}", chance.randint(5, 25)))
    world.apps.append(apps.Scaler(world, "scaler", chance.choice((0, 2, 5))))
    world.until_end.append(readers.Follower(world, "follower"))


def _transactions(world: World, chance: Random) -> None:
    """Transactions across scales, so that some of them roll, and a writer at the same time."""
    for n in range(chance.choice((1, 2))):
        world.apps.append(apps.Transactions(world, f"txn{n}", chance.randint(3, 8)))
    world.apps.append(apps.Writer(world, "writer", chance.choice((0, 8))))
    world.apps.append(apps.Scaler(world, "scaler", chance.choice((1, 3, 5))))
    world.until_end.append(readers.Follower(world, "follower"))


def _full(world: World, chance: Random) -> None:
    """Transactions on a disk that fills up, so that commits queue until there is room."""
    world.store.file_bytes = 4096
    for n in range(chance.choice((2, 3))):
        world.apps.append(apps.Transactions(world, f"txn{n}", chance.randint(3, 8)))
    world.apps.append(apps.Scaler(world, "scaler", chance.choice((2, 5))))
    world.until_end.append(readers.Follower(world, "follower"))


def _table(world: World, chance: Random) -> None:
    """Compare-and-set of one key by several users."""
    for n in range(chance.choice((2, 3))):
        world.apps.append(apps.TableUser(world, f"user{n}", chance.randint(5, 15)))


def _retention(world: World, chance: Random) -> None:
    """A stream under a retention policy, with up to two subscribers, one of which may be slow."""
    divisor = chance.choice((3_600, 9_000))
    period_ms = RETENTION_PERIOD_MS // divisor
    world.store.scaling_clock = divisor
    world.clock_skews_ms = (0,)  # ages are compared with virtual time
    by_time = chance.random() < 0.6
    minimum = chance.choice((300, 1_000) if by_time else (300, 2_000))
    maximum = chance.choice((None, 3 * minimum))
    make = RetentionPolicy.by_time if by_time else RetentionPolicy.by_size
    world.retention = policy = make(minimum, maximum)
    world.journal.add(
        "world", "retention", by_time=by_time, minimum=minimum, maximum=policy.maximum, period_ms=period_ms
    )
    world.may_be_truncated = True
    world.survey = retention_apps.StorageSurvey(world)
    world.linger_s = ((maximum or minimum) * by_time + 5 * period_ms) / 1000
    for n in range(chance.choice((1, 2))):
        world.apps.append(apps.Writer(world, f"writer{n}", chance.randint(20, 60)))
    world.apps.append(apps.Transactions(world, "txn", chance.choice((0, 0, 4))))
    world.apps.append(apps.Scaler(world, "scaler", chance.choice((0, 2, 5))))
    world.apps.append(retention_apps.HeadObserver(world, "heads", 15))
    for n in range(chance.choice((0, 1, 2))):
        world.until_end.append(retention_apps.Subscriber(world, f"group{n}", chance.choice((0, 200, 2_000))))
    world.until_end.append(readers.Follower(world, "follower"))


def _everything(world: World, chance: Random) -> None:
    """All kinds of applications at once."""
    for populate in (_writers, _transactions, _table):
        populate(world, chance)
    for n, app in enumerate(world.apps + world.until_end):
        app.name = f"{app.name}-{n}"


def _tiers(world: World, chance: Random) -> None:
    """Writers, transactions and readers on a store whose segments move to tier 2."""
    world.store.file_bytes = 4096
    world.store.objects = SimulatedObjects(world.loop.random("tier"), world.loop.faults)
    world.store.tier_settings = draw_settings(chance)
    world.store.rebuild_chance = chance.choice((0.0, 1.0))
    _writers(world, chance)
    world.apps.append(apps.Transactions(world, "txn", chance.choice((0, 4))))


def _mounts(world: World, chance: Random) -> None:
    """The same as `_tiers`, and the file system of tier 2 is unmounted and mounted again."""
    _tiers(world, chance)
    world.apps.append(Mounter(world, "mounter", world.store, chance.randint(1, 6)))


def _full_tier(world: World, chance: Random) -> None:
    """The same as `_tiers`, and tier 2 fills up and gets room again. A reader truncates what it has read."""
    _tiers(world, chance)
    assert world.store.objects is not None
    world.may_be_truncated = True
    world.until_end[0] = readers.Truncator(world, "follower")
    world.apps.append(apps.Writer(world, "writer", chance.choice((0, 20, 40))))
    world.room = Room(world.loop, world.store, world.problems)


def _clocks(world: World, chance: Random) -> None:
    """Transactions that nobody renews, on a machine whose wall clock jumps."""
    world.trouble_s = 20.0
    world.clock_skews_ms = (0, 0, -1_000, -3_600_000)
    for n in range(2):
        world.apps.append(Tenant(world, f"tenant{n}", chance.choice((1, 2))))
    world.apps.append(ClockSetter(world, "clock", world.store, chance.choice((1, 2, 3))))
    world.apps.append(apps.Writer(world, "writer", chance.choice((0, 8))))


def _tokens(world: World, chance: Random) -> None:
    """Writers, transactions and a reader with tokens that expire, and a thief of tokens."""
    world.trouble_s = 10.0
    world.clock_skews_ms = (0,)  # the time of tokens is compared with virtual time
    world.store.user, world.store.access_control = USER, access_control
    world.apps.append(Thief(world, "thief", chance.randint(3, 6)))
    world.apps.append(apps.Writer(world, "writer", chance.randint(5, 25)))
    world.apps.append(apps.Transactions(world, "txn", chance.choice((0, 4))))
    world.apps.append(apps.Scaler(world, "scaler", chance.choice((0, 2))))
    world.until_end.append(readers.Follower(world, "follower"))


def _key_values(world: World, chance: Random) -> None:
    """Transfers between accounts, notes that come and go, and listings, in one key-value table."""
    users = chance.choice((1, 2))
    for n in range(users):
        notes = key_value_apps.notes_of(n, users)
        world.apps.append(key_value_apps.Scribe(world, f"scribe{n}", chance.randint(20, 60), notes))
    for n in range(chance.choice((2, 3))):
        world.apps.append(key_value_apps.Cashier(world, f"cashier{n}", chance.randint(10, 30)))
    world.apps.append(key_value_apps.Auditor(world, "auditor", chance.randint(20, 50)))


def _conditions(world: World, chance: Random) -> None:
    """Programs that make the same conditional changes to tables and to a log."""
    for n in range(chance.choice((3, 4))):
        world.apps.append(Rival(world, f"rival{n}", chance.randint(20, 60)))


POPULATIONS: dict[str, Populate] = {
    "writers": _writers,
    "transactions": _transactions,
    "full": _full,
    "table": _table,
    "everything": _everything,
    "singles": _singles,
    "tiers": _tiers,
    "mounts": _mounts,
    "full-tier": _full_tier,
    "retention": _retention,
    "clocks": _clocks,
    "tokens": _tokens,
    "key-values": _key_values,
    "conditions": _conditions,
}
# What a seed chooses from. A scenario that is added here would give other scenarios to the seeds.
SCENARIOS = ("log", "writers", "transactions", "table", "writers", "transactions", "full", "everything")
NAMES = tuple(dict.fromkeys((*SCENARIOS, *POPULATIONS, *ALONE)))


def scenario_of(seed: int) -> str:
    """Return the scenario of a seed when none is named."""
    return SCENARIOS[seed % len(SCENARIOS)]


# -- what goes wrong -----------------------------------------------------------------------------------------


def draw_trouble(world: World, chance: Random, scenario: str) -> None:
    """Draw how network, controller and disk behave and how long processes live. Often only some misbehave."""
    network, disk, port = world.network.conditions, world.store.disk.conditions, world.store.port
    network.delay_us_max = chance.choice((200, 2_000, 30_000))
    network.cut_notice_us_max = chance.choice((100_000, 4_000_000, 40_000_000))
    network.window_bytes = chance.choice((65_536, 256))
    if chance.random() < 0.6:
        network.split_chance = chance.choice((0.0, 0.3))
        network.cut_chance = chance.choice((0.0, 0.01, 0.05))
        network.half_close_chance = chance.choice((0.0, 0.01))
        network.stall_chance = chance.choice((0.0, 0.02))
        network.refuse_chance = chance.choice((0.0, 0.1))
        port.lost_request_chance = chance.choice((0.0, 0.05))
        port.lost_answer_chance = chance.choice((0.0, 0.1))
    if chance.random() < 0.6:
        disk.slow_chance = chance.choice((0.0, 0.1, 0.5))
        disk.slow_us_max = chance.choice((50_000, 1_000_000))
        disk.fail_chance = chance.choice((0.0, 0.02))
        disk.crash_chance = chance.choice((0.0, 0.05, 0.2))
        disk.capacity_bytes = chance.choice((1 << 40, 1 << 40, 4)) * world.store.file_bytes
    if scenario in ("clocks", "tokens"):
        disk.capacity_bytes = 1 << 40  # on a full disk leases end late, and answers wait
    if scenario == "full":
        disk.capacity_bytes = chance.choice((4, 6, 8)) * world.store.file_bytes
    if chance.random() < 0.6:
        world.store_life_s_max = chance.choice((0.5, 3.0))
    if chance.random() < 0.4:
        world.app_life_s_max = chance.choice((0.5, 3.0))
    if world.store.objects is not None:
        draw_tier_trouble(world.store.objects, chance)
        world.store_life_s_max = chance.choice((0.4, 1.0, 3.0))
        world.journal.add("world", "tier trouble", **asdict(world.store.objects.conditions))
    settings = {"network": asdict(network), "disk": asdict(disk), "store_life_s_max": world.store_life_s_max}
    world.journal.add("world", "trouble", **settings, app_life_s_max=world.app_life_s_max)


# -- running -------------------------------------------------------------------------------------------------


def run_seed(
    seed: int, scenario: str | None = None, bug: str | None = None, plan: Plan = EVERYTHING
) -> Result:
    """Run one seed and return its result. Errors are recorded in ``problems`` and not raised.

    Args:
        scenario: One of `NAMES`. Without it the seed decides.
        bug: One of `bugs.BUGS`, planted for this run.
        plan: What happens of that which the seed draws.
    """
    planted = BUGS[bug] if bug is not None else None
    own = scenario_of(seed) if planted is None else planted.scenario
    return run_story(seed, scenario or own, _tell, plan, planted)


def _tell(result: Result, loop: SimulationLoop) -> None:
    try:
        (_run_alone if result.scenario in ALONE else _run)(result, loop)
    finally:
        faults = dict(sorted(result.faults.items()))
        result.journal.add("world", "end", steps=loop.steps, draws=loop.draws, faults=faults)


def _run_alone(result: Result, loop: SimulationLoop) -> None:
    scenario = ALONE[result.scenario](loop, result.journal)
    try:
        result.problems += loop.run_until_complete(scenario.run())
    finally:
        result.faults = scenario.faults


def _run(result: Result, loop: SimulationLoop) -> None:
    chance = loop.random("scenario")
    world = World(loop, result.journal)
    world.store.file_bytes = chance.choice((4096, 16_384, 65_536))
    world.trouble_s = chance.choice((1.0, 3.0, 5.0))
    POPULATIONS[result.scenario](world, chance)
    trouble = partial(draw_trouble, world, chance, result.scenario)
    try:
        loop.run_until_complete(world.run(chance.choice((1, 1, 2, 3)), trouble))
        result.problems += world.problems + check(result.journal)
        result.problems += [f"the store is sound: {problem}" for problem in world.store.problems()]
    finally:
        result.faults = world.faults

"""The scenarios of the page in words, with what may be chosen in each. This module imports no engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.play.spec import Act, RunSpec, act_of


@dataclass(frozen=True, slots=True)
class Switch:
    """A choice of a scenario. The first of ``options`` (value: words) is the default."""

    name: str
    label: str
    options: Mapping[str, str]

    @property
    def default(self) -> str:
        """The value that a link leaves out."""
        return next(iter(self.options))


@dataclass(frozen=True, slots=True)
class Verb:
    """Something that a person may do to a run at a moment.

    ``targets`` names the list that the run offers to choose from (`Played.targets`), or is "". ``value`` is
    the default of a number in ms that follows, or None.
    """

    name: str
    label: str
    targets: str = ""
    value: int | None = None

    @property
    def form(self) -> str:
        """How a person writes it: ``slow READER MS``."""
        target = self.targets.removesuffix("s").upper().replace(" ", "-")
        return " ".join(filter(None, (self.name, target, "" if self.value is None else "MS")))

    def fits(self, words: Sequence[str]) -> bool:
        """Return whether these words are whole. More of them may follow: ``drop CHANNEL records``."""
        has_number = self.value is None or words[-1].isdecimal()
        return len(words) >= len(self.form.split()) and has_number


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario of the page.

    Args:
        name: As in a link.
        title, words: What a person reads who has never seen Pravega.
        world: The module of `worlds` that runs it.
        story: Its acts, ``13 kill eva`` each.
        bugs: Names of planted bugs that it can show.
        rule: Module and qualified name of the code that decides, shown next to the run.
        facts: What the world needs to know.
        for_bugs: The switches with which a run without a bug is exact, so that the bug shows.
    """

    name: str
    title: str
    words: str
    world: str
    rule: tuple[str, str]
    story: tuple[str, ...] = ()
    switches: tuple[Switch, ...] = ()
    bugs: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
    facts: Mapping[str, int] = field(default_factory=dict)
    for_bugs: Mapping[str, str] = field(default_factory=dict)

    @property
    def acts(self) -> tuple[Act, ...]:
        """Return the acts of the story."""
        return tuple(map(act_of, self.story))

    def chosen(self, spec: RunSpec, name: str) -> str:
        """Return the value of a switch in a run.

        Raises:
            BadInputError: The run names a value that the switch does not have.
        """
        switch = next(one for one in self.switches if one.name == name)
        value = spec.switches.get(name, switch.default)
        if value not in switch.options:
            raise BadInputError(f"{name}={value}: it is one of {', '.join(switch.options)}")
        return value


FORK = Verb("fork", "Fork: other chances from here", "chances")
_OF_STREAM = (
    Verb("kill", "Kill a reader", "readers"),
    Verb("offline", "Declare a reader offline", "readers"),
    Verb("start", "Start another reader", "new readers"),
    Verb("slow", "Delay a reader, per event", "readers", 500),
    Verb("cut", "Drop what is on the wire of", "programs"),
    Verb("delay", "Delay every message by up to", "", 300),
    Verb("split", "Split a segment", "segments"),
    Verb("checkpoint", "Take a checkpoint"),
    Verb("kill-store", "Kill the store (kill -9)"),
    FORK,
)
_OF_JOB = (
    Verb("drop", "Drop the next message on", "channels"),
    Verb("delay", "Delay a channel", "channels", 100),
    Verb("kill", "Kill the process of", "tasks"),
    Verb("fail", "Let a task raise an error", "tasks"),
    Verb("checkpoint", "Take a checkpoint"),
    FORK,
)
_READER = "pravega_lab.client.reader_group.core"

READER_DIES = Scenario(
    "reader-dies",
    "A reader dies between two checkpoints",
    "Three readers share a stream. One of them dies, and a second later somebody says so. The others "
    "take its part "
    "over. Where do they begin to read?",
    "stream",
    (f"{_READER}.reader", "go_offline"),
    ("8 checkpoint", "13 kill eva", "14 offline eva", "18 checkpoint"),
    (
        Switch(
            "declared",
            "The dead reader is declared offline",
            {
                "without-position": "without its position: the others begin at the last checkpoint",
                "with-position": "with the position that it had reached",
            },
        ),
    ),
    ("dead-as-done", "begins-at-zero", "skips-after-takeover"),
    _OF_STREAM,
    {"events": 360, "segments": 4, "readers": 3},
    {"declared": "with-position"},
)
SPLIT = Scenario(
    "split",
    "A split under load",
    "A stream is cut into more segments while events pour in, and put together again. Each key stays "
    "in order, "
    "because a new segment waits until the old one has been read.",
    "stream",
    ("pravega_lab.client.reader_group.core.state", "GroupState._complete"),
    ("3 split 0", "6 checkpoint", "8 split 1", "11 checkpoint", "13 merge 2 3", "16 checkpoint"),
    (Switch("load", "Events", {"even": "one every 40 ms", "burst": "twice as many"}),),
    ("first-predecessor-only", "ended-too-early", "sealed-means-stored",),
    (*_OF_STREAM[:6], Verb("split", "Split a segment", "segments"), *_OF_STREAM[7:]),
    {"events": 480, "segments": 2, "readers": 3},
)  # fmt: skip
KILL_9 = Scenario(
    "kill-9",
    "A commit is cut off by kill -9",
    "A program writes in transactions: all events of one appear, or none. The store is killed in the "
    "middle of it, "
    "and starts again from its disk.",
    "stream",
    ("pravega_lab.engine.store.storage.storage", "Storage.group_synced"),
    ("2.5 kill-store", "4.5 kill-store", "6.5 kill-store", "8.5 kill-store", "10.5 checkpoint"),
    (Switch("disk", "The disk", {"slow": "takes up to 40 ms for a write", "fast": "is fast"}),),
    ("ack-before-sync", "answer-before-sync", "merge-copies-twice", "commit-in-part"),
    _OF_STREAM,
    {"events": 240, "segments": 3, "readers": 2, "transactions": 1},
)
GAP = Scenario(
    "flip-27-gap",
    "The FLIP-27 gap",
    "A job copies a stream and takes checkpoints. So does the reader group that it reads with. If "
    "the two do not "
    "agree on a place, a failure loses or doubles events.",
    "copy",
    ("pravega_lab.engine.flow.checkpoint.coordinator", "CheckpointCoordinator._trigger_tasks"),
    ("2.5 split 0", "4.5 split 1", "5.7 fail 0", "6.3 merge 2 3"),
    (
        Switch(
            "way",
            "The source of the job",
            {
                "b1": "(b1) each reader keeps its own position",
                "b2": "(b2) the enumerator asks the group for a cut",
                "b3": "(b3) and the reader sends the barrier at the cut",
                "a": "(a) the legacy reader with a master hook",
                "c": "(c) a split is a segment, without a group",
            },
        ),
    ),
    ("group-not-reset", "hook-without-state", "offset-not-kept"),
    (
        Verb("fail", "Let a reader of the job fail", "subtasks"),
        Verb("split", "Split a segment", "segments"),
        FORK,
    ),
    {"events": 480},
)
FINISHED = Scenario(
    "finished-task",
    "A task finishes before the others",
    "A job joins ten customers with a longer row of orders. The customers come to their end soon. Can the "
    "job still take "
    "checkpoints, and are the last customers committed?",
    "job",
    ("pravega_lab.engine.flow.checkpoint.coordinator", "CheckpointCoordinator._maybe_complete"),
    ("2 fail orders[0]",),
    (
        Switch(
            "finishing",
            "Finished tasks",
            {
                "flip-147": "are part of a checkpoint (FLIP-147)",
                "before": "end all checkpoints (before FLIP-147)",
            },
        ),
    ),
    ("finished-not-counted", "no-final-checkpoint"),
    _OF_JOB,
)  # fmt: skip
RACE = Scenario(
    "race",
    "The race of FLINK-18641",
    "A checkpoint is complete when all who take part have answered. Version 1.11.0 of Flink forgot "
    "one of them, and "
    "most of the time nobody noticed.",
    "race",
    ("pravega_lab.engine.flow.checkpoint.coordinator", "CheckpointCoordinator._maybe_complete"),
    bugs=("mailbox-1.11.0",),
    verbs=(FORK,),
)
SCENARIOS = {one.name: one for one in (READER_DIES, GAP, FINISHED, RACE, KILL_9, SPLIT)}
PLAYED_ONLY = tuple(
    name for name in SCENARIOS if name != "race"
)  # `simulate` has a scenario ``race`` already


def scenario_of(spec: RunSpec) -> Scenario:
    """Return the scenario of a run.

    Raises:
        BadInputError: There is no such scenario, or it has not what the run names.
    """
    scenario = SCENARIOS.get(spec.scenario)
    if scenario is None:
        near = get_close_matches(spec.scenario, SCENARIOS, 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        raise BadInputError(f"there is no scenario {spec.scenario!r}{hint} There are: {', '.join(SCENARIOS)}")
    if spec.bug and spec.bug not in scenario.bugs:
        raise BadInputError(
            f"{scenario.name} cannot show {spec.bug!r}; it can show {', '.join(scenario.bugs)}"
        )
    known = [switch.name for switch in scenario.switches]
    for name in spec.switches:
        if name not in known:
            raise BadInputError(
                f"{scenario.name} has no switch {name!r}; it has {', '.join(known) or 'none'}"
            )
        scenario.chosen(spec, name)
    verbs = {verb.name: verb for verb in scenario.verbs}
    names = sorted({*verbs, *(act.text.split()[0] for act in scenario.acts)})
    for act in spec.acts or ():
        words = act.text.split()
        if words[0] not in names:
            raise BadInputError(f"{scenario.name}: act {str(act)!r} is none of {', '.join(names)}")
        verb = verbs.get(words[0], FORK)
        if verb is not FORK and not verb.fits(words):
            raise BadInputError(f"{scenario.name}: act {str(act)!r}: write '{act.at_s:g} {verb.form}'")
    return scenario

"""All rules that metadata and segments of a sound store keep, and `check_state`, which applies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..storage.storage import Storage
from . import client_rules, epoch_rules, segment_rules
from .facts import Facts
from .findings import Finding, Level, damage

Rule = Callable[[Facts], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    client_rules.records_have_owners,
    epoch_rules.epochs_follow_each_other,
    epoch_rules.epochs_cover_the_key_space,
    epoch_rules.successors_agree,
    segment_rules.segments_of_streams_exist,
    segment_rules.segments_belong_to_something,
    segment_rules.truncations_hold,
    segment_rules.lengths_add_up,
    segment_rules.tables_are_consistent,
    client_rules.tables_have_their_segments,
    client_rules.transactions_are_whole,
    client_rules.groups_name_known_segments,
    client_rules.subscriptions_agree,
    client_rules.positions_are_known,
)


def check_state(storage: Storage) -> list[Finding]:
    """Return what contradicts the rules in the synced state of ``storage``. Nothing is changed.

    The caller ensures that everything submitted is synced, as it is after `open_storage`.
    """
    facts = Facts(storage)
    findings = list(facts.findings)
    for rule in RULES:
        try:
            findings += rule(facts)
        except Exception as error:  # metadata can be wrong in ways in which a rule cannot even be asked
            name = rule.__name__.replace("_", " ")
            findings.append(damage(name, "the metadata", f"The rule cannot be checked: {error!r}."))
    return findings


def problems_of(storage: Storage) -> list[str]:
    """Return the damage that `check_state` finds, as sentences, for a simulation."""
    return [f"{found.rule}: {found}" for found in check_state(storage) if found.level is Level.DAMAGE]

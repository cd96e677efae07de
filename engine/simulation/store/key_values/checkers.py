"""The rules of key-value tables: batches, conditions, and listings in the order of keys (pravega.md A13)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..history import History
from .apps import BALANCE, N_ACCOUNTS


class _Change(NamedTuple):
    """A change of a note. ``done_seq`` is None if its answer never came."""

    key: str
    is_put: bool
    seq: int
    done_seq: int | None


def transfers_are_whole(history: History) -> list[str]:
    """Both sides of a transfer happen together: at every moment the accounts have the same sum."""
    problems = []
    for entry in history.journal.of("kv-balances"):
        values = entry.about["values"]
        if any(value is not None for value in values) and (
            None in values or sum(values) != N_ACCOUNTS * BALANCE
        ):
            problems.append(f"{entry.who} saw the balances {values}")
    return problems


def conditions_exclude(history: History) -> list[str]:
    """Of two changes that expect the same version of a key, one succeeds at most."""
    expected: dict[tuple[str, int], dict[str, str]] = {}
    taken: dict[tuple[str, str], str] = {}
    problems = []
    for entry in history.journal.of("kv-transfer", "kv-transferred"):
        if entry.what == "kv-transfer":
            expected[entry.who, entry.about["n"]] = entry.about["expected"]
            continue
        for key, version in expected[entry.who, entry.about["n"]].items():
            if (key, version) in taken:
                problems.append(
                    f"{entry.who} and {taken[key, version]} both replaced version {version} of {key}"
                )
            taken[key, version] = entry.who
    return problems


def listings_are_in_order(history: History) -> list[str]:
    """A listing has its keys in ascending order, each once."""
    return [
        f"{entry.who} listed {entry.about['keys']}"
        for entry in history.journal.of("kv-listed")
        if entry.about["keys"] != sorted(set(entry.about["keys"]))
    ]


def listings_are_complete(history: History) -> list[str]:
    """A listing has every note that was there all the time, and none that was gone all the time."""
    changes = list(_changes(history))
    begun: dict[tuple[str, int], int] = {}
    problems = []
    for entry in history.journal.of("kv-list", "kv-listed"):
        name = (entry.who, entry.about["n"])
        if entry.what == "kv-list":
            begun[name] = entry.seq
            continue
        for key, present in _certain(changes, begun[name], entry.seq).items():
            if present != (key in entry.about["keys"]):
                problems.append(f"{entry.who}: note {key} is {'missing' if present else 'listed'}")
    return problems


def _certain(changes: list[_Change], begin: int, end: int) -> dict[str, bool]:
    """Return, by note, whether it is there between two moments. Notes that change meanwhile are left out."""
    found: dict[str, bool] = {}
    for change in changes:
        if change.seq > end:
            continue
        if change.done_seq is None or change.done_seq > begin:
            found.pop(change.key, None)
        else:
            found[change.key] = change.is_put
    unsure = {c.key for c in changes if c.seq < end and (c.done_seq is None or c.done_seq > begin)}
    return {key: present for key, present in found.items() if key not in unsure}


def _changes(history: History) -> Iterator[_Change]:
    """Yield the changes of notes, in the order in which they began."""
    done = {(e.who, e.about["n"]): e.seq for e in history.journal.of("kv-done")}
    for entry in history.journal.of("kv-put", "kv-remove"):
        is_put, name = entry.what == "kv-put", (entry.who, entry.about["n"])
        yield _Change(entry.about["key"], is_put, entry.seq, done.get(name))

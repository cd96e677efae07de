"""The rules of delegation tokens: what they open, and until when (access.md A4, A5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..history import History

REFUSALS = ("AuthTokenCheckFailed", "closed")


@dataclass
class _Use:
    """A token, and the request that it was used for. Times are in µs of the run."""

    asked_us: int
    got_us: int = 0
    ttl_us: int = 0
    use: str = ""
    rightful: bool = False
    used_us: int = 0
    replied_us: int = 0
    reply: str = ""

    @property
    def ends_us(self) -> int:
        """The latest time at which the token is good."""
        return self.got_us + self.ttl_us


def tokens_open_nothing_else(history: History) -> list[str]:
    """A token opens its stream alone, for what it allows, and only if the store has signed it."""
    return [
        f"{use.use}: the store answered {use.reply}"
        for use in _uses(history)
        if not use.rightful and use.reply not in REFUSALS
    ]


def expired_tokens_are_refused(history: History) -> list[str]:
    """After its time a token opens nothing, also where it was shown in time."""
    return [
        f"{use.use}: the store answered {use.reply} {(use.used_us - use.ends_us) / 1e6:.1f} s after the token"
        for use in _uses(history)
        if use.rightful and use.reply not in REFUSALS and use.used_us > use.ends_us + 1_000_000
    ]


def tokens_are_good_in_time(history: History) -> list[str]:
    """A token is good until it expires, also across a restart of the store."""
    return [
        f"{use.use}: refused {(use.replied_us - use.asked_us) / 1e6:.1f} s after the token was requested"
        for use in _uses(history)
        if use.rightful
        and use.reply == "AuthTokenCheckFailed"
        and use.replied_us < use.asked_us + use.ttl_us - 1_000_000
    ]


def _uses(history: History) -> Iterator[_Use]:
    found: dict[tuple[str, int], _Use] = {}
    for entry in history.journal.entries:
        if entry.what == "token-asked":
            found[entry.who, entry.about["n"]] = _Use(entry.time_us)
        elif entry.what in ("token", "token-used", "token-reply"):
            use = found[entry.who, entry.about["n"]]
            if entry.what == "token":
                use.got_us, use.ttl_us = entry.time_us, entry.about["ttl_s"] * 1_000_000
            elif entry.what == "token-used":
                use.use, use.rightful, use.used_us = (
                    entry.about["use"],
                    entry.about["rightful"],
                    entry.time_us,
                )
            else:
                use.reply, use.replied_us = entry.about["reply"], entry.time_us
                yield use

"""`infer`: why a stream was scaled, as far as that can be inferred from outside.

The store does not publish its reasons. Known are the policy, the ranges before and after, and the rates
that the observer measured. So every cause here except "done here" is *inferred*, and its rule says from
what. Source: pravega.md A5, A6, A10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pravega_lab.observe.journal.observations import INFERRED

FIXED_RULE = "the policy is fixed, so only a request can have scaled it"
RATE_RULE = "rates measured here, against the policy; the store does not publish its own"
MERGE_RULE = "each of them was below half of the target"
ROLLED = "a transaction rolled over"
ROLLED_RULE = "the same ranges began again, as when a transaction that was open across a scale commits"
ROLLED_AGAIN_RULE = (
    "numbers of earlier segments came again, which only a transaction open across a scale does"
)


@dataclass(frozen=True, slots=True)
class Policy:
    """A scaling policy: "fixed", "events" (``target`` in events/s), "kbytes" (in KiB/s) or "unknown"."""

    kind: str = "unknown"
    target: int = 0
    factor: int = 0
    min_segments: int = 1

    @property
    def unit(self) -> str:
        """Return the unit of the target rate."""
        return " KiB/s" if self.kind == "kbytes" else "/s"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause in words, how it is known, and the rule that it was inferred by."""

    text: str
    kind: str
    rule: str


@dataclass(frozen=True, slots=True)
class Part:
    """A segment of a scale: its range, and its rate in the policy's unit, None if it was not measured."""

    low: float
    high: float
    rate: float | None = None


def infer(policy: Policy, sealed: Sequence[Part], created: Sequence[Part]) -> Cause:
    """Return the likeliest reason for a scale from these segments to those."""
    if sorted((p.low, p.high) for p in sealed) == sorted((p.low, p.high) for p in created):
        return Cause(ROLLED, INFERRED, ROLLED_RULE)
    if policy.kind == "fixed":
        return Cause("by hand", INFERRED, FIXED_RULE)
    if policy.target <= 0:
        return Cause("the policy is not known", INFERRED, "nobody told the policy")
    rates = [p.rate for p in sealed if p.rate is not None]
    if len(rates) < len(sealed):
        return Cause("rates not measured", INFERRED, "the segments were sealed before they could be measured")
    split = len(created) > len(sealed)
    return _split(policy, max(rates)) if split else _merge(policy, rates)


def _split(policy: Policy, rate: float) -> Cause:
    for times in (5, 2, 1):
        if rate > times * policy.target:
            bound = f"{times} × {policy.target}" if times > 1 else str(policy.target)
            return Cause(f"{_number(rate)}{policy.unit} > {bound}{policy.unit}", INFERRED, RATE_RULE)
    return _unexplained(f"{_number(rate)}{policy.unit}")


def _merge(policy: Policy, rates: Sequence[float]) -> Cause:
    text = ", ".join(f"{_number(rate)}{policy.unit}" for rate in rates)
    if all(rate < policy.target / 2 for rate in rates):
        return Cause(f"{text} < {policy.target}{policy.unit} ÷ 2", INFERRED, f"{MERGE_RULE}; {RATE_RULE}")
    return _unexplained(text)


def _unexplained(seen: str) -> Cause:
    rule = f"{RATE_RULE}; these do not explain it: by hand, or a burst that was shorter than a look"
    return Cause(f"not explained ({seen} seen)", INFERRED, rule)


def _number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}".removesuffix(".0")

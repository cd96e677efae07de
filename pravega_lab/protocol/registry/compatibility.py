"""The policy of a group: which new schemas it takes (schema-registry.md A2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.names import (
    ADVANCED,
    BACKWARD,
    BACKWARD_TRANSITIVE,
    FORWARD,
    FORWARD_TRANSITIVE,
    FULL,
    FULL_TRANSITIVE,
    POLICIES,
)
from pravega_lab.protocol.registry.versions import VersionInfo

BACKWARD_TILL, FORWARD_TILL = "BackwardTill", "ForwardTill"
_HALVES = {
    BACKWARD: (BACKWARD,),
    FORWARD: (FORWARD,),
    FULL: (BACKWARD, FORWARD),
    BACKWARD_TRANSITIVE: (BACKWARD_TRANSITIVE,),
    FORWARD_TRANSITIVE: (FORWARD_TRANSITIVE,),
    FULL_TRANSITIVE: (BACKWARD_TRANSITIVE, FORWARD_TRANSITIVE),
}
_OF_DIRECTION = {
    "backward": (BACKWARD, BACKWARD_TRANSITIVE, BACKWARD_TILL),
    "forward": (FORWARD, FORWARD_TRANSITIVE, FORWARD_TILL),
}


@dataclass(frozen=True, slots=True)
class Direction:
    """One half of a policy: against the latest version, all versions, or those from ``till`` on.

    ``name`` is one of ``Backward``, ``BackwardTransitive`` and ``BackwardTill``, or the same of ``Forward``.
    """

    name: str
    till: VersionInfo | None = None

    @property
    def is_transitive(self) -> bool:
        """Return whether all versions count."""
        return self.name in (BACKWARD_TRANSITIVE, FORWARD_TRANSITIVE)

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for it."""
        found: dict[str, Any] = {"name": self.name}
        return found if self.till is None else {**found, "versionInfo": self.till.to_json()}


@dataclass(frozen=True, slots=True)
class Compatibility:
    """A policy of `POLICIES`. ``Advanced`` alone has ``backward`` or ``forward`` or both."""

    policy: str
    backward: Direction | None = None
    forward: Direction | None = None

    @property
    def directions(self) -> tuple[Direction | None, Direction | None]:
        """Return the backward and the forward half of the policy, None where it has none."""
        if self.policy == ADVANCED:
            return self.backward, self.forward
        halves = _HALVES.get(self.policy, ())
        backward, forward = (
            next((Direction(name) for name in halves if name.startswith(half)), None)
            for half in (BACKWARD, FORWARD)
        )
        return backward, forward

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands for the policy."""
        found: dict[str, Any] = {"policy": self.policy}
        if self.policy == ADVANCED:
            halves = (("backwardPolicy", self.backward), ("forwardPolicy", self.forward))
            found["advanced"] = {name: {name: half.to_json()} for name, half in halves if half is not None}
        return found

    @classmethod
    def of_json(cls, found: Any) -> Compatibility:
        """Return the policy that an object stands for. Raises `BadInputError`."""
        if found is None:
            raise BadInputError("compatibility cannot be null")
        policy = found.get("policy") if isinstance(found, dict) else None
        if policy not in POLICIES:
            raise BadInputError("Unknown compatibility type")
        if policy != ADVANCED:
            return cls(policy)
        advanced = found.get("advanced")
        if not isinstance(advanced, dict):
            raise BadInputError("the policy Advanced needs the member 'advanced' with its two halves")
        backward, forward = (_half(advanced, direction) for direction in _OF_DIRECTION)
        return cls(policy, backward, forward)


def _half(advanced: dict[str, Any], direction: str) -> Direction | None:
    member = f"{direction}Policy"
    outer = advanced.get(member)
    if outer is None:
        return None
    found = outer.get(member) if isinstance(outer, dict) else None
    names = _OF_DIRECTION[direction]
    name = found.get("name") if isinstance(found, dict) else None
    if name not in names:
        raise BadInputError(f"{member}: the name {name!r} is not one of {', '.join(names)}")
    assert isinstance(found, dict)
    till = VersionInfo.of_json(found.get("versionInfo")) if name == names[2] else None
    return Direction(str(name), till)

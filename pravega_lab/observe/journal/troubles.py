"""`take_trouble`: which observers cannot look now, and why, as of any point of a journal."""

from __future__ import annotations

from pravega_lab.observe.journal.observations import Observation, Trouble, TroubleOver


def take_trouble(troubles: dict[str, Trouble], observation: Observation) -> None:
    """Keep ``troubles``, by source, as of this observation.

    Trouble lasts until an observer of the same source has looked again.
    """
    if isinstance(observation, Trouble):
        troubles.pop(observation.source, None)  # the newest is the last
        troubles[observation.source] = observation
    elif isinstance(observation, TroubleOver):
        troubles.pop(observation.source, None)

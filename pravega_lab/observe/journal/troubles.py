"""Which observers cannot look now, and why: how they say it, and how it is read from a journal."""

from __future__ import annotations

from collections.abc import Callable

from pravega_lab.observe.journal.observations import Observation, Trouble, TroubleOver


class TroubleOf:
    """Says in a journal what one observer fails to do: each trouble once, and its end.

    ``append`` is that of the journal. ``text`` is what is wrong now, "" if nothing is.
    """

    def __init__(self, append: Callable[[Observation], object]) -> None:
        self._append = append
        self.text = ""

    def say(self, source: str, text: str, now_ms: int) -> None:
        """Report trouble of a source, unless it is what was reported last."""
        if text != self.text:
            self.text = text
            self._append(Trouble(time_ms=now_ms, source=source, message=text))

    def end(self, source: str, now_ms: int) -> None:
        """Report that the observer has looked again, if there was trouble."""
        if self.text:
            self.text = ""
            self._append(TroubleOver(time_ms=now_ms, source=source))


def take_trouble(troubles: dict[str, Trouble], observation: Observation) -> None:
    """Keep ``troubles``, by source, as of this observation.

    Trouble lasts until an observer of the same source has looked again.
    """
    if isinstance(observation, Trouble):
        troubles.pop(observation.source, None)  # the newest is the last
        troubles[observation.source] = observation
    elif isinstance(observation, TroubleOver):
        troubles.pop(observation.source, None)

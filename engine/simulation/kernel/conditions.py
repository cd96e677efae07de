"""`Conditions`: the delays of the simulated network and the chances of its faults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)  # a name that is mistyped is refused
class Conditions:
    """How the network behaves from now on. Chances are per piece of data; that of refusing is per
    connection.
    """

    delay_us_min: int = 50
    delay_us_max: int = 1_000
    split_chance: float = 0.0
    piece_bytes_max: int = 65_536
    window_bytes: int = 65_536  # most bytes in transit or unread in one direction; the sender keeps the rest
    stall_chance: float = 0.0
    stall_us_max: int = 3_000_000
    cut_chance: float = 0.0
    cut_notice_us_max: int = 4_000_000  # how late an end may notice that it is cut off
    half_close_chance: float = 0.0
    refuse_chance: float = 0.0

    def heal(self) -> None:
        """End all faults. Delays stay."""
        self.split_chance = self.stall_chance = self.cut_chance = self.half_close_chance = (
            self.refuse_chance
        ) = 0.0

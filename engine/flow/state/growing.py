"""Provide `Growing`: an array that values are added to, each of them copied a constant number of times."""

from __future__ import annotations

from typing import Generic, TypeVar

from pravega_lab.portable.columns import np, npt

Item = TypeVar("Item", bound=np.generic)


class Growing(Generic[Item]):
    """Holds ``values``, in an array whose room doubles when it is used up."""

    def __init__(self, kind: type[Item]) -> None:
        self._room: npt.NDArray[Item] = np.zeros(0, dtype=kind)
        self.values = self._room
        """Everything that was added, for reading and changing until the next `add`."""

    def add(self, values: npt.NDArray[Item]) -> None:
        """Add values at the end."""
        old, end = len(self.values), len(self.values) + len(values)
        if end > len(self._room):
            room = np.zeros(max(end, 2 * len(self._room)), dtype=self._room.dtype)
            room[:old] = self.values
            self._room = room
        self._room[old:end] = values
        self.values = self._room[:end]

"""Who waits for a check of a password, and whose turn is next.

Each peer address has a line for each user name. The addresses take turns, and so do the names of an address.
Guesses therefore delay another address, or another name, by one turn only, however many they are.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Lines(Generic[Item]):
    """The lines of all addresses.

    Args:
        most: How many may wait.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._lines: dict[str, dict[str, deque[Item]]] = {}  # by address and name, in the order of turns

    def add(self, address: str, name: str, item: Item) -> Item | None:
        """Add an item to a line. Return the one that has to leave if too many wait now, else None.

        That is the last one in the longest line of the address with the most. A newcomer leaves among equals.
        """
        self._lines.setdefault(address, {}).setdefault(name, deque()).append(item)
        self._count += 1
        if self._count <= self._most:
            return None
        fullest = max(reversed(self._lines), key=lambda one: sum(map(len, self._lines[one].values())))
        lines = self._lines[fullest]
        longest = max(reversed(lines), key=lambda one: len(lines[one]))
        leaving = lines[longest].pop()
        self._left(fullest, longest)
        return leaving

    def take(self) -> Item | None:
        """Take out the next item, None if there is none. Its address and its name now have the last turn."""
        if not self._lines:
            return None
        address = next(iter(self._lines))
        lines = self._lines.pop(address)
        name = next(iter(lines))
        line = lines.pop(name)
        item = line.popleft()
        self._lines[address], lines[name] = lines, line
        self._left(address, name)
        return item

    def _left(self, address: str, name: str) -> None:
        self._count -= 1
        lines = self._lines[address]
        if not lines[name]:
            del lines[name]
        if not lines:
            del self._lines[address]

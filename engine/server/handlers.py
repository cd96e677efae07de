"""What the handler of a wire command is, and what it needs of the connection that the command came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pravega_lab.protocol.wire.commands import Command

from ..store.log.operations import Operation
from ..store.storage.storage import Ticket
from .segment_store import SegmentStore, Served


class Connection(Served, Protocol):
    """The connection as its handlers see it.

    A handler replies through it, at once or when a submission is synced. `SegmentStoreProtocol` is the
    implementation.
    """

    @property
    def store(self) -> SegmentStore:
        """Return what all connections share."""

    @property
    def is_paused(self) -> bool:
        """Return whether the peer does not read its replies at the moment."""

    def send(self, reply: Command) -> None:
        """Send ``reply`` together with the other replies of this turn of the loop."""

    def change(self, operations: Sequence[Operation], reply: Callable[[Any], Command]) -> None:
        """Submit operations, and send ``reply(results)`` as soon as they are synced.

        The connection is not read from while the changes of all connections are too many for the disk.
        Raises StorageError.
        """

    def send_when(self, ticket: Ticket, reply: Callable[[Any], Command]) -> None:
        """Send ``reply(results)`` as soon as the submission is synced."""

    def when_synced(self, ticket: Ticket, then: Callable[[Ticket], None]) -> None:
        """Call ``then`` as soon as the submission is synced, and never if the log failed."""

    def refuse(self, reply: Command | None, why: str) -> None:
        """Send a refusal as soon as everything that it may rest on is synced. None closes the connection."""

    def close(self, why: str = "", last_words: Command | None = None) -> None:
        """Handle no more commands, and close as soon as earlier ones are answered."""


Handlers = dict[type[Command], Callable[[Any, Any], None]]
"""The handler of each command: it is called with the connection and the command."""

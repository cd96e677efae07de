"""Define the format of a reader group's state log: `StateFormat` over `state` and its encodings."""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import StateEvent, Update


class GroupFormat:
    """Reads and writes Java's bytes.

    A whole state has a log entry to itself, or, after a reset, is among other updates.
    """

    def read(self, data: bytes) -> Sequence[Update]:
        """See `StateFormat.read`."""
        return StateEvent.from_bytes(data).updates

    def is_whole(self, update: Update) -> bool:
        """See `StateFormat.is_whole`."""
        return isinstance(update, rg.ReaderGroupStateInit | rg.CompactReaderGroupState)

    def begin(self, update: Update) -> GroupState:
        """See `StateFormat.begin`."""
        return GroupState(update)

    def apply(self, state: GroupState, update: Update) -> None:
        """See `StateFormat.apply`."""
        state.apply(update)

    def check(self, state: GroupState, updates: Sequence[Update]) -> None:
        """Check nothing: what a member decides from a state can be applied to that state."""

    def write_whole(self, update: Update) -> bytes:
        """See `StateFormat.write_whole`."""
        return StateEvent(True, (update,)).to_bytes()

    def write(self, updates: Sequence[Update]) -> bytes:
        """See `StateFormat.write`."""
        return rg.updates(updates)

    def compact(self, state: GroupState) -> Update:
        """See `StateFormat.compact`."""
        return state.to_compact()

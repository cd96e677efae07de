"""How the state of a reader group lies in its log: `StateFormat` over `state` and its encodings."""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.client.reader_group.state import GroupState
from pravega_lab.protocol import reader_group as rg
from pravega_lab.protocol.reader_group import StateEvent, Update


class GroupFormat:
    """Java's bytes. A whole state stands alone in an entry, or, after a reset, among updates."""

    def read(self, data: bytes) -> Sequence[Update]:
        return StateEvent.from_bytes(data).updates

    def is_whole(self, update: Update) -> bool:
        return isinstance(update, rg.ReaderGroupStateInit | rg.CompactReaderGroupState)

    def begin(self, update: Update) -> GroupState:
        return GroupState(update)

    def apply(self, state: GroupState, update: Update) -> None:
        state.apply(update)

    def write_whole(self, update: Update) -> bytes:
        return StateEvent(True, (update,)).to_bytes()

    def write(self, updates: Sequence[Update]) -> bytes:
        return rg.updates(updates)

    def compact(self, state: GroupState) -> Update:
        return state.to_compact()

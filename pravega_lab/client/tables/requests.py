"""Provide what both kinds of tables share: requests to a table segment, also again after a lost answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pravega_lab.client.connection.connection import Reply
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.errors import (
    ConditionFailedError,
    ConditionUnknownError,
    PravegaError,
    RefusedError,
    SegmentNotFoundError,
)
from pravega_lab.protocol.wire.commands import Command

NO_OFFSET = -1

R = TypeVar("R", bound=Command)


class TableRequests:
    """Sends requests to the segments of one table.

    Args:
        scoped_name: How errors name the table.
        home: Names the table in calls to the controller.
        missing: Makes the error for a table that is not there.
    """

    def __init__(
        self, scoped_name: str, home: str, stores: SegmentStores, missing: Callable[[], PravegaError]
    ) -> None:
        self._scoped_name = scoped_name
        self._home = home
        self._stores = stores
        self._missing = missing

    async def ask(self, segment_id: int, request: Command) -> Reply:
        """Return the reply to a request that may be repeated."""
        try:
            return await self._stores.ask(self._home, segment_id, request)
        except SegmentNotFoundError as error:
            raise self._missing() from error

    async def change(self, segment_id: int, request: Command) -> tuple[Reply, bool]:
        """Return the reply to an update, and whether an earlier attempt may have taken effect."""
        what = f"update of table {self._scoped_name}"
        try:
            return await self._stores.change(what, self._home, segment_id, request)
        except SegmentNotFoundError as error:
            missing = self._missing()
            missing.definite = error.definite
            raise missing from error


def expect(kind: type[R], reply: Reply) -> R:
    """Return the reply. Raises `RefusedError` if it is of another kind."""
    if not isinstance(reply, kind):
        raise RefusedError(f"the segment store answered {type(reply).__name__}, not {kind.__name__}: {reply}")
    return reply


def condition_failed(
    table: str, key: str, wanted: object, version: object | None, repeated: bool, found: object
) -> ConditionFailedError:
    """Return the error of an update whose condition on a version was not met.

    Args:
        wanted, version: The version of the condition, and the one that was found, None for an absent key.
        repeated: An earlier attempt may have happened. The protocol has no name for it, so nothing in the
            table shows whether it did: not even the value, which another client may have written too.
        found: All that was found, for the caller.
    """
    there = "is absent" if version is None else f"has version {version}"
    said = f"table {table}: key {key} was to have version {wanted} (-1: be absent); it {there}. "
    if repeated:
        return ConditionUnknownError(
            f"{said}The answer to an earlier attempt was lost, so this update may have happened, and the"
            " table does not say who changed it. If your values name their writers, compare them; if not,"
            " decide again from what is there",
            found,
        )
    return ConditionFailedError(said + "Read it again, then decide again")

"""Provide what both kinds of tables share: requests to a table segment, also again after a lost answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pravega_lab.client.connection.connection import Reply
from pravega_lab.client.connection.retry import Retries, TransientError
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
        retries = Retries(
            f"update of table {self._scoped_name}", self._stores.retry_for_s, self._stores.chance
        )
        repeated = False
        while True:
            try:
                return await self._stores.ask_once(self._home, segment_id, request), repeated
            except SegmentNotFoundError as error:
                raise self._missing() from error
            except (TransientError, OSError) as error:
                repeated, failure = True, error
            await retries.pause(failure)


def expect(kind: type[R], reply: Reply) -> R:
    """Return the reply. Raises `RefusedError` if it is of another kind."""
    if not isinstance(reply, kind):
        raise RefusedError(f"the segment store answered {type(reply).__name__}, not {kind.__name__}: {reply}")
    return reply


def condition_failed(
    table: str, key: str, wanted: object, found: object | None, repeated: bool
) -> ConditionFailedError:
    """Return the error of an update whose condition on a version was not met.

    ``wanted`` and ``found`` are versions, the latter None for an absent key. ``repeated``: an earlier attempt
    may have happened, and another update have replaced it.
    """
    there = "is absent" if found is None else f"has version {found}"
    said = f"table {table}: key {key} was to have version {wanted} (-1: be absent); it {there}. "
    if repeated:
        lost = "The answer to an earlier attempt was lost: it may have happened and been replaced since. "
        return ConditionUnknownError(said + lost + "Look for traces of it before you try again")
    return ConditionFailedError(said + "Read it again, then decide again")

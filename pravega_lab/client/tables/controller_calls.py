"""Call the controller about key-value tables (pravega.md A13, D7). Errors are those of `Controller`."""

from __future__ import annotations

from typing import Any

from pravega_lab.client.controller.calls import Controller, succeeded, uncertain_if_lost
from pravega_lab.client.controller.link import ControllerCallError
from pravega_lab.client.controller.messages import segment_ranges
from pravega_lab.client.tables.values import KeyValueTableConfiguration
from pravega_lab.errors import AlreadyExistsError, BadInputError, NotFoundError, ScopeNotFoundError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import SegmentRange, split_scoped_name


async def create_table(controller: Controller, name: str, configuration: KeyValueTableConfiguration) -> None:
    """Create a table. Raises `AlreadyExistsError` and `ScopeNotFoundError`."""
    scope, table = split_scoped_name(name)
    request = pb.KeyValueTableConfig(
        scope=scope,
        kvtName=table,
        partitionCount=configuration.partitions,
        primaryKeyLength=configuration.primary_key_length,
        secondaryKeyLength=configuration.secondary_key_length,
    )
    with uncertain_if_lost() as lost:
        status = (await controller.call("createKeyValueTable", request, lost)).status
        statuses = pb.CreateKeyValueTableStatus
        if status == statuses.TABLE_EXISTS:
            if lost and await table_configuration(controller, name) == configuration:
                return  # an earlier attempt succeeded, and its answer was lost
            raise AlreadyExistsError(
                f"key-value table {name} is there already; use client.key_value_table({name!r})"
            )
        if status == statuses.SCOPE_NOT_FOUND:
            raise ScopeNotFoundError(f"create {name}: there is no such scope; create it first")
        if status == statuses.INVALID_TABLE_NAME:
            raise BadInputError(f"table {name!r}: the controller takes letters, digits, '.' and '-' only")
        succeeded(f"create key-value table {name}", status)


async def table_configuration(controller: Controller, name: str) -> KeyValueTableConfiguration:
    """Return the configuration of a table. Raises `NotFoundError`."""
    answer = await controller.call("getKeyValueTableConfiguration", _info(name))
    if answer.status == pb.KeyValueTableConfigResponse.TABLE_NOT_FOUND:
        raise missing(name)
    succeeded(f"configuration of key-value table {name}", answer.status)
    found = answer.config
    return KeyValueTableConfiguration(found.primaryKeyLength, found.secondaryKeyLength, found.partitionCount)


async def table_segments(controller: Controller, name: str) -> list[SegmentRange]:
    """Return the segments of a table in the order of their ranges. Raises `NotFoundError`."""
    try:
        answer = await controller.answer("getCurrentSegmentsKeyValueTable", _info(name))
    except ControllerCallError as error:
        if error.code_name == "NOT_FOUND":
            raise missing(name) from error
        raise controller.refused("getCurrentSegmentsKeyValueTable", _info(name), error) from error
    return segment_ranges(answer.segmentRanges)


async def list_tables(controller: Controller, scope: str) -> list[str]:
    """Return the names of the tables of a scope, sorted. Raises `ScopeNotFoundError`."""

    def page(token: str) -> Any:
        at = pb.ContinuationToken(token=token)
        return pb.KVTablesInScopeRequest(scope=pb.ScopeInfo(scope=scope), continuationToken=at)

    def names(answer: Any) -> list[str]:
        if answer.status == pb.KVTablesInScopeResponse.SCOPE_NOT_FOUND:
            raise ScopeNotFoundError(f"there is no scope {scope}; client.list_scopes() lists what there is")
        succeeded(f"list key-value tables of {scope}", answer.status)
        return [table.kvtName for table in answer.kvtables]

    return await controller.pages("listKeyValueTablesInScope", page, names)


async def delete_table(controller: Controller, name: str) -> bool:
    """Delete a table and return True, or False if there was none."""
    with uncertain_if_lost() as lost:
        status = (await controller.call("deleteKeyValueTable", _info(name), lost)).status
        no = pb.DeleteKVTableStatus.TABLE_NOT_FOUND
        return succeeded(f"delete key-value table {name}", status, no=no) or bool(lost)


def missing(name: str) -> NotFoundError:
    """Return the error for a table that is not there."""
    return NotFoundError(
        f"there is no key-value table {name}: client.create_key_value_table makes one, and"
        " client.list_key_value_tables(scope) lists what there is"
    )


def _info(name: str) -> pb.KeyValueTableInfo:
    scope, table = split_scoped_name(name)
    return pb.KeyValueTableInfo(scope=scope, kvtName=table)

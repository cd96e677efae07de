"""Decide whether a group takes a schema, and whether a schema reads what is in a group.

Only Avro schemas are compared. Every schema of another format fits every other one, as on the released
server. Source: schema-registry.md A2.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pravega_lab.protocol.avro.resolution import can_read
from pravega_lab.protocol.avro.schema import AvroSchema, parse_schema
from pravega_lab.protocol.registry.compatibility import Compatibility, Direction
from pravega_lab.protocol.registry.names import ALLOW_ANY, AVRO, DENY_ALL
from pravega_lab.protocol.registry.values import SchemaInfo

from .state import Group, StoredSchema

PARSED_MAX = 256


def accepts(group: Group, schema: SchemaInfo, policy: Compatibility) -> bool:
    """Return whether a group with ``policy`` takes ``schema``, whose type is complete."""
    backward, forward = policy.directions
    compared = _compared(group, schema, policy)
    if not group.properties.allow_multiple_types and any(s.version.type != schema.type for s in compared):
        return False
    if policy.policy == ALLOW_ANY:
        return True
    if policy.policy == DENY_ALL:
        return not compared
    reads = all(_reads(schema, s.schema) for s in _from(compared, backward)) if backward else True
    return reads and (all(_reads(s.schema, schema) for s in _from(compared, forward)) if forward else True)


def reads_group(group: Group, schema: SchemaInfo) -> bool:
    """Return whether ``schema`` reads the events of a group, as far as its policy promises that."""
    policy = group.properties.compatibility
    if policy.policy == ALLOW_ANY:
        return True
    compared = _compared(group, schema, policy)
    reads_last = bool(compared) and _reads(schema, compared[-1].schema)
    if policy.policy == DENY_ALL:
        return reads_last
    backward, forward = policy.directions
    reads = all(_reads(schema, s.schema) for s in _from(compared, backward)) if backward else True
    return reads and (reads_last if forward else True)


def _compared(group: Group, schema: SchemaInfo, policy: Compatibility) -> list[StoredSchema]:
    """Return the schemas with which a policy compares, oldest first."""
    if policy.policy in (ALLOW_ANY, DENY_ALL):
        return group.latest()
    of_type = group.visible(schema.type if group.properties.allow_multiple_types else None)
    halves = [half for half in policy.directions if half is not None]
    if any(half.is_transitive for half in halves):
        return of_type
    tills = [half.till.id for half in halves if half.till is not None]
    if tills:
        return [s for s in of_type if s.version.id >= min(tills)]
    return of_type[-1:]


def _from(compared: Iterable[StoredSchema], half: Direction) -> list[StoredSchema]:
    till = half.till
    return [s for s in compared if till is None or s.version.version >= till.version]


def _reads(reader: SchemaInfo, writer: SchemaInfo) -> bool:
    if reader.format.kind != AVRO or writer.format.kind != AVRO:
        return True
    return can_read(_parsed(reader.data), _parsed(writer.data))


@lru_cache(PARSED_MAX)
def _parsed(data: bytes) -> AvroSchema:
    return parse_schema(data)

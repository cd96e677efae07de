"""Decide whether values of one schema can be read with another one (schema-registry.md B2).

The rules are those that the released registry applies, by Avro's Java library: a record needs a default for
each field that the writer does not have, and neither its name nor the symbols of an enum are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from pravega_lab.protocol.avro.schema import MISSING, RECORDS, AvroField, AvroSchema

PROMOTIONS: dict[str, tuple[str, ...]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""What a value of a type may be read as, other than the type itself."""


def can_read(reader: AvroSchema, writer: AvroSchema) -> bool:
    """Return whether every value of ``writer`` that the rules let through can be read with ``reader``."""
    return _Resolution().fits(writer, reader)


class Named(Protocol):
    """A field of a record."""

    @property
    def name(self) -> str:
        """The name of the field."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Earlier names of the field."""


def sources(reader: Iterable[Named], written: Collection[str]) -> dict[str, str]:
    """Return which field of the writer each field of the reader reads, for those that read one, by name.

    A field of the reader whose name the writer lacks takes a field by an alias, also one that another field
    of the reader would read by its own name. That field has been renamed too, and needs an alias itself.
    """
    fields = {field.name: field for field in reader}
    found = {name: name for name in fields if name in written}
    renamed = [field for field in fields.values() if field.name not in found]
    taken: set[str] = set()
    for field in renamed:
        alias = next((name for name in field.aliases if name in written and name not in taken), None)
        if alias is None:
            continue
        taken.add(alias)
        if found.get(alias) == alias:
            del found[alias]
            renamed.append(fields[alias])
        found[field.name] = alias
    return found


def written_fields(reader: AvroSchema, writer: AvroSchema) -> dict[str, AvroField]:
    """Return the fields of the writer's record that the fields of the reader's read, by the latter's names.

    Aliases of fields count only where the names of both records match.
    """
    fields = {field.name: field for field in writer.fields}
    if not has_name_of(writer, reader):
        return {field.name: fields[field.name] for field in reader.fields if field.name in fields}
    return {name: fields[source] for name, source in sources(reader.fields, fields).items()}


def same_kind(writer: AvroSchema, reader: AvroSchema) -> bool:
    """Return whether both are of one kind. A record and an error are."""
    return writer.kind == reader.kind or (writer.kind in RECORDS and reader.kind in RECORDS)


def has_name_of(writer: AvroSchema, reader: AvroSchema) -> bool:
    """Return whether the reader's type has the name of the writer's, or has it as an alias."""
    return writer.name == reader.name or writer.name in reader.aliases


def matching_branch(writer: AvroSchema, union: AvroSchema) -> AvroSchema | None:
    """Return the branch of the reader's union that reads a type of the writer, None if none does."""
    return _Resolution().branch(writer, union)


class _Resolution:
    """One question. ``seen`` has the pairs of records that are assumed to fit while they are compared."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int]] = set()
        self.refuted: set[tuple[int, int]] = set()

    def fits(self, writer: AvroSchema, reader: AvroSchema) -> bool:
        if writer.kind == "union":
            return all(self.fits(part, reader) for part in writer.parts)
        if reader.kind == "union":
            branch = self.branch(writer, reader)
            return branch is not None and self.fits(writer, branch)
        if not same_kind(writer, reader):
            return reader.kind in PROMOTIONS.get(writer.kind, ())
        match writer.kind:
            case "array" | "map":
                return self.fits(writer.parts[0], reader.parts[0])
            case "fixed":
                return has_name_of(writer, reader) and writer.size == reader.size
            case "enum":
                return has_name_of(writer, reader) or writer.short_name == reader.short_name
            case "record" | "error":
                return self._records_fit(writer, reader)
        return True

    def _records_fit(self, writer: AvroSchema, reader: AvroSchema) -> bool:
        pair = (id(writer), id(reader))
        if pair in self.seen or pair in self.refuted:
            return pair in self.seen
        self.seen.add(pair)
        written = written_fields(reader, writer)
        for field in reader.fields:
            found = written.get(field.name)
            fits = field.default is not MISSING if found is None else self.fits(found.schema, field.schema)
            if not fits:
                self.seen.discard(pair)
                self.refuted.add(pair)
                return False
        return True

    def branch(self, writer: AvroSchema, union: AvroSchema) -> AvroSchema | None:
        """Return the branch of the same kind and name, else a fitting record, else a promotion."""
        structure: AvroSchema | None = None
        for part in union.parts:
            if not same_kind(writer, part):
                continue
            if not part.name or has_name_of(writer, part):
                return part
            is_better = structure is None or writer.short_name == part.short_name
            if part.kind in RECORDS and is_better and self._records_fit(writer, part):
                structure = part
        if structure is not None:
            return structure
        promoted = PROMOTIONS.get(writer.kind, ())
        return next((part for part in union.parts if part.kind in promoted), None)

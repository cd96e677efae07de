"""The format ``pravega-registry``: events with a header that names their schema, of Avro, JSON or Protobuf.

Events of several versions and codecs may be in one batch. They are sorted by their encoding ids, each part is
decoded with its own schema, and the rows are put back into the order of the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pravega_lab.client.registry.serializers import codecs
from pravega_lab.connector.rows.parsing import UnreadableRowError
from pravega_lab.connector.rows.registry.decoders import Decoder, encoding_ids
from pravega_lab.connector.rows.registry.encoders import Encoder
from pravega_lab.connector.rows.registry.lookup import CODECS, KINDS, GroupAddress, Kept, word_of
from pravega_lab.connector.rows.registry.schemas import columns_of, schema_of
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.registry.header import encode_header
from pravega_lab.protocol.registry.names import NO_CODEC
from pravega_lab.protocol.registry.values import EncodingInfo, SchemaInfo

#: The name of the format.
REGISTRY = "pravega-registry"
_encoders = Kept()
"""Encoders of this process: a sink makes a format for each batch."""


def forget_encoders() -> None:
    """Let the next rows of this process be written with what the registry has then."""
    _encoders.clear()


class RegistryRows:
    """Parses and encodes rows of one Arrow schema with the schemas of a registry's group.

    Args:
        schema: The Arrow schema of the columns.
        registry_uri: ``http://host:port`` of the registry.
        registry_namespace, registry_group: The group. The source and the sink pass scope and stream.
        registry_format: ``avro``, ``json`` or ``protobuf``: of a schema that a sink adds.
        registry_codec: ``none``, ``gzip`` or ``snappy``, for a sink.
        registry_register: A sink adds group, schema and codec if they are missing.
        registry_access: Items of `AccessOptions`.

    Raises:
        BadInputError: An option is missing or malformed.
    """

    def __init__(
        self,
        schema: Any,
        registry_uri: str | None = None,
        registry_namespace: str | None = None,
        registry_group: str | None = None,
        registry_format: str = "avro",
        registry_codec: str = "none",
        registry_register: bool = False,
        registry_access: Mapping[str, Any] | None = None,
    ) -> None:
        import pyarrow as pa

        self._columns = pa.schema(list(schema))
        self._address = group_address(registry_uri, registry_namespace, registry_group, registry_access)
        self._kind = word_of("registry_format", registry_format, KINDS)
        self._codec = word_of("registry_codec", registry_codec, CODECS)
        self._registers = registry_register
        self._latest: SchemaInfo | None = None
        self._decoders: dict[int, Decoder] = {}

    def check_reading(self) -> None:
        """Refuse columns that the latest schema does not have, or has as another type.

        Raises:
            BadInputError: A column is one of them, or the group has no schema.
            RegistryUnavailableError: The registry does not answer. The message has its address.
        """
        Decoder(self._newest(), NO_CODEC, self._columns, None)

    def check_writing(self) -> None:
        """Refuse columns that the latest schema cannot contain, and add a schema where that is wanted.

        Raises:
            BadInputError, RegistryUnavailableError: As `check_reading`.
        """
        self._encoder()

    # Reading

    def parse(self, events: Any) -> Any:
        """Return one row per event.

        Raises:
            UnreadableRowError: An event has no header, or an encoding id that the group does not have, or it
                is no value of its schema.
        """
        import numpy as np
        import pyarrow as pa

        ids = encoding_ids(events)
        kinds = np.unique(ids)
        if len(kinds) == 1:
            return self._decoder(int(kinds[0])).parse(events)
        parts, places = [], []
        for kind in kinds:
            place = np.flatnonzero(ids == kind)
            parts.append(self._decoder(int(kind)).parse(events.take(pa.array(place))))
            places.append(place)
        order = np.argsort(np.concatenate(places))
        rows = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
        return rows.take(pa.array(order))

    def _decoder(self, encoding_id: int) -> Decoder:
        known = self._decoders.get(encoding_id)
        if known is None:
            found = self._address.encoding(encoding_id)
            if found is None:
                raise UnreadableRowError(f"group '{self._address.group}' has no encoding id {encoding_id}")
            try:
                known = self._decoder_of(found)
            except BadInputError as error:
                raise UnreadableRowError(f"its schema is '{found.version.type}': {error}") from None
            self._decoders[encoding_id] = known
        return known

    def _decoder_of(self, found: EncodingInfo) -> Decoder:
        codecs.check(found.codec.name)
        latest = self._newest()
        return Decoder(found.schema, found.codec.name, self._columns, latest)

    def _newest(self) -> SchemaInfo:
        if self._latest is None:
            self._latest = self._address.only_latest()
        return self._latest

    # Writing

    def encode(self, rows: Any) -> Any:
        """Return one event per row.

        Raises:
            BadInputError: A value does not fit the schema.
        """
        return self._encoder().encode(rows)

    def _encoder(self) -> Encoder:
        key = (self._address, self._kind, self._codec, self._registers, self._columns.to_string())
        found: Encoder | None = _encoders.get(key)
        if found is None:
            found = self._new_encoder()
            _encoders.put(key, found)
        return found

    def _new_encoder(self) -> Encoder:
        if self._registers:
            schema = schema_of(self._columns, self._kind, self._address.group)
            self._address.register(schema, self._codec)
        else:
            schema = self._address.only_latest()
        header = encode_header(self._address.encoding_id(schema, self._codec))
        return Encoder(schema, self._codec, self._columns, header)


def group_address(
    uri: str | None, namespace: str | None, group: str | None, access: Mapping[str, Any] | None
) -> GroupAddress:
    """Return the address of a group. Raises `BadInputError` if a part is missing."""
    if not uri:
        raise BadInputError(
            "option 'registry_uri' is missing. Add .option('registry_uri', 'http://host:port')"
        )
    if not group:
        raise BadInputError("option 'registry_group' is missing. Several streams have no group in common")
    items = {name: value for name, value in (access or {}).items() if value is not None}
    hashable = tuple((name, tuple(v.items()) if isinstance(v, dict) else v) for name, v in items.items())
    return GroupAddress(uri, namespace or "", group, hashable)


def registry_columns(options: Mapping[str, Any]) -> Any:
    """Return the Arrow schema of the latest schema of a group. Raises as `RegistryRows.check_reading`."""
    names = ("registry_uri", "registry_namespace", "registry_group", "registry_access")
    return columns_of(group_address(*(options.get(name) for name in names)).only_latest())

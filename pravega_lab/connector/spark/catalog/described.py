"""What the store knows about the stream of some options."""

from __future__ import annotations

from pravega_lab.connector.spark.connections import client_of
from pravega_lab.connector.spark.options import PravegaOptions
from pravega_lab.connector.tables.columns import ddl
from pravega_lab.connector.tables.descriptions import StoredDescriptions


def described(options: PravegaOptions) -> tuple[str, dict[str, str]] | None:
    """Return columns and options of the description of the stream in the store, or None if it has none.

    Raises:
        BadInputError: The stream was deleted and created again after it was described.
    """
    if options.format or len(options.streams) != 1 or options.metadata:
        return None
    scope, stream = options.scoped_streams[0].split("/")
    found = StoredDescriptions(client_of(options.cluster)).get(scope, stream)
    if found is None:
        return None
    columns = ddl(found.columns)
    return columns, {"format": found.format, "columns": columns, **found.options}

"""What a line of the store's log says besides its text: the name of the event, and values under names.

``log.warning("commits of %s are tried again", name, extra=log_fields("commit_retried", stream=name))`` is one
line of ``key=value`` or of JSON (`engine.server.monitoring.logs`).
"""

from __future__ import annotations

from collections.abc import Mapping


def log_fields(event: str, **values: object) -> Mapping[str, object]:
    """Return the ``extra`` of a call of a logger."""
    return {"event": event, "values": values}

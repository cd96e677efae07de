"""The long keys of Flink's connector before Flink 1.11, and what to write in their place.

Source: flink.md 11.3.
"""

from __future__ import annotations

import re

_CONNECTION, _GROUP = "connector.connection-config", "connector.reader.reader-group"
_SAME = {
    "connector.type": "connector",
    f"{_CONNECTION}.controller-uri": "controller-uri",
    f"{_CONNECTION}.default-scope": "scope",
    f"{_CONNECTION}.security.auth-type": "security.auth-type",
    f"{_CONNECTION}.security.auth-token": "security.auth-token",
    f"{_CONNECTION}.security.validate-hostname": "security.validate-hostname",
    f"{_CONNECTION}.security.trust-store": "security.trust-store",
    f"{_GROUP}.uid": "scan.uid",
    f"{_GROUP}.scope": "scope",
    f"{_GROUP}.name": "scan.reader-group.name",
    "connector.writer.scope": "scope",
    "connector.writer.stream": "sink.stream",
    "connector.writer.enable-watermark": "sink.enable.watermark-propagation",
    "connector.writer.routingkey-field-name": "sink.routing-key.field.name",
}
#: Their values were milliseconds, and are durations now.
_DURATIONS = {
    f"{_GROUP}.refresh-interval": "scan.reader-group.refresh.interval",
    f"{_GROUP}.event-read-timeout-interval": "scan.event-read.timeout.interval",
    f"{_GROUP}.checkpoint-initiate-timeout-interval": (
        "scan.reader-group.checkpoint-initiate-timeout.interval"
    ),
    "connector.writer.txn-lease-renewal-interval": "sink.txn-lease-renewal.interval",
}
_STREAM_INFO = {
    "scope": ("scan.streams", "the streams as scope/stream"),
    "stream": ("scan.streams", "the streams"),
    "start-streamcut": ("scan.start-streamcuts", "the cuts"),
    "end-streamcut": ("scan.end-streamcuts", "the cuts"),
}
_MODES = {"exactly_once": "exactly-once", "atleast_once": "at-least-once"}
_GONE = ("connector.version", "connector.metrics", "connector.reader", "connector.writer", "update-mode")


#: Every old key whose value moved to one new key, with that key.
SAME_KEYS = {
    **_SAME,
    **_DURATIONS,
    "connector.writer.mode": "sink.semantic",
    **{f"connector.reader.stream-info.N.{part}": key for part, (key, _) in _STREAM_INFO.items()},
}


def new_key(name: str, text: str) -> str | None:
    """Return a sentence that says what to write in place of an old key, or None if ``name`` is none."""
    if name in _SAME:
        shown = "" if name.endswith("auth-token") else f" = '{text}'"
        return f"Write '{_SAME[name]}'{shown}"
    if name in _DURATIONS:
        return f"Write '{_DURATIONS[name]}' = '{text} ms'"
    if name == "connector.writer.mode":
        return f"Write 'sink.semantic' = '{_MODES.get(text.lower(), text)}'"
    if found := re.fullmatch(r"connector\.reader\.stream-info\.\d+\.([a-z-]+)", name):
        if found[1] in _STREAM_INFO:
            key, what = _STREAM_INFO[found[1]]
            return f"Write {what} of all stream-info keys as '{key}', separated by ';'"
        return None
    if name == "connector.reader.user.timestamp-assigner":
        return "Call withWatermark() on the rows in its place"
    return "It has no counterpart. Leave it out" if name in _GONE else None

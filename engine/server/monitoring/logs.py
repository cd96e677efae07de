"""The log of the process: one line for each event, as ``key=value`` or as JSON.

A line begins with the time (UTC), the level and the name of the event. Names and messages come from clients.
A value that is not plain is therefore written as a JSON string, which can neither end the line nor move the
cursor of a terminal.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime

FORMATS = ("text", "json")
_PLAIN = re.compile(r"[\w./:+@%#-]+", re.ASCII)
_STANDARD = "message"


class LevelCounts(logging.Filter):
    """Counts the lines with errors and with warnings, and lets every line pass."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = {"errors": 0, "warnings": 0}

    def filter(self, record: logging.LogRecord) -> bool:
        """Count one line."""
        if record.levelno >= logging.WARNING:
            self.counts["errors" if record.levelno >= logging.ERROR else "warnings"] += 1
        return True


class LineFormatter(logging.Formatter):
    """Formats a record as one line: time, level, event, ``key=value``, and the text under ``msg``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        head, values = _parts(record, self)
        return " ".join([*head.values(), *(f"{name}={_value(value)}" for name, value in values.items())])


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object in one line: time, level, event, the values, and ``msg``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        head, values = _parts(record, self)
        return json.dumps(head | values, default=str, separators=(",", ":"))


def _parts(
    record: logging.LogRecord, formatter: logging.Formatter
) -> tuple[dict[str, str], dict[str, object]]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    head = {
        "time": time.replace("+00:00", "Z"),
        "level": record.levelname,
        "event": getattr(record, "event", _STANDARD),
    }
    values: dict[str, object] = dict(getattr(record, "values", {}))
    values = {name if name not in head else f"{name}_": value for name, value in values.items()}
    values["logger"] = record.name
    values["msg"] = record.getMessage()
    if record.exc_info:
        values["traceback"] = formatter.formatException(record.exc_info)
    return head, values


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def set_up(format_name: str) -> LevelCounts:
    """Write the log of this process to standard error. Return the counts of its lines.

    Warnings and errors are written, and of `pravega_lab.standalone` what happens once per start, too.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format_name == "json" else LineFormatter())
    counts = LevelCounts()
    handler.addFilter(counts)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("pravega_lab.standalone").setLevel(logging.INFO)
    return counts

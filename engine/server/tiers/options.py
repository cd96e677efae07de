"""The options of ``pravega-lab standalone`` for tier 2."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pravega_lab.errors import BadInputError

from ...store.tiers.settings import CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, TierSettings

FILE_BYTES_MIN, FILE_BYTES_MAX = 1 << 20, 64 << 20
"""Sizes of a log file: it is four chunks, so that small chunks move soon."""

DEFAULTS = TierSettings()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to ``parser``."""
    parser.add_argument("--tier2", metavar="URL", help="folder to which segments move: any URL of fsspec")
    parser.add_argument(
        "--tier2-options", metavar="JSON", help="options of its file system, or a file that contains them"
    )
    sizes = (
        ("--tier2-chunk-bytes", DEFAULTS.chunk_bytes, "bytes of an object in tier 2 at most"),
        ("--tier2-backlog-bytes", DEFAULTS.backlog_bytes, "writers wait while more is in the log"),
        ("--tier2-cache-bytes", DEFAULTS.cache_bytes, "bytes of tier 2 kept in memory for readers"),
    )
    for option, size, what in sizes:
        parser.add_argument(option, type=int, default=size, metavar="N", help=f"{what} (%(default)s)")
    parser.add_argument(
        "--tier2-after-s",
        type=float,
        default=DEFAULTS.after_ms / 1000,
        metavar="S",
        help="seconds after which bytes move at the latest (%(default)g)",
    )
    parser.add_argument(
        "--tier2-rebuild",
        action="store_true",
        help="take the snapshot of the store from tier 2, because its folder has lost it",
    )


def settings_of(args: argparse.Namespace) -> TierSettings | None:
    """Return the limits, None without ``--tier2``.

    Raises:
        BadInputError: A limit is out of range, or options of tier 2 are given without it.
    """
    if args.tier2 is None:
        if args.tier2_options is not None or args.tier2_rebuild:
            raise BadInputError("--tier2-options and --tier2-rebuild need --tier2 URL, the folder in tier 2")
        return None
    if args.data is None:
        raise BadInputError("--tier2 needs --data DIR: a store in memory has no log that segments move from")
    chunk, backlog, cache = args.tier2_chunk_bytes, args.tier2_backlog_bytes, args.tier2_cache_bytes
    if not CHUNK_BYTES_MIN <= chunk <= CHUNK_BYTES_MAX:
        raise BadInputError(
            f"--tier2-chunk-bytes {chunk}: give a number from {CHUNK_BYTES_MIN} to {CHUNK_BYTES_MAX}"
        )
    least = 2 * file_bytes_of(TierSettings(chunk))
    if backlog < least:
        raise BadInputError(
            f"--tier2-backlog-bytes {backlog}: give at least {least}, two log files for chunks of"
            f" {chunk} bytes"
        )
    if cache < CHUNK_BYTES_MIN or args.tier2_after_s <= 0:
        raise BadInputError(
            f"--tier2-cache-bytes {cache} and --tier2-after-s {args.tier2_after_s:g}: give at least"
            f" {CHUNK_BYTES_MIN} bytes and more than 0 seconds"
        )
    return TierSettings(chunk, round(args.tier2_after_s * 1000), backlog, cache)


def file_bytes_of(settings: TierSettings) -> int:
    """Return the size of the log files of a store with these limits."""
    return min(FILE_BYTES_MAX, max(FILE_BYTES_MIN, 4 * settings.chunk_bytes))


def storage_options(text: str | None) -> dict[str, Any]:
    """Return the options of ``--tier2-options``: JSON, or the path of a file that contains it.

    Raises:
        BadInputError: It is neither.
    """
    if text is None:
        return {}
    content = text
    if not text.lstrip().startswith("{"):
        try:
            content = Path(text).read_text()
        except OSError as error:
            raise BadInputError(
                f"--tier2-options {text!r} is neither a JSON object nor a file that can be read: {error}"
            ) from error
    try:
        found = json.loads(content)
    except ValueError as error:  # never repeat the content: it may contain a password
        raise BadInputError(f"--tier2-options is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadInputError(
            "--tier2-options is no JSON object: give names and values, as in"
            ' {"endpoint_url": "http://127.0.0.1:9000"}'
        )
    return found

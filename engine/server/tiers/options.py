"""The options of ``pravega-lab standalone`` for tier 2."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from pravega_lab.errors import BadInputError

from ...store.tiers.settings import CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, TierSettings

FILE_BYTES_MIN, FILE_BYTES_MAX = 1 << 20, 64 << 20
"""Sizes of a log file: it is four chunks, so that small chunks move soon."""

BYTES_MAX = (1 << 63) - 1
AFTER_S_MIN, AFTER_S_MAX = 0.001, 86_400 * 365

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
    if args.tier2 == "":
        raise BadInputError("--tier2 '' is not a folder: name one, as a path or as a URL of fsspec")
    if args.tier2 is None:
        sizes = (args.tier2_chunk_bytes, args.tier2_backlog_bytes, args.tier2_cache_bytes, args.tier2_after_s)
        defaults = (
            DEFAULTS.chunk_bytes,
            DEFAULTS.backlog_bytes,
            DEFAULTS.cache_bytes,
            DEFAULTS.after_ms / 1000,
        )
        if args.tier2_options is not None or args.tier2_rebuild or sizes != defaults:
            raise BadInputError("the options of tier 2 need --tier2 URL, the folder in tier 2")
        return None
    if args.data is None:
        raise BadInputError("--tier2 needs --data DIR: a store in memory has no log that segments move from")
    chunk, backlog, cache = args.tier2_chunk_bytes, args.tier2_backlog_bytes, args.tier2_cache_bytes
    if not CHUNK_BYTES_MIN <= chunk <= CHUNK_BYTES_MAX:
        raise BadInputError(
            f"--tier2-chunk-bytes {chunk}: give a number from {CHUNK_BYTES_MIN} to {CHUNK_BYTES_MAX}"
        )
    least = 2 * file_bytes_of(TierSettings(chunk))
    if not least <= backlog <= BYTES_MAX:
        raise BadInputError(
            f"--tier2-backlog-bytes {backlog}: give at least {least}, two log files for chunks of"
            f" {chunk} bytes, and at most {BYTES_MAX}"
        )
    if not CHUNK_BYTES_MIN <= cache <= BYTES_MAX:
        raise BadInputError(
            f"--tier2-cache-bytes {cache}: give a number from {CHUNK_BYTES_MIN} to {BYTES_MAX}"
        )
    if not AFTER_S_MIN <= args.tier2_after_s <= AFTER_S_MAX:  # nan is neither
        raise BadInputError(
            f"--tier2-after-s {args.tier2_after_s:g}: give a number of seconds from {AFTER_S_MIN} to"
            f" {AFTER_S_MAX}"
        )
    _refuse_one_folder(args.tier2, args.data)
    return TierSettings(chunk, round(args.tier2_after_s * 1000), backlog, cache)


def _refuse_one_folder(tier2: str, data: Path) -> None:
    """Refuse a folder in tier 2 that is the folder of the log: both have files named ``snapshot-…``."""
    if local_folder(tier2) == Path(os.path.realpath(data)):
        raise BadInputError(
            f"--tier2 {tier2} and --data {data} are one folder: give tier 2 a folder of its own, best on"
            " another disk"
        )


def local_folder(tier2: str) -> Path | None:
    """Return the folder of a ``--tier2`` on this machine, without links in it. None for another one."""
    protocol, _, path = tier2.rpartition("://")
    is_local = protocol in ("", "file", "local")
    return Path(os.path.realpath(os.path.expanduser(path))) if is_local else None


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
            content = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            shown = "" if '"' in text else f" {text[:200]!r}"  # JSON may contain a password
            raise BadInputError(
                f"--tier2-options{shown} is neither a JSON object nor a text file that can be read:"
                f" {type(error).__name__}. Give an object as in"
                ' {"endpoint_url": "http://127.0.0.1:9000"}, or the path of a file that contains one'
            ) from error
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:  # never repeat the content: it may contain a password
        raise BadInputError(f"--tier2-options is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadInputError(
            "--tier2-options is no JSON object: give names and values, as in"
            ' {"endpoint_url": "http://127.0.0.1:9000"}'
        )
    return found

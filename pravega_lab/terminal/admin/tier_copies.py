"""The chunks of tier 2, copied into a backup and from there into a new tier 2, or read to be checked.

The log of a store says which chunks it needs and what their checksums are. A chunk never changes, so the
chunks that a state of the log names, and that state, are a store at one moment. A running store may delete a
chunk while it is copied. The copy then begins again, with a later state.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from pravega_lab.engine.server.tiers.objects import FsspecObjects, Objects
from pravega_lab.engine.server.tiers.options import local_folder
from pravega_lab.engine.store.log.chunks import MARKER, damaged_block, marker
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.tiered import Tiered
from pravega_lab.errors import BadInputError, CorruptStoreError, PravegaError, StoreUnavailableError

from .folder import FrozenFolder

Result = TypeVar("Result")

FOLDER = "tier2"
"""The folder with the chunks inside the folder of a backup."""

Listed = Mapping[str, Any]


def require_tier2(chunks: int, url: str | None) -> None:
    """Raise BadInputError if a store has bytes in tier 2, and there is no ``url`` to copy them from."""
    if chunks and url is None:
        raise BadInputError(
            f"Segments of this store have bytes in {chunks} chunks in tier 2. Give the --tier2 that it"
            " uses, so that the backup contains them."
        )


def require_new_tier2(source: Path, target: Path, chunks: int, url: str | None) -> None:
    """Raise BadInputError if a backup has chunks, and ``url`` is no folder that they can be copied to.

    The restored store changes what is in that folder, so it cannot be in the backup. It cannot be in the new
    data folder either, which is made as a whole.
    """
    if not chunks:
        return
    if url is None:
        raise BadInputError(
            f"The backup {str(source)!r} has {chunks} chunks of tier 2. Give --tier2 a new folder for them."
        )
    tier = local_folder(url)
    for what, folder in (("backup", source), ("new data folder", target)):
        if tier is not None and tier.is_relative_to(os.path.realpath(folder)):
            raise BadInputError(
                f"--tier2 {url!r} is in the {what} {str(folder)!r}. Give it a new folder elsewhere."
            )


def copy_chunks(
    frozen: FrozenFolder, url: str | None, options: Mapping[str, Any], write: Callable[[str, bytes], None]
) -> list[Listed]:
    """Copy every chunk that a state of a store needs, and return their names, sizes and checksums.

    Args:
        url: The folder in tier 2, None if the store has none. See `require_tier2`.
        write: Stores a chunk under its name.

    Raises:
        CorruptStoreError: A chunk is missing or damaged.
    """
    tiered = Tiered(open_storage(frozen))
    chunks = list(tiered.chunks())
    if url is None or not chunks:
        return []
    listed: list[Listed] = []
    with closing(FsspecObjects(url, dict(options))) as objects:
        for chunk in chunks:
            data = _read(objects, chunk.name)
            if damaged_block(chunk, 0, data, tiered.store_id) is not None or len(data) != chunk.length:
                raise CorruptStoreError(
                    f"The chunk {chunk.name!r} in tier 2 is damaged (checksum). Restore it from a copy."
                )
            write(chunk.name, data)
            listed.append({"name": chunk.name, "bytes": len(data), "crc32": crc32(data)})
    return listed


@contextmanager
def chunks_in(
    url: str, options: Mapping[str, Any], store_id: bytes
) -> Iterator[Callable[[str], bytes | None]]:
    """Yield a function that returns a chunk of a store by its name, None if it is missing in tier 2.

    Raises:
        BadInputError: The folder in tier 2 belongs to another store.
        StoreUnavailableError: Tier 2 failed. The function raises it, too.
    """
    with closing(FsspecObjects(url, dict(options))) as objects:

        def read(name: str) -> bytes | None:
            try:
                return _answer(objects.read(name))
            except FileNotFoundError:
                return None

        if read(MARKER) not in (None, marker(store_id)):
            raise BadInputError(
                f"--tier2 {url!r} belongs to another store. Give the --tier2 that this store uses."
            )
        yield read


def chunks_of_backup(source: Path) -> Callable[[str], bytes | None]:
    """Return a function that returns a chunk in the folder of a backup, None if it is missing there."""

    def read(name: str) -> bytes | None:
        path = source / FOLDER / name
        return path.read_bytes() if path.exists() else None

    return read


def restore_chunks(
    source: Path, chunks: Sequence[Listed], store_id: bytes, url: str | None, options: Mapping[str, Any]
) -> None:
    """Copy the chunks of a backup into a new folder of tier 2; see `require_new_tier2`.

    Raises:
        BadInputError: Something else is in that folder.
        CorruptStoreError: A chunk of the backup is missing or damaged.
    """
    if url is None or not chunks:
        return
    contents = {str(chunk["name"]): chunk for chunk in chunks}
    with closing(FsspecObjects(url, dict(options))) as objects:
        # A restore that failed has left chunks, and no marker. With one, a store may be using the folder.
        others = sorted(set(_answer(objects.names())) - contents.keys())
        if others:
            raise BadInputError(f"--tier2 {url!r} is not empty: it has {others[0]!r}. Give a new folder.")
        objects.make_folder()
        for name, data in _contents(source, contents):
            _write(objects, name, data)
        _write(objects, MARKER, marker(store_id))


def _contents(source: Path, chunks: Mapping[str, Listed]) -> Iterator[tuple[str, bytes]]:
    for name, chunk in chunks.items():
        yield name, chunk_content(source, name, chunk)


def chunk_content(source: Path, name: str, chunk: Listed) -> bytes:
    """Return a chunk of a backup.

    Raises:
        BadInputError: The name is none of a chunk.
        CorruptStoreError: The chunk is missing, or differs from what was copied.
    """
    if Path(name).name != name:
        raise BadInputError(f"The backup {str(source)!r} lists {name!r}, which is no chunk.")
    data = chunks_of_backup(source)(name)
    if data is None or len(data) != chunk["bytes"] or crc32(data) != chunk["crc32"]:
        raise CorruptStoreError(
            f"The chunk {name!r} of the backup is missing or damaged. Use another backup."
        )
    return data


def _read(objects: Objects, name: str) -> bytes:
    try:
        return _answer(objects.read(name))
    except FileNotFoundError:
        raise CorruptStoreError(
            f"The chunk {name!r} is missing in tier 2, and a segment has bytes in it. Is this the --tier2 of"
            " the store?"
        ) from None


def _write(objects: Objects, name: str, data: bytes) -> None:
    try:
        _answer(objects.write(name, data))
    except FileNotFoundError as error:  # the folder is missing, for example a bucket
        raise _failed(error) from error


def _answer(call: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a call of tier 2.

    Raises:
        FileNotFoundError: There is no such object.
        StoreUnavailableError: Tier 2 failed otherwise. Each file system raises errors of its own.
    """
    try:
        return asyncio.run(call)
    except (PravegaError, FileNotFoundError):
        raise
    except Exception as error:
        raise _failed(error) from error


def _failed(error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"Tier 2 failed ({type(error).__name__}: {error}). Check --tier2 and --tier2-options, and try again."
    )

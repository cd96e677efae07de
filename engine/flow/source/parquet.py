"""`ParquetSource`: the rows of Parquet files, one row group after the other, also in event-time order.

A split is a row group, with the number of its rows that were emitted. The enumerator reads the footers once,
puts the row groups into their order, and assigns the next one to each request. A restored reader reads its
row group again and continues after the rows that it had emitted.

pyarrow's Parquet is imported when the first file is read, so the module loads without it.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import IO, Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable import HAVE_ARRAYS
from pravega_lab.portable.columns import pa

from ..batch import Batch
from ..errors import RestoreError
from ..files import Files, FsspecFiles, join
from ..state import plain_values as plain
from .collections import AssignedSplits, SplitQueue, no_pause
from .sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    Serializer,
    Source,
    SplitEnumeratorContext,
)

BATCH_ROWS = 10_000


@dataclass(frozen=True)
class ParquetSplit:
    """A row group of a file of ``file_bytes``. ``position`` is the next of its ``rows`` to emit, from 0.

    ``footer_crc`` is None in splits of older savepoints.
    """

    path: str
    row_group: int
    rows: int
    file_bytes: int
    position: int = 0
    footer_crc: int | None = None

    @property
    def split_id(self) -> str:
        """Return ``path#row_group``."""
        return f"{self.path}#{self.row_group}"


@dataclass(frozen=True)
class Footer:
    """What a file says about itself: its columns, its size, and rows and first time of each row group.

    ``crc`` is the CRC-32 of the bytes of the footer.

    ``columns`` maps the names that the source reads to their types. ``row_groups`` has the number of rows,
    and the lowest value of the column by which the source orders, None without such a column.
    """

    path: str
    file_bytes: int
    columns: dict[str, str]
    row_groups: tuple[tuple[int, Any], ...]
    crc: int


def splits_of(footers: Sequence[Footer], *, in_order_of: str | None) -> list[ParquetSplit]:
    """Return the row groups that have rows, in the order in which readers get them.

    Args:
        in_order_of: The column whose lowest values give the order, None for the order of the files.

    Raises:
        BadInputError: two files have different columns.
    """
    first = footers[0]
    found: list[tuple[Any, ParquetSplit]] = []
    for footer in footers:
        if footer.columns != first.columns:
            raise BadInputError(
                f"the files of a source must have the same columns, but {first.path!r} has {first.columns} "
                f"and {footer.path!r} has {footer.columns}: name the columns that they share (columns=[…]), "
                "or convert one of the files"
            )
        for number, (rows, lowest) in enumerate(footer.row_groups):
            if rows:
                split = ParquetSplit(footer.path, number, rows, footer.file_bytes, footer_crc=footer.crc)
                found.append((lowest, split))
    if in_order_of is not None:
        found.sort(key=lambda pair: pair[0])
    return [split for _, split in found]


class ParquetFiles:
    """Opens Parquet files of a store, and says of a file that it cannot read what is wrong with it.

    ``columns`` are the columns to read, None for all.
    """

    def __init__(self, files: Files, columns: Sequence[str] | None) -> None:
        self._files, self._columns = files, columns

    async def paths(self, places: Sequence[str]) -> list[str]:
        """Return the files of each place, which is a file or a folder. Those of a folder come by name.

        As in Spark, names in a folder that begin with ``_`` or ``.`` do not count.

        Raises:
            BadInputError: a folder has no file that ends with ``.parquet``.
        """
        found = []
        for place in places:
            names = await self._files.names(place)
            inside = [join(place, n) for n in names if n.endswith(".parquet") and n[0] not in "_."]
            if names and not inside:
                raise BadInputError(
                    f"no file in the folder {place!r} ends with '.parquet'; it has {names[:5]}"
                )
            found += inside or [place]
        return found

    async def footer(self, path: str, order_by: str | None) -> Footer:
        """Return what the file says about its row groups.

        Raises:
            BadInputError: there is no such file, it is not a Parquet file, or it lacks a column or its
                statistics.
        """
        footer: Footer = await self._with(path, lambda file: self._footer(path, file, order_by))
        return footer

    async def read(self, split: ParquetSplit) -> Any:
        """Return the rows of a split as an Arrow record batch.

        Raises:
            BadInputError: as for `footer`.
            RestoreError: the file has changed since the split was made.
        """
        return await self._with(split.path, lambda file: self._read(split, file))

    async def _with(self, path: str, work: Callable[[IO[bytes]], Any]) -> Any:
        if not HAVE_ARRAYS:
            raise BadInputError(f"reading {path!r} needs pyarrow, which this Python does not have")
        try:
            return await self._files.read_with(path, work)
        except FileNotFoundError as error:
            raise BadInputError(
                f"there is no file {path!r}: the source needs every file until it ends"
            ) from error
        except pa.ArrowInvalid as error:
            raise BadInputError(
                f"{path!r} cannot be read as a Parquet file: {error}; remove it from the source, or write "
                "it again"
            ) from error

    def _names(self, path: str, schema: Any) -> list[str]:
        names = list(self._columns or schema.names)
        missing = [name for name in names if name not in schema.names]
        if missing:
            raise BadInputError(f"{path!r} has no column {missing[0]!r}; its columns are {schema.names}")
        return names

    def _footer(self, path: str, file: IO[bytes], order_by: str | None) -> Footer:
        import pyarrow.parquet as pq

        size = file.seek(0, 2)
        metadata, schema = pq.read_metadata(file), pq.read_schema(file)
        columns = {name: str(schema.field(name).type) for name in self._names(path, schema)}
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        lowest = [_lowest(path, number, group, order_by) for number, group in enumerate(groups)]
        row_groups = tuple((g.num_rows, low) for g, low in zip(groups, lowest, strict=True))
        return Footer(path, size, columns, row_groups, _footer_crc(file))

    def _read(self, split: ParquetSplit, file: IO[bytes]) -> Any:
        import pyarrow.parquet as pq

        size = file.seek(0, 2)
        if size != split.file_bytes:
            raise RestoreError(
                f"{split.path!r} has {size:,} bytes and had {split.file_bytes:,} when the source began to "
                "read it: put the old file back, or start the job without its checkpoint"
            )
        opened = pq.ParquetFile(file)
        if split.footer_crc not in (None, _footer_crc(file)):
            raise RestoreError(
                f"{split.path!r} was written again after the source began to read it: put the old file back, "
                "or start the job without its checkpoint"
            )
        table = opened.read_row_group(split.row_group, columns=self._names(split.path, opened.schema_arrow))
        batches = table.combine_chunks().to_batches()
        return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _footer_crc(file: IO[bytes]) -> int:
    """Return the CRC-32 of the footer, which has the sizes and the statistics of all columns."""
    end = file.seek(-8, 2)  # followed by the length of the footer and four letters
    length = int.from_bytes(file.read(4), "little")
    file.seek(end - length)
    return zlib.crc32(file.read(length))


def _lowest(path: str, number: int, group: Any, order_by: str | None) -> Any:
    if order_by is None or not group.num_rows:
        return None
    found = [group.column(n) for n in range(group.num_columns) if group.column(n).path_in_schema == order_by]
    if not found:
        names = [group.column(n).path_in_schema for n in range(group.num_columns)]
        raise BadInputError(f"{path!r} has no column {order_by!r} to order by; its columns are {names}")
    statistics = found[0].statistics
    if statistics is None or not statistics.has_min_max:
        raise BadInputError(
            f"row group {number} of {path!r} does not say the lowest value of {order_by!r}: write the file "
            "with statistics, or give the files in their order and leave out order_by"
        )
    return statistics.min


class _SplitSerializer:
    version = 1

    def to_bytes(self, value: ParquetSplit) -> bytes:
        return plain.to_bytes(astuple(value))

    def from_bytes(self, version: int, data: bytes) -> ParquetSplit:
        return plain.read_as(data, "a split of a Parquet source", lambda found: ParquetSplit(*found))


class _StateSerializer:
    version = 1

    def to_bytes(self, value: list[ParquetSplit]) -> bytes:
        return plain.to_bytes([astuple(split) for split in value])

    def from_bytes(self, version: int, data: bytes) -> list[ParquetSplit]:
        return plain.read_as(
            data,
            "the enumerator of a Parquet source",
            lambda found: [ParquetSplit(*split) for split in found],
        )


class ParquetEnumerator(SplitQueue[ParquetSplit]):
    """Find the row groups, unless they were restored, and assign the next one to each request."""

    def __init__(
        self,
        source: ParquetSource,
        context: SplitEnumeratorContext[ParquetSplit],
        restored: list[ParquetSplit] | None,
    ) -> None:
        super().__init__(context, restored or ())
        self._source, self._has_begun = source, restored is not None

    async def start(self) -> None:
        """Read the footers of all files."""
        if not self._has_begun:
            self._splits.extend(await self._source.find_splits())


class ParquetReader(AssignedSplits[ParquetSplit]):
    """Read one row group after another."""

    def __init__(self, source: ParquetSource, context: ReaderContext) -> None:
        super().__init__(context)
        self._source = source
        self._rows: Any = None  # the record batch of the first split, when it was read

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Emit the next batch of the current row group, or request another one."""
        if not self.splits:
            return self.poll_without_split()
        if self._rows is None or self._context.now_ms() < self._not_before_ms:
            return InputStatus.NOTHING_AVAILABLE
        split = self.splits[0]
        stop = min(split.position + self._source.batch_rows, split.rows)
        output.emit(Batch.of_arrow(self._rows.slice(split.position, stop - split.position)), split.split_id)
        if stop == split.rows:
            self.splits.popleft()
            self._rows = None
            output.release_split(split.split_id)
        else:
            self.splits[0] = replace(split, position=stop)
        pause_ms = self._source.pause_ms()
        if pause_ms:
            self._not_before_ms = self._context.now_ms() + pause_ms
        return InputStatus.NOTHING_AVAILABLE if pause_ms or self._rows is None else InputStatus.MORE_AVAILABLE

    async def available(self) -> None:
        """Return when the pause is over and the row group is read, or when there is news."""
        wait_ms = self._not_before_ms - self._context.now_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)
        await super().available()
        if self.splits and self._rows is None:
            self._rows = await self._source.opened.read(self.splits[0])


class ParquetSource(Source[ParquetSplit, list[ParquetSplit]]):
    """Read the rows of Parquet files. The source is bounded.

    With ``order_by`` the source reads approximately in event-time order: readers get the row groups in the
    order of the lowest value of that column. Rows of one row group keep their order. Two row groups that
    overlap in time, or that two subtasks read at once, mix: the bound of the watermarks has to cover this.

    Each row group has a watermark of its own while it is read, and the lowest one counts.

    Args:
        paths: A file, a folder of files, or several of them, plain or as URLs of fsspec. They are read in the
            order given. The files may not change while a job or its checkpoints need them. A changed file is
            recognized by its size and by its footer, which has the sizes and statistics of all columns.
        columns: The columns to read, None for all.
        order_by: A column with statistics, for example the event time.
        batch_rows: The largest number of rows of a batch.
        pause_ms: Returns the ms between two batches of a reader, to slow a lesson down.
        files: Where the files are.

    Raises:
        BadInputError: there is no path, or ``batch_rows`` is not positive. A file that cannot be read fails
            the job, and the error names the file.
    """

    boundedness = Boundedness.BOUNDED

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        columns: Sequence[str] | None = None,
        order_by: str | None = None,
        batch_rows: int = BATCH_ROWS,
        pause_ms: Callable[[], int] = no_pause,
        files: Files | None = None,
    ) -> None:
        self.paths = [str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        if not self.paths:
            raise BadInputError("ParquetSource([]) has nothing to read: name at least one file or folder")
        if batch_rows < 1:
            raise BadInputError(f"batch_rows={batch_rows}: a batch needs at least 1 row")
        self.order_by, self.batch_rows, self.pause_ms = order_by, batch_rows, pause_ms
        self.opened = ParquetFiles(FsspecFiles() if files is None else files, columns)

    async def find_splits(self) -> list[ParquetSplit]:
        """Return all splits, from the footers of the files."""
        paths = await self.opened.paths(self.paths)
        footers = [await self.opened.footer(path, self.order_by) for path in paths]
        return splits_of(footers, in_order_of=self.order_by)

    def create_enumerator(self, context: SplitEnumeratorContext[ParquetSplit]) -> ParquetEnumerator:
        """Return an enumerator of all splits."""
        return ParquetEnumerator(self, context, None)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[ParquetSplit], checkpoint: list[ParquetSplit]
    ) -> ParquetEnumerator:
        """Return an enumerator of the splits that were not assigned."""
        return ParquetEnumerator(self, context, checkpoint)

    def create_reader(self, context: ReaderContext) -> ParquetReader:
        """Return a reader."""
        return ParquetReader(self, context)

    def split_serializer(self) -> Serializer[ParquetSplit]:
        """Return the serializer of splits."""
        return _SplitSerializer()

    def enumerator_serializer(self) -> Serializer[list[ParquetSplit]]:
        """Return the serializer of lists of splits."""
        return _StateSerializer()

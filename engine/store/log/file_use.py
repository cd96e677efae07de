"""How many runs of segment bytes each log file and each chunk holds. One without any can be deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class FileUse:
    """Counts the runs of bytes by file id. The negative id ``-n`` is chunk ``n`` of tier 2.

    ``emptied`` is set when a file loses its last run, and ``emptied_chunks`` has the numbers of the chunks
    that lost theirs. The caller that looks for them clears both.
    """

    def __init__(self) -> None:
        self.emptied = True
        self.emptied_chunks: list[int] = []
        self._runs: dict[int, int] = {}

    def add(self, file_id: int) -> None:
        """Count one more run of bytes in the file."""
        self._runs[file_id] = self._runs.get(file_id, 0) + 1

    def release(self, file_ids: Iterable[int]) -> None:
        """Count one run less for each id, which may occur several times."""
        for file_id in file_ids:
            self._runs[file_id] -= 1
            if not self._runs[file_id]:
                del self._runs[file_id]
                if file_id < 0:
                    self.emptied_chunks.append(-file_id)
                else:
                    self.emptied = True

    def files(self) -> Collection[int]:
        """Return the ids of the files and chunks that hold at least one run."""
        return self._runs.keys()

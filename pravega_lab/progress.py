"""Progress of long work: a bar in a notebook, a line in a terminal, nothing elsewhere.

`Progress` shows itself after `DELAY_S`, so short work shows nothing, and takes itself away at the end. Where
outputs are kept or compared, ``PRAVEGA_LAB_BARS=off`` keeps it quiet. Under pytest, and so under nbval, it is
quiet anyway. `bar` is for commands: where the output is a file or a pipe, a line comes every few seconds.
"""

from __future__ import annotations

import html
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from pravega_lab.client import Stream
    from pravega_lab.client.values import Events, Keys

T = TypeVar("T")

VARIABLE = "PRAVEGA_LAB_BARS"
DELAY_S = 0.5
PERIOD_S = 0.25
LINE_PERIOD_S = 5.0
"""A log gets a line this often: a run of an hour leaves a few hundred of them."""
TIME_ONLY = "{desc}: {elapsed}"
SLICE = 20_000
TRACKED_EVERY = 1_000


class Progress:
    """A context manager around long work. ``advance`` counts; without ``total`` only the time is shown.

    A thread draws, so the time advances while the work blocks. It ends with the ``with`` block.

    Args:
        what: The work, in words: "starting Spark".
        total: How many units there are; None if it is not known.
        unit: Their name, in plural.
    """

    def __init__(self, what: str, total: int | None = None, unit: str = "") -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = 0
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._picture: _Notebook | _Terminal | None = None

    def advance(self, by: int = 1) -> None:
        """Count ``by`` more units of work."""
        self.done += by

    def said(self) -> str:
        """Return how far the work is, in words."""
        seconds = time.monotonic() - self._began
        if self.total is None:
            return f"{self.what}: {seconds:.0f} s"
        return f"{self.what}: {self.done:,} of {self.total:,} {self.unit}, {seconds:.0f} s"

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._picture = _picture()
        if self._picture is not None:
            self._thread = threading.Thread(target=self._draw, name="pravega-lab-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(5)

    def _draw(self) -> None:
        assert self._picture is not None
        if self._over.wait(DELAY_S):
            return
        while True:
            self._picture.show(self)
            if self._over.wait(PERIOD_S):
                break
        self._picture.clear()


def track(items: Iterable[T], what: str, total: int, unit: str) -> Iterator[T]:
    """Pass ``items`` on and show how many of ``total`` went by."""
    with Progress(what, total, unit) as progress:
        n = 0
        for n, item in enumerate(items, 1):
            yield item
            if n % TRACKED_EVERY == 0:
                progress.done = n
        progress.done = n


def write_in_slices(stream: Stream, events: Events, keys: Keys = None) -> int:
    """Write ``events`` to ``stream`` as ``stream.write`` does, a slice after the other; returns how many.

    Each slice is durable before the next is sent. Raises as ``stream.write``; what went before stays.
    """
    from pravega_lab.client.framing.data_frames import columns_of

    events, keys = columns_of(events, keys)
    if isinstance(events, bytes | str) or not hasattr(events, "__len__"):
        return stream.write(events, keys)
    total = len(events)
    with Progress(f"writing to {stream.scoped_name}", total, "events") as progress, stream.writer() as writer:
        for at in range(0, total, SLICE):
            part = keys[at : at + SLICE] if hasattr(keys, "__len__") and not isinstance(keys, str) else keys
            writer.write(events[at : at + SLICE], part)
            writer.flush()
            progress.done = min(total, at + SLICE)
    return total


def bar(desc: str, total: int | None = None, unit: str = "", *, leave: bool = False) -> Any:
    """Return a bar with tqdm's methods: tqdm itself on a terminal, `_CellBar` in a notebook, else `_LogBar`.

    In a notebook tqdm would write to standard error, which JupyterLab shows in the colour of an error.

    Args:
        desc: The work, in words.
        total: The number of units, or None if it is unknown.
        unit: Their name, which follows the number. Without it only the time is shown.
        leave: Whether the bar stays when the work is done.
    """
    if in_notebook():
        return _CellBar(desc, total, unit, leave)
    if sys.stderr.isatty():
        from tqdm import tqdm

        form = None if unit else TIME_ONLY
        return tqdm(desc=desc, total=total, unit=unit, unit_scale=True, leave=leave, bar_format=form)
    return _LogBar(desc, total, unit, leave)


class _CellBar:
    """A bar for the output of a cell: `Progress`, with tqdm's methods."""

    def __init__(self, desc: str, total: int | None, unit: str, leave: bool) -> None:
        self._desc, self._leave = desc, leave
        self._progress = Progress(desc, total, unit.strip())

    @property
    def n(self) -> int:
        """Return how many units are done."""
        return self._progress.done

    def update(self, n: int = 1) -> None:
        """Count ``n`` more units."""
        self._progress.advance(n)

    def refresh(self) -> None:
        """Do nothing: a thread draws."""

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Show ``text`` after the name of the work."""
        self._progress.what = f"{self._desc}, {text}"

    def write(self, text: str) -> None:
        """Print ``text`` on standard output, as tqdm does."""
        print(text, flush=True)

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)
        if self._leave:
            print(self._progress.said(), flush=True)


class _LogBar:
    """A bar for a file or a pipe: a whole line on standard error at most every `LINE_PERIOD_S`.

    Rewriting one line, as on a terminal, would fill a log with thousands of copies of it.
    """

    def __init__(self, desc: str, total: int | None, unit: str, leave: bool) -> None:
        self.n = 0
        self._desc, self._total, self._unit, self._leave = desc, total, unit, leave
        self._postfix = ""
        self._began = self._written = time.monotonic()

    def update(self, n: int = 1) -> None:
        """Count ``n`` more units; write a line if the last one is old enough."""
        self.n += n
        self.refresh()

    def refresh(self) -> None:
        """Write a line if the last one is old enough."""
        if time.monotonic() - self._written >= LINE_PERIOD_S:
            self._write_line()

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """End every further line with ``text``."""
        self._postfix = text
        if refresh:
            self.refresh()

    def write(self, text: str) -> None:
        """Print ``text`` on standard output, as tqdm does."""
        print(text, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._leave:
            self._write_line()

    def _write_line(self) -> None:
        from tqdm import tqdm

        self._written = time.monotonic()
        counts = "{n_fmt}/{total_fmt}{unit} ({percentage:.0f}%)" if self._total else "{n_fmt}{unit}"
        form = f"{{desc}}: {counts}, {{elapsed}}{{postfix}}" if self._unit else TIME_ONLY
        line = tqdm.format_meter(
            self.n,
            self._total,
            self._written - self._began,
            prefix=self._desc,
            unit=self._unit,
            unit_scale=True,
            postfix=self._postfix,
            bar_format=form,
        )
        print(line, file=sys.stderr, flush=True)


class _Notebook:
    """One output of the running cell, drawn again and again. Plain HTML: it needs no widget."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = None
        self._display = display

    def show(self, progress: Progress) -> None:
        value = f' value="{progress.done}" max="{progress.total}"' if progress.total else ""
        words = html.escape(progress.said())
        bar = f'<progress{value} style="width: 18em; vertical-align: middle"></progress> {words}'
        self._put({"text/html": bar, "text/plain": progress.said()})

    def clear(self) -> None:
        self._put({"text/html": "", "text/plain": ""})

    def _put(self, bundle: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


class _Terminal:
    """A line of standard error."""

    def show(self, progress: Progress) -> None:
        sys.stderr.write(f"\r\x1b[K{progress.said()}")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _picture() -> _Notebook | _Terminal | None:
    wanted = os.environ.get(VARIABLE, "off" if "PYTEST_CURRENT_TEST" in os.environ else "on")
    if wanted == "off":
        return None
    if in_notebook():
        return _Notebook()
    return _Terminal() if sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Does this run in the kernel of a notebook?"""
    return _kernel() is not None


def is_run_by_program() -> bool:
    """Return whether a program runs this cell, such as ``nbconvert --execute``, and not a front end.

    A front end allows cells to ask its user for input, and says so in every request. A program does not.
    """
    kernel = _kernel()
    return kernel is not None and kernel.get_parent().get("content", {}).get("allow_stdin") is False


def has_kernel() -> bool:
    """Return whether this is the process of a Jupyter kernel."""
    return _kernel() is not None


def _kernel() -> Any:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None)

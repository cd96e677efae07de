"""The buttons of a lab as `Act`s. Each one is a public call, and its text is that call.

They act on the lab's own writers and readers, and on the streams and groups that it observes. On a recording
they do nothing. In a store that the lab only joined they leave streams and groups alone, unless that is
allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, pairwise
from typing import Any, Protocol

from pravega_lab.client import Client, Stream
from pravega_lab.client.reader_group import ReaderGroup
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.errors import BadInputError
from pravega_lab.lab.running_clients import Running, RunningReader, RunningWriter
from pravega_lab.observe.group.rows import label_of
from pravega_lab.protocol.names import SegmentRange, segment_id
from pravega_lab.widgets.live.controls import Act, Controls

CLOSED = "this lab was closed: Lab() makes another one"
RECORDING = "this is a recording: nothing runs here"
JOINED = "the lab only joined this store: lab.controls(board, allow_joined=True), or make the call yourself"
_names = count(1)


class Controlled(Protocol):
    """What the buttons need of a lab."""

    store: StoreProcess | None
    is_closed: bool
    observers: dict[Any, Any]

    @property
    def client(self) -> Client: ...

    @property
    def readers(self) -> dict[str, RunningReader]: ...

    @property
    def writers(self) -> dict[str, RunningWriter]: ...

    def stream(self, name: str) -> Stream: ...

    def reader(
        self, group: ReaderGroup, /, *, rate: float | None, ledger: Any, parse: Any
    ) -> RunningReader: ...

    def fork(self, source: Any, *, at_s: float | None, confirm: bool) -> Any: ...


def controls(
    lab: Controlled, board: Any, *, acted: Callable[..., None], allow_joined: bool = False
) -> Controls:
    """Return the buttons of a lab. A mark that is pinned on the board chooses what they act on.

    Args:
        acted: Notes in the journals what is about to be done; see `Workloads.acted`.
        allow_joined: Let them scale and checkpoint in a store that the lab only joined.
    """
    made = _Acts(lab, board, acted, allow_joined)
    return Controls(made.all(), made.clock)


class _Acts:
    def __init__(self, lab: Controlled, board: Any, acted: Callable[..., None], allow_joined: bool) -> None:
        self.lab, self.board, self.acted, self.allow_joined = lab, board, acted, allow_joined
        self.clock = getattr(board, "clock", None)

    def all(self) -> list[Act]:
        return [*self._of_streams(), *self._of_groups(), *self._of_running(), self._forking()]

    def _of_streams(self) -> list[Act]:
        of, merging = self._others, "merge with its neighbour"
        split = Act(
            "split this segment", self._split_call, self._split, of, self._segments, _segment_of, 2, "parts"
        )
        return [split, Act(merging, self._merge_call, self._merge, of, self._neighbours, self._pair_of)]

    def _of_groups(self) -> list[Act]:
        of = self._others
        return [
            Act("start a checkpoint", self._checkpoint_call, self._checkpoint, of, self._groups),
            Act("add a reader", self._add_call, self._add, of, self._groups),
            Act("kill this reader", _kill_call, self._kill, self._own, self._alive, _reader_of),
            Act("declare it offline", _offline_call, self._offline, self._own, self._dead, _reader_of),
        ]

    def _of_running(self) -> list[Act]:
        cut, rate = "cut its connections", "change the rate"
        return [
            Act(cut, self._cut_call, self._cut, self._own, self._running, _reader_of, 0, "s refused"),
            Act(rate, _rate_call, self._rate, self._own, self._writers, value=100, unit="events/s"),
        ]

    def _forking(self) -> Act:
        def needs(_: str) -> str:
            if self.lab.is_closed:
                return CLOSED
            return "" if self.board is not None else "it goes by a board: lab.controls(board)"

        return Act(
            "fork from here", _fork_call, self._fork, needs, value=0, unit="s", of_clock=lambda c: c.now_s
        )

    # What the buttons can act on.

    def _own(self, target: str) -> str:
        if self.lab.is_closed:
            return CLOSED
        return RECORDING if self._is_recording() else ""

    def _others(self, target: str) -> str:
        if idle := self._own(target):
            return idle
        return JOINED if self.lab.store is None and not self.allow_joined else ""

    def _is_recording(self) -> bool:
        return self.clock is not None and not self.clock.live

    def _streams(self) -> dict[str, Stream]:
        watches = self.lab.observers.values()
        names = [s.tracker.stream for w in watches for s in getattr(w, "streams", ())]
        return {name: self.lab.stream(name) for name in dict.fromkeys(names)}

    def _groups(self) -> list[str]:
        watches = self.lab.observers.values()
        return list(dict.fromkeys(g.group for w in watches for g in getattr(w, "groups", ())))

    def _segments(self) -> list[str]:
        return [_named(name, s) for name, stream in self._streams().items() for s in stream.segments()]

    def _neighbours(self) -> list[str]:
        found = []
        for name, stream in self._streams().items():
            found += [f"{_named(name, a)} + {_label(b)}" for a, b in pairwise(stream.segments())]
        return found

    def _pair_of(self, mark: dict[str, Any]) -> str | None:
        pinned = _segment_of(mark)
        label = (pinned or "").partition(" ")[2]
        return next((pair for pair in self._neighbours() if pinned and label in pair), None)

    def _alive(self) -> list[str]:
        return [name for name, reader in self.lab.readers.items() if reader.alive]

    def _dead(self) -> list[str]:
        killed = [(n, r) for n, r in self.lab.readers.items() if r.was_killed and not r.alive]
        return [name for name, reader in killed if not reader.was_declared_offline]

    def _writers(self) -> list[str]:
        return [name for name, writer in self.lab.writers.items() if writer.alive]

    def _running(self) -> list[str]:
        return [*self._alive(), *self._writers()]

    def _segment(self, target: str) -> tuple[Stream, list[SegmentRange]]:
        """Return the stream and the segments that a target names.

        Raises:
            BadInputError: One of them is not active any more.
        """
        name, _, labels = target.partition(" ")
        stream = self.lab.stream(name)
        wanted = labels.split(" + ")
        found = [s for s in stream.segments() if _label(s) in wanted]
        if len(found) < len(wanted):
            raise BadInputError(f"{target}: not active any more")
        return stream, found

    # What they do: for each, the text of the call and then the call.

    def _split_call(self, target: str, parts: float) -> str:
        return f'lab.stream("{_stream(target)}").split({_ids(target)[0]}, {max(2, int(parts))})'

    def _split(self, target: str, parts: float) -> str:
        stream, (segment,) = self._segment(target)
        new = stream.split(segment.segment_id, max(2, int(parts)))
        return f"now {', '.join(map(_label, new))}"

    def _merge_call(self, target: str, _: float) -> str:
        return f'lab.stream("{_stream(target)}").merge({_ids(target)})'

    def _merge(self, target: str, _: float) -> str:
        stream, segments = self._segment(target)
        return f"now {_label(stream.merge([s.segment_id for s in segments]))}"

    def _checkpoint_call(self, target: str, _: float) -> str:
        return _checkpoint_call(target, "by-hand")

    def _checkpoint(self, target: str, _: float) -> str:
        name = f"by-hand-{next(_names)}"
        self.acted(f"checkpoint {name} asked for", call=_checkpoint_call(target, name), target=target)
        waiting = self._group(target).initiate_checkpoint(name).waiting_for()
        return f"{name} began; it waits for {', '.join(waiting) or 'nobody'}"

    def _group(self, name: str) -> ReaderGroup:
        return self.lab.client.reader_group(name)

    def _add_call(self, target: str, _: float) -> str:
        return f'lab.reader(lab.client.reader_group("{target}"))'

    def _add(self, target: str, _: float) -> str:
        like = next((r for r in self.lab.readers.values() if r.target == target), None)
        ledger, parse, rate = (like._ledger, like._parse, like.rate) if like else (None, None, None)
        made = self.lab.reader(self._group(target), ledger=ledger, parse=parse, rate=rate)
        return f"{made.name} reads"

    def _kill(self, target: str, _: float) -> str:
        self.lab.readers[target].kill()
        return f"{target} is dead; its group does not know"

    def _offline(self, target: str, _: float) -> str:
        told = self.lab.readers[target].declare_offline()
        return "others take its segments" if told else "its group knew already"

    def _part(self, name: str) -> Running:
        return self.lab.readers.get(name) or self.lab.writers[name]

    def _cut_call(self, target: str, for_s: float) -> str:
        where = "readers" if target in self.lab.readers else "writers"
        return f'lab.{where}["{target}"].cut({for_s:g})'

    def _cut(self, target: str, for_s: float) -> str:
        return f"{self._part(target).cut(for_s)} connections cut"

    def _rate(self, target: str, rate: float) -> str:
        self.lab.writers[target].rate = rate
        return f"{target} writes {rate:g} events/s"

    def _fork(self, _: str, at_s: float) -> str:
        return repr(self.lab.fork(self.board, at_s=at_s, confirm=False))


def _kill_call(target: str, _: float) -> str:
    return f'lab.readers["{target}"].kill()'


def _offline_call(target: str, _: float) -> str:
    return f'lab.readers["{target}"].declare_offline()'


def _rate_call(target: str, rate: float) -> str:
    return f'lab.writers["{target}"].rate = {rate:g}'


def _fork_call(_: str, at_s: float) -> str:
    return f"fork = lab.fork(board, at_s={at_s:.2f})"


def _checkpoint_call(target: str, name: str) -> str:
    return f'lab.client.reader_group("{target}").initiate_checkpoint("{name}")'


def _label(segment: SegmentRange) -> str:
    return label_of(segment.segment_id)


def _named(stream: str, segment: SegmentRange) -> str:
    return f"{stream} {_label(segment)}"


def _stream(target: str) -> str:
    return target.partition(" ")[0]


def _ids(target: str) -> list[int]:
    """Return the segment ids of ``scope/stream #5 e2 + #6 e2``."""
    found = []
    for label in target.partition(" ")[2].split(" + "):
        number, _, epoch = label.removeprefix("#").partition(" e")
        found.append(segment_id(int(epoch), int(number)))
    return found


def _segment_of(mark: dict[str, Any]) -> str | None:
    """Return the target for a segment that is pinned on a map, None for another mark."""
    if mark.get("kind") != "segment":
        return None
    stream = str(mark.get("stream"))
    return f"{stream} {str(mark.get('key')).removeprefix(stream + '/')}"


def _reader_of(mark: dict[str, Any]) -> str | None:
    return str(mark["reader"]) if "reader" in mark else None

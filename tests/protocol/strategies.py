"""Random values of the protocol, made from the same annotations as its readers and writers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

from hypothesis import strategies as st

from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import COMMANDS

i64 = st.integers(-(2**63), 2**63 - 1)
data = st.binary(max_size=40)
text = st.text(max_size=12) | st.sampled_from(
    ["", "s/a/0.#epoch.0", "a\0b", "日本語", "a\U0001f600", "\ud800"]
)
key = st.builds(c.TableKey, st.binary(min_size=1, max_size=9), i64) | st.just(c.TableKey(b"", c.NO_VERSION))
attribute = st.builds(c.AttributeUpdate, st.uuids(), st.integers(0, 255), i64, i64)
options = st.builds(c.TableSegmentOptions, st.booleans(), st.integers(-(2**31), 2**31 - 1), i64)


def _several(item: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(item, max_size=4).map(tuple)


BY_KIND: dict[str, st.SearchStrategy[Any]] = {
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": i64,
    "u8": st.integers(0, 255),
    "bool": st.booleans(),
    "uuid": st.uuids(),
    "utf": text,
    "lp": data,
    "rest": data,
    "event": data,
    "i64?": st.none() | i64,
    "i64*": _several(i64),
    "utf*": _several(text),
    "merged*": _several(st.tuples(text, i64)),
    "key*": _several(key),
    "entry*": _several(st.builds(c.TableEntry, key, data)),
    "attribute*?": st.none() | _several(attribute),
    "table options?": st.none() | options,
}


def of(command: type[c.Command]) -> st.SearchStrategy[c.Command]:
    """Any value of one class of commands."""
    hints = get_type_hints(command, include_extras=True)
    kinds = {f.name: next(a for a in get_args(hints[f.name]) if isinstance(a, str)) for f in fields(command)}
    return st.builds(command, **{name: BY_KIND[kind] for name, kind in kinds.items()})


commands = st.sampled_from(COMMANDS).flatmap(of)

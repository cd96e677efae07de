"""The bytes of a group, whichever way they were encoded."""

from __future__ import annotations

from uuid import UUID

import pytest

from pravega_lab.engine.store.log import format as log_format
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.format import Submitted, decode_group, encode_group, group_is_valid
from pravega_lab.engine.store.storage.segment import Segment

WRITER = UUID(int=7)


@pytest.mark.parametrize("salt", [None, 99])
@pytest.mark.parametrize("writer", [None, WRITER])
@pytest.mark.parametrize("data", [b"", b"event", b"x" * 100_000])
def test_a_group_of_one_append_has_the_bytes_that_any_group_would_have(
    data: bytes, writer: UUID | None, salt: int | None
) -> None:
    append = ops.Append("s/a/0.#epoch.0", data, 3, writer, 17)
    submitted = [Submitted(1_000, [(append, Segment(5, append.segment, None), None)])]
    found = encode_group(9, salt, 512, submitted)
    assert found == log_format._encode_any(9, salt, 512, submitted)
    group, starts = found
    assert group[starts[5] - 512 :] == data
    [(now_ms, [logged])] = decode_group(group)
    operation = logged.operation
    assert isinstance(operation, ops.Append)
    assert (now_ms, logged.segment_id, operation.writer_id) == (1_000, 5, writer)
    assert (operation.event_number, operation.event_count, bytes(operation.data)) == (17, 3, data)
    if salt is not None:
        assert group_is_valid(group, salt)
        assert not group_is_valid(group, salt + 1)

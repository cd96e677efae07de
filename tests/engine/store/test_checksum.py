"""The checksum of the log is CRC-32, whichever library computes it."""

from __future__ import annotations

import zlib
from random import Random

from pravega_lab.engine.store.log.checksum import crc32


def test_the_checksum_is_that_of_zlib() -> None:
    chance = Random(1)
    for size in (0, 1, 15, 16, 17, 63, 64, 255, 4096, 65_537):
        data, start = chance.randbytes(size), chance.getrandbits(32)
        assert crc32(data) == zlib.crc32(data)
        assert crc32(memoryview(data)[size // 3 :], start) == zlib.crc32(data[size // 3 :], start)

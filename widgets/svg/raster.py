"""A PNG without a drawing library: rectangles in a palette, and just enough letters for the axes."""

from __future__ import annotations

import zlib
from struct import pack

from pravega_lab.portable.columns import np, npt

from .palette import rgb

SCALE = 2  # the pixels of each bit of a letter, in both directions
# A letter is 3 wide and 5 high: 15 bits, row by row from the top, the left pixel first.
_LETTERS = {
    "0": 0b111101101101111, "1": 0b010110010010111, "2": 0b111001111100111, "3": 0b111001111001111,
    "4": 0b101101111001001, "5": 0b111100111001111, "6": 0b111100111101111, "7": 0b111001001001001,
    "8": 0b111101111101111, "9": 0b111101111001111, ".": 0b000000000000010, ",": 0b000000000010100,
    "/": 0b001001010100100, "-": 0b000000111000000, " ": 0, ":": 0b000010000010000,
    "A": 0b010101111101101, "B": 0b110101110101110, "C": 0b011100100100011, "D": 0b110101101101110,
    "E": 0b111100110100111, "F": 0b111100110100100, "G": 0b011100101101011, "H": 0b101101111101101,
    "I": 0b111010010010111, "J": 0b001001001101010, "K": 0b101101110101101, "L": 0b100100100100111,
    "M": 0b101111111101101, "N": 0b101111111111101, "O": 0b010101101101010, "P": 0b110101110100100,
    "Q": 0b010101101111011, "R": 0b110101110101101, "S": 0b011100010001110, "T": 0b111010010010010,
    "U": 0b101101101101111, "V": 0b101101101101010, "W": 0b101101111111101, "X": 0b101101010101101,
    "Y": 0b101101010010010, "Z": 0b111001010100111, "#": 0b101111101111101,
}  # fmt: skip


class Raster:
    """Holds pixels of a palette. Colours are ``#rrggbb``, at most 256 of them, white first."""

    def __init__(self, width: int, height: int) -> None:
        self.pixels: npt.NDArray[np.uint8] = np.zeros((height, width), np.uint8)
        self._colours: dict[str, int] = {"#ffffff": 0}

    def _index(self, colour: str) -> int:
        """Return the palette's entry; the last entry stands for all colours that no longer fit."""
        return self._colours.setdefault(colour, min(len(self._colours), 255))

    def rect(self, x0: float, y0: float, x1: float, y1: float, colour: str) -> None:
        """Fill a rectangle, at least one pixel wide and high."""
        left, top = max(0, round(x0)), max(0, round(y0))
        self.pixels[top : max(top + 1, round(y1)), left : max(left + 1, round(x1))] = self._index(colour)

    def text(self, x: int, y: int, text: str, colour: str) -> None:
        """Draw letters whose top left corner is at (x, y); an unknown letter becomes a space."""
        for place, letter in enumerate(text.upper()):
            bits = _LETTERS.get(letter, 0)
            for k in range(15):
                if bits >> (14 - k) & 1:
                    px, py = x + SCALE * (4 * place + k % 3), y + SCALE * (k // 3)
                    self.rect(px, py, px + SCALE, py + SCALE, colour)

    def png(self) -> bytes:
        """Return the picture as the bytes of a PNG."""
        height, width = self.pixels.shape
        rows = np.zeros((height, width + 1), np.uint8)  # each row starts with its filter, 0
        rows[:, 1:] = self.pixels
        used = sorted(self._colours.items(), key=lambda item: item[1])
        palette = b"".join(bytes(rgb(colour)) for colour, _ in used[:256])
        header = pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
        body = zlib.compress(rows.tobytes(), 9)
        chunks = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", body), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))


def text_width(text: str) -> int:
    """Return the width of ``text`` in pixels."""
    return SCALE * (4 * len(text) - 1)

"""The counter-based generator of `docs/PROTOCOL.md`, one word at a time and many at once.

A word takes Python some 0.7 µs, of which the interpreter is nearly all. So many are computed as one long integer: each
row has a lane of 128 bits, whose upper half takes up what a multiplication by 64 bits carries over and is masked away
after each step. That is ten times as fast and yields the same bits.
"""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct

GAMMA = 0x9E37_79B9_7F4A_7C15
MASK = (1 << 64) - 1
_M1 = 0xBF58_476D_1CE4_E5B9
_M2 = 0x94D0_49BB_1331_11EB

# Lanes of one long integer. More are no faster.
_MOST = 1024
# With fewer rows, one at a time is as fast.
_FEWEST = 4
# Bits of a width above which too many products are rounded for it to be worth while to look.
_NARROW = 42


def mix64(z: int) -> int:
    z = (z ^ (z >> 30)) * _M1 & MASK
    z = (z ^ (z >> 27)) * _M2 & MASK
    return z ^ (z >> 31)


def fnv1a64(text: str) -> int:
    value = 0xCBF2_9CE4_8422_2325
    for byte in text.encode():
        value = (value ^ byte) * 0x0000_0100_0000_01B3 & MASK
    return value


def unit(word: int) -> float:
    """The upper 53 bits as a fraction in [0, 1)."""
    return (word >> 11) * 2.0**-53


def below(word: int, width: int) -> int:
    """An integer in [0, width)."""
    return int(unit(word) * width)


@lru_cache(maxsize=8)
def _lanes(count: int) -> tuple[int, int, int, Struct]:
    """Long integers with a 1, with its own number, and with 64 ones in each lane; and how to take lanes apart."""
    ones = int.from_bytes((1).to_bytes(16, "little") * count, "little")
    numbers = int.from_bytes(b"".join(i.to_bytes(16, "little") for i in range(count)), "little")
    return ones, numbers, ones * MASK, Struct("<" + "Q8x" * count)


def _mix_lanes(z: int, mask: int) -> int:
    z = (z ^ (z >> 30 & mask)) * _M1 & mask
    z = (z ^ (z >> 27 & mask)) * _M2 & mask
    return z ^ (z >> 31 & mask)


class Stream:
    """One stream of words under one seed; its name is `TRANSACTION.PARAM`."""

    def __init__(self, seed: int, name: str):
        self.key = mix64(seed + GAMMA * fnv1a64(name) & MASK)

    def word(self, row: int, index: int = 0) -> int:
        word = mix64(self.key + (row + 1) * GAMMA & MASK)
        return mix64(word + index * GAMMA & MASK) if index else word

    def upper(self, rows: range) -> list[int]:
        """The upper 53 bits of the words of all rows: of all lanes at once they are taken in a third of the time."""
        [words] = self.words(rows, shift=11)
        return words

    def words(self, rows: range, count: int = 1, shift: int = 0) -> list[list[int]]:
        """For each index below `count` the words of all rows, in order, without their lowest `shift` bits."""
        if len(rows) < _FEWEST:
            return [[self.word(row, index) >> shift for row in rows] for index in range(count)]
        out: list[list[int]] = [[] for _ in range(count)]
        for piece in _pieces(rows):
            ones, _, mask, apart = _lanes(len(piece))
            first = self._first(piece)
            for index, words in enumerate(out):
                z = _mix_lanes(first + (index * GAMMA & MASK) * ones & mask, mask) if index else first
                # What is shifted out of one lane comes into the upper half of the next, which is not taken.
                words += apart.unpack((z >> shift).to_bytes(apart.size, "little"))
        return out

    def between(self, rows: range, low: int, width: int) -> list[int]:
        """For each row an integer in [low, low + width), by `below`: in the lanes, too, where it is as exact."""
        # Scaling by a power of two rounds nothing, so this is `below` with one multiplication less.
        factor, bits, out = width * 2.0**-53, width.bit_length(), []
        in_lanes = len(rows) >= _FEWEST and bits <= _NARROW and 0 <= low <= (1 << 63) - width
        for piece in _pieces(rows) if in_lanes else ():
            ones, _, _, apart = _lanes(len(piece))
            products = (self._first(piece) >> 11 & ones * (1 << 53) - ones) * width
            # `below` rounds a product to its upper 53 bits, by which it becomes another integer where all but the lowest
            # `bits` of its fraction are ones: adding one to those then carries over into the integer.
            if ((products & ones * (1 << 53) - ones) + (ones << bits)) & ones << 53:
                break
            out += apart.unpack(((products >> 53) + low * ones).to_bytes(apart.size, "little"))
        return out + [low + int(part * factor) for part in self.upper(rows[len(out) :])]

    def _first(self, piece: range) -> int:
        """The words of so many rows as are computed at once, in lanes."""
        ones, numbers, mask, _ = _lanes(len(piece))
        start = self.key + (piece[0] + 1) * GAMMA & MASK
        return _mix_lanes(start * ones + (piece.step * GAMMA & MASK) * numbers & mask, mask)


def _pieces(rows: range) -> Iterator[range]:
    return (rows[at : at + _MOST] for at in range(0, len(rows), _MOST))

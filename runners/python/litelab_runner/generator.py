"""The counter-based generator of `docs/reference/protocol.md`."""

GAMMA = 0x9E37_79B9_7F4A_7C15
MASK = (1 << 64) - 1


def mix64(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB & MASK
    return z ^ (z >> 31)


def fnv1a64(text: str) -> int:
    value = 0xCBF2_9CE4_8422_2325
    for byte in text.encode():
        value = (value ^ byte) * 0x0000_0100_0000_01B3 & MASK
    return value


def unit(word: int) -> float:
    """Returns the upper 53 bits as a fraction in [0, 1)."""
    return (word >> 11) * 2.0**-53


def below(word: int, width: int) -> int:
    """Returns an integer in [0, width)."""
    return int((word >> 11) * 2.0**-53 * width)


class Stream:
    """A sequence of words for one seed and one name, `TRANSACTION.PARAM`."""

    def __init__(self, seed: int, name: str):
        self.key = mix64(seed + GAMMA * fnv1a64(name) & MASK)

    def word(self, row: int) -> int:
        return mix64(self.key + (row + 1) * GAMMA & MASK)

    def words(self, row: int, count: int) -> list[int]:
        """Returns the words of a row with index 0 to `count` - 1."""
        first = self.word(row)
        return [first, *(mix64(first + index * GAMMA & MASK) for index in range(1, count))]

"""Random instructions, biased to legal ones and to the values where decoders go wrong."""

import random
from collections.abc import Iterator

from .encodings import SCALED, SELECTS, Encoding, Words, encodings, fields, format_bits, split, takes_literals
from .row import Row

# Codes around the edges of every group: registers, constants, special values, the announcements of a second dword.
CODES = (0, 1, 3, 91, *range(99, 109), 115, 120, *range(123, 130), 192, 193, 208, 209, 234, 235, 239, *range(240, 258),
         480, 509, 510, 511)  # fmt: skip

# Literals that equal an inline constant of some type, and their neighbours.
LITERALS = (0, 1, 64, 65, 0xFFFFFFFF, 0xFFFFFFF0, 0xFFFFFFEF, 0x3F000000, 0xBF800000, 0x40000000, 0xC0800000,
            0x3E22F983, 0x3800, 0xBC00, 0x4400, 0x3118, 0xFFF0, 0xFFFF, 0x10000, 0x38003800, 0xFFFF3800, 0x3FE00000,
            0xBFF00000, 0x40100000, 0x3FC45F30, 0x3F80, 0xBF00, 0x4080, 0x3E22, 0x3F803F80, 0x12345678)  # fmt: skip

SOURCES = ("ScalarSource", "VectorSource", "MatrixSource")  # the kinds of operands that may be a literal
LITERAL = 255  # their code for it

DPP_CONTROLS = (*range(0x100), *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130),
                *range(0x130, 0x140, 4), *range(0x140, 0x144), *range(0x150, 0x160))  # fmt: skip


LEAST = 3  # words that are drawn


class Sampler:
    """Draws instructions of a table. The same seed gives the same instructions."""

    def __init__(self, rows: list[Row], seed: int) -> None:
        self._rows = rows
        self._random = random.Random(seed)
        self._fields = fields(rows[0].generation)
        self._encodings = encodings(rows[0].generation)

    def any(self, count: int) -> Iterator[Words]:
        """Words of every format: most follow a row, some have a random opcode."""
        for _ in range(count):
            if self._chance(0.85):
                yield self.of_row(self._random.choice(self._rows))
            else:
                yield self.of_encoding(self._random.choice(self._encodings))

    def of_encoding(self, encoding: Encoding) -> Words:
        """Random but for the encoding."""
        return split(self._random.getrandbits(96) & ~encoding.mask | encoding.match, 96)

    def of_row(self, row: Row) -> Words:
        """Random but for the bits that the row fixes, and with a bias."""
        length = format_bits(row.generation, row.format)
        bits = self._random.getrandbits(max(length, 64))
        if self._chance(0.25):
            bits &= self._random.getrandbits(max(length, 64))
        known = self._fields[row.format]
        for operand in row.operands:
            if operand.field in known and self._chance(0.3):
                bits = known[operand.field].put(bits, self._random.choice(CODES))
        for name, legal in SELECTS.items():
            if name in known and self._chance(0.97):
                bits = known[name].put(bits, self._random.randrange(legal))
        if "DPP_CTRL" in known and self._chance(0.95):
            bits = known["DPP_CTRL"].put(bits, self._random.choice(DPP_CONTROLS))
        literal = self._random.choice(LITERALS) if self._chance(0.5) else self._random.getrandbits(32)
        words = split(self._fixed(bits, row), length, literal)
        return words if len(words) >= LEAST else (*words, self._random.getrandbits(32))

    def each_value(self) -> Iterator[Words]:
        """Each value of each field of every row, of those with more than nine bits CODES; all other fields are zero."""
        for row in self._rows:
            length = format_bits(row.generation, row.format)
            for field in self._fields[row.format].values():
                for value in range(1 << field.width) if field.width <= 9 else CODES:
                    words = split(self._fixed(field.put(0, value), row), length, LITERALS[-1])
                    yield words if len(words) >= LEAST else (*words, 0)

    def literals(self) -> Iterator[Words]:
        """Each of LITERALS as each source of every row that may be one, and as all of its sources."""
        for row in self._rows:
            if not takes_literals(row.generation, row.format):
                continue
            known, length = self._fields[row.format], format_bits(row.generation, row.format)
            sources = [operand.field for operand in row.operands if operand.kind in SOURCES and operand.field in known]
            for chosen in {(*sources,), *((source,) for source in sources)} - {()}:
                bits = 0
                for source in chosen:
                    bits = known[source].put(bits, LITERAL)
                for literal in LITERALS:
                    words = split(self._fixed(bits, row), length, literal)
                    yield words if len(words) >= LEAST else (*words, 0)

    def _fixed(self, bits: int, row: Row) -> int:
        """The bits with what makes them an instruction of the row."""
        bits = bits & ~row.mask | row.match
        if row.format == SCALED:  # whose opcode is beyond the bits that a row fixes
            encoding = next(encoding for encoding in self._encodings if encoding.format == SCALED)
            bits = encoding.opcode.put(bits & ~encoding.mask | encoding.match, row.opcode)
        return bits

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

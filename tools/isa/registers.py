"""Which codes an operand may have, by its kind and width: the decoder's rules, here to prove them of every operand.

They are those of the ISA document's table of source operands. Where LLVM takes more, LENIENT says what and why.
"""

from collections.abc import Set

SGPRS = 102  # s0 to s101; a tuple may reach into flat_scratch (102, 103)
TTMP, TTMPS = 108, 16
FLAT_SCRATCH, XNACK_MASK, VCC, M0, EXEC = 102, 104, 106, 124, 126
INLINE_CONSTANTS = frozenset([*range(128, 209), *range(240, 249)])
APERTURES = frozenset(range(235, 240))  # src_shared_base and those after it
STATES = frozenset([251, 252, 253])  # src_vccz, src_execz, src_scc
LDS_DIRECT, LITERAL = 254, 255
OFF = 127

# LLVM lets two groups of codes pass in every operand. 125 is "null", which GFX10 introduced: GFX9's document reserves
# it. The apertures and state bits are values, which LLVM also takes where only a register is legal (its printer exempts
# "inline values" from its check of register classes).
LENIENT = frozenset([125]) | APERTURES | STATES


def scalar_registers(dwords: int) -> Set[int]:
    """The codes that name `dwords` scalar registers. Codes of unaligned tuples are legal and aligned down."""
    if dwords == 1:
        return frozenset(range(128)) - {125}
    if dwords == 2:
        pairs = {FLAT_SCRATCH, XNACK_MASK, VCC, EXEC}
        return pairs | set(range(SGPRS)) | set(range(TTMP, TTMP + TTMPS))
    sgprs = {code for code in range(SGPRS) if code // 4 * 4 + dwords <= SGPRS + 2}
    return sgprs | {TTMP + index for index in range(TTMPS) if index // 4 * 4 + dwords <= TTMPS}


def scalar_sources(dwords: int) -> Set[int]:
    """The codes of a scalar source, without a literal."""
    return scalar_registers(dwords) | INLINE_CONSTANTS | APERTURES | STATES


def vector_registers(dwords: int, first: int = 0) -> Set[int]:
    """The codes that name `dwords` vector registers, counted from `first` on."""
    return set(range(first, first + 257 - dwords))

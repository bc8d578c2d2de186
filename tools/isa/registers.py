"""Which codes an operand may have, by its kind and width: the decoder's rules, here to prove them of every operand.

They are those of the ISA documents' tables of source operands. Where LLVM takes more, `lenient` says what and why.
"""

from collections.abc import Set

TTMP, TTMPS = 108, 16
FLAT_SCRATCH, XNACK_MASK, VCC, EXEC = 102, 104, 106, 126  # the first two of GFX9
INLINE_CONSTANTS = frozenset([*range(128, 209), *range(240, 249)])
APERTURES = frozenset(range(235, 240))  # src_shared_base and those after it
STATES = frozenset([251, 252, 253])  # src_vccz, src_execz, src_scc
LDS_DIRECT, LITERAL = 254, 255
VGPRS = 256
SCRATCH_BASE = frozenset([230, 231])  # src_flat_scratch_base_lo and _hi, which only gfx1250 has


def sgprs(family: str) -> int:
    """How many numbered SGPRs there are; of GFX9 a tuple may reach into flat_scratch (102, 103)."""
    return 102 if family == "gfx9" else 106


def m0(family: str) -> int:
    """The code of M0, which GFX11 exchanged with that of null."""
    return 124 if family in ("gfx9", "gfx10") else 125


def null(family: str) -> int:
    """The code of null, which GFX10 introduced: GFX9's document reserves it."""
    return 125 if family in ("gfx9", "gfx10") else 124


def off(family: str) -> int:
    """The code of SADDR that says that there is none."""
    return 127 if family == "gfx9" else null(family)


def lenient(family: str) -> Set[int]:
    """Codes that LLVM lets pass in every operand: null, what other processors have, and the apertures and state bits,
    which are values, but which LLVM also takes where only a register is legal (its printer exempts "inline values" from
    its check of register classes)."""
    return APERTURES | STATES | SCRATCH_BASE | {null(family)}


def scalar_registers(dwords: int, family: str) -> Set[int]:
    """The codes that name `dwords` scalar registers. Codes of unaligned tuples are legal and aligned down."""
    if dwords == 1:
        return frozenset(range(128)) - ({null(family)} if family == "gfx9" else frozenset())
    ttmps = {TTMP + index for index in range(TTMPS) if dwords == 2 or index // 4 * 4 + dwords <= TTMPS}
    if family == "gfx9":
        pairs, top = {FLAT_SCRATCH, XNACK_MASK, VCC, EXEC}, sgprs(family) + 2
    else:
        pairs, top = {null(family), VCC, EXEC}, sgprs(family)
    if dwords == 2:
        return pairs | set(range(sgprs(family))) | ttmps
    tuples = {code for code in range(sgprs(family)) if code // 4 * 4 + dwords <= top}
    if dwords == 3:
        ttmps = set()
    return tuples | ttmps | ({null(family)} if family != "gfx9" else frozenset())


def scalar_sources(dwords: int, family: str) -> Set[int]:
    """The codes of a scalar source, without a literal."""
    return scalar_registers(dwords, family) | INLINE_CONSTANTS | APERTURES | STATES


def vector_registers(dwords: int, family: str, first: int = 0, count: int = VGPRS) -> Set[int]:
    """The codes that name `dwords` of `count` vector registers, counted from `first` on. Tuples of gfx90a and gfx940
    start at even ones."""
    step = 2 if family == "gfx9" and dwords > 1 else 1
    return set(range(first, first + count + 1 - dwords, step))

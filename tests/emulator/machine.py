"""Runs given instruction words on a given register state, through an ordinary launch of the kernel in machine.s."""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from support import PROBES

import wave_runtime
from wave_runtime import _C

SGPRS, VGPRS, AGPRS, LANES = 80, 64, 32, 64
LDS_BYTES = 1024
DEFAULT_MODE = 0x3F0  # round to nearest, all denormals kept, DX10_CLAMP and IEEE on: what compilers ask for

_SCALARS, _LDS, _ROWS = 128, LDS_BYTES // 4, VGPRS + AGPRS
_BLOCK = _SCALARS + _LDS + _ROWS * LANES

Words = npt.NDArray[np.uint32]


def _zeros(*shape: int) -> Words:
    return np.zeros(shape, dtype=np.uint32)


@dataclass
class State:
    """Registers of ``waves`` independent waves. All arrays are uint32, the wave first.

    Attributes:
        s: [waves, 80].
        v: [waves, 64, 64]: register, lane.
        a: [waves, 32, 64].
        lds: [waves, 256]: dwords.
        vcc: [waves, 2], low half first; exec likewise.
        scc: [waves], and so are m0 and mode.
    """

    waves: int
    s: Words = field(init=False)
    v: Words = field(init=False)
    a: Words = field(init=False)
    lds: Words = field(init=False)
    vcc: Words = field(init=False)
    exec: Words = field(init=False)
    scc: Words = field(init=False)
    m0: Words = field(init=False)
    mode: Words = field(init=False)

    def __post_init__(self) -> None:
        self.s, self.v, self.a = (_zeros(self.waves, SGPRS), *(_zeros(self.waves, n, LANES) for n in (VGPRS, AGPRS)))
        self.lds, self.vcc = _zeros(self.waves, _LDS), _zeros(self.waves, 2)
        self.exec = np.full((self.waves, 2), 0xFFFFFFFF, dtype=np.uint32)
        self.scc, self.m0 = _zeros(self.waves), np.full(self.waves, 0xFFFFFFFF, dtype=np.uint32)
        self.mode = np.full(self.waves, DEFAULT_MODE, dtype=np.uint32)

    def pack(self) -> Words:
        """The block that the kernel reads, for each wave."""
        scalars = _zeros(self.waves, _SCALARS)
        scalars[:, :SGPRS] = self.s
        scalars[:, 80:82], scalars[:, 82:84] = self.vcc, self.exec
        scalars[:, 84], scalars[:, 85], scalars[:, 86] = self.scc, self.m0, self.mode
        rows = [register.reshape(self.waves, -1) for register in (self.v, self.a)]
        return np.concatenate([scalars, self.lds, *rows], axis=1)

    @classmethod
    def unpack(cls, block: Words) -> State:
        """The state in a block that the kernel wrote."""
        state = cls(block.shape[0])
        scalars, state.lds, rows = np.split(block, [_SCALARS, _SCALARS + _LDS], axis=1)
        state.s, state.vcc, state.exec = scalars[:, :SGPRS], scalars[:, 80:82], scalars[:, 82:84]
        state.scc, state.m0, state.mode = scalars[:, 84], scalars[:, 85], scalars[:, 86]
        rows = rows.reshape(state.waves, _ROWS, LANES)
        state.v, state.a = rows[:, :VGPRS], rows[:, VGPRS:]
        return state


_FILES = {"gfx90a": "machine_gfx90a", "gfx942": "machine", "gfx950": "machine_gfx950"}
_IMAGES = {processor: (PROBES / f"{name}.hsaco").read_bytes() for processor, name in _FILES.items()}
_NOP = 0xBF800000
_SLOT_WORDS = 64
_SLOT = (_NOP | 13).to_bytes(4, "little") * _SLOT_WORDS


def with_words(image: bytes, at: int, slot_words: int, words: Sequence[int]) -> bytes:
    """The file with instructions in place of the slot's, and s_nop behind them."""
    assert len(words) <= slot_words, f"at most {slot_words} words, given {len(words)}"
    padded = [*words, *[_NOP] * (slot_words - len(words))]
    code = b"".join(word.to_bytes(4, "little") for word in padded)
    return image[:at] + code + image[at + len(code) :]


def with_writable_code(image: bytes) -> bytes:
    """The ELF file with segments of code that may be written, too."""
    load, writable, executable = 1, 2, 1  # PT_LOAD, PF_W, PF_X
    changed = bytearray(image)
    (begin,), (size, count) = struct.unpack_from("<Q", image, 32), struct.unpack_from("<HH", image, 54)
    for header in range(begin, begin + size * count, size):
        kind, flags = struct.unpack_from("<II", image, header)
        if kind == load and flags & executable:
            struct.pack_into("<I", changed, header + 4, flags | writable)
    return bytes(changed)


def run(
    words: Sequence[int],
    state: State,
    buffer: torch.Tensor | None = None,
    processor: str = "gfx942",
    more_lds: int = 0,
    writable_code: bool = False,
) -> State:
    """The state after the instructions ``words`` (at most 64 dwords), for each wave.

    ``buffer`` is what memory instructions may access: put addresses from its data_ptr() into registers. ``more_lds``
    bytes lie behind those of the state. ``writable_code``: the code object asks for that.
    """
    image = with_words(_IMAGES[processor], _IMAGES[processor].index(_SLOT), _SLOT_WORDS, words)
    if writable_code:
        image = with_writable_code(image)
    kernel = wave_runtime.load(image, signature="*i32 const, *i32, *u8")["machine"]
    before = torch.from_numpy(state.pack().view(np.int32))
    after = torch.zeros_like(before)
    memory = torch.zeros(4, dtype=torch.uint8) if buffer is None else buffer
    kernel(before, after, memory, grid=state.waves, shared_memory=more_lds)
    return State.unpack(after.numpy().view(np.uint32))


@functools.cache
def isa_rows(processor: str) -> Sequence[Mapping[str, Any]]:
    """The rows of a processor, for tests, which only read them: to make them takes a tenth of a second."""
    return tuple(_C.isa_rows(processor))


ROWS = isa_rows("gfx942")
FIELDS = _C.isa_fields()


def encode(row: Mapping[str, object], literal: int | None = None, **fields: int) -> list[int]:
    """The words of an instruction: a row of ROWS with the given fields (names as in fields.inc).

    Raises KeyError for a field that the format does not have, ValueError for a value that does not fit.
    """
    bits = int(row["match"])  # type: ignore[call-overload]
    for name, value in fields.items():
        low, width = FIELDS[str(row["format"])][name]
        if not 0 <= value < 1 << width:
            raise ValueError(f"{row['mnemonic']}: {name} has {width} bits, given {value}")
        bits |= value << low
    two = str(row["format"]) not in ("SOP1", "SOP2", "SOPK", "SOPC", "SOPP", "VOP1", "VOP2", "VOPC")
    words = [bits & 0xFFFFFFFF, bits >> 32] if two else [bits]
    return words if literal is None else [*words, literal]

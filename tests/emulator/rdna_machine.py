"""As machine.py, for RDNA: instruction words on a given register state, in waves of 32 lanes or of 64."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from machine import isa_rows, with_words

import wave_runtime

FOLDER = Path(__file__).parent / "kernels"
SGPRS, VGPRS = 64, 64
DEFAULT_MODE = 0xF0  # round to nearest, all denormals kept
# Places of scalar registers in operands: those of GFX10 have M0 and null the other way round.
VCC, EXEC = 106, 126

Words = npt.NDArray[np.uint32]
Row = Mapping[str, Any]  # of the instruction table

_SLOT = (0xBF80000D).to_bytes(4, "little") * 32
_HEAD, _ROW = 128, 64


def _zeros(*shape: int) -> Words:
    return np.zeros(shape, dtype=np.uint32)


@dataclass
class State:
    """Registers of ``waves`` independent waves of ``lanes`` lanes. All arrays are uint32, the wave first.

    Attributes:
        s: [waves, 64].
        v: [waves, 64, lanes]: register, lane.
        vcc: [waves, 2], low half first; exec likewise.
        scc: [waves], and so are m0 and mode, of which bits 0 to 7 count.
    """

    waves: int
    lanes: int
    s: Words = field(init=False)
    v: Words = field(init=False)
    vcc: Words = field(init=False)
    exec: Words = field(init=False)
    scc: Words = field(init=False)
    m0: Words = field(init=False)
    mode: Words = field(init=False)

    def __post_init__(self) -> None:
        self.s, self.v = _zeros(self.waves, SGPRS), _zeros(self.waves, VGPRS, self.lanes)
        self.vcc, self.exec = _zeros(self.waves, 2), _zeros(self.waves, 2)
        self.exec[:, : self.lanes // 32] = 0xFFFFFFFF
        self.scc, self.m0 = _zeros(self.waves), _zeros(self.waves)
        self.mode = np.full(self.waves, DEFAULT_MODE, dtype=np.uint32)

    def _pack(self) -> Words:
        head, rows = _zeros(self.waves, _HEAD), _zeros(self.waves, VGPRS, _ROW)
        head[:, :SGPRS], head[:, 64:66], head[:, 66:68] = self.s, self.vcc, self.exec
        head[:, 68], head[:, 69], head[:, 70] = self.scc, self.m0, self.mode
        rows[:, :, : self.lanes] = self.v
        return np.concatenate([head, rows.reshape(self.waves, -1)], axis=1)

    @classmethod
    def _unpack(cls, block: Words, lanes: int) -> State:
        state = cls(block.shape[0], lanes)
        state.s, state.vcc, state.exec = block[:, :SGPRS], block[:, 64:66], block[:, 66:68]
        state.scc, state.m0, state.mode = block[:, 68], block[:, 69], block[:, 70]
        state.v = block[:, _HEAD:].reshape(state.waves, VGPRS, _ROW)[:, :, :lanes].copy()
        return state


@functools.cache
def _image(target: str, lanes: int) -> bytes:
    return (FOLDER / f"machine{lanes}_{target}.hsaco").read_bytes()


NAMES = ("s", "v", "vcc", "exec", "scc", "m0", "mode")


def run(target: str, words: Sequence[int], state: State, buffer: torch.Tensor | None = None, lds: int = 0) -> State:
    """The state after the instructions ``words`` (at most 32 dwords), for each wave.

    ``buffer`` is what memory instructions may access: put addresses from its data_ptr() into registers.
    There are ``lds`` bytes of LDS.
    """
    image = _image(target, state.lanes)
    image = with_words(image, image.index(_SLOT), 32, words)
    kernel = wave_runtime.load(image, signature="*i32 const, *i32, *u8")["machine"]
    before = torch.from_numpy(state._pack().view(np.int32))
    after = torch.zeros_like(before)
    memory = torch.zeros(4, dtype=torch.uint8) if buffer is None else buffer
    kernel(before, after, memory, grid=state.waves, block=state.lanes, shared_memory=lds)
    return State._unpack(after.numpy().view(np.uint32), state.lanes)


@functools.cache
def rows(target: str) -> dict[str, Mapping[str, Any]]:
    """The rows of a processor, by mnemonic."""
    return {row["mnemonic"]: row for row in isa_rows(target)}


def check_each(rows: Iterable[Row], tries: Callable[[Row], Iterable[str | None]]) -> None:
    """Each row is tried, and no try of it says what differs."""
    wrong, untried = [], []
    for row in rows:
        found = list(tries(row))
        wrong += [text for text in found if text]
        if not found:
            untried.append(row["mnemonic"])
    assert wrong == []
    assert untried == []

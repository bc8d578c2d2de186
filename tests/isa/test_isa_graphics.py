"""Instructions of graphics, of which the name and the length are known: images, exports, interpolation."""

from __future__ import annotations

import random
import struct

import pytest
from isa import graphics
from isa.encodings import FOLDER
from isa.llvm import Disassembler
from isa.llvm_process import WORDS
from isa.overrides import GRAPHICS
from isa_support import pack

from wave_runtime import _C

IMAGE, EXPORT = "images, of textures and surfaces, are not emulated", "only kernels are emulated"
# By processor: the words of an instruction and of s_nop behind it, its name, and why it is refused.
KNOWN = [
    ("gfx1030", (0xF0000F08, 0x00020004), "image_load", IMAGE),
    ("gfx1030", (0xF0800F0A, 0x00830400, 0x00000102), "image_sample", IMAGE),  # with a dword of addresses
    ("gfx1030", (0xF1989F01, 0x00010409), "image_bvh_intersect_ray", IMAGE),
    ("gfx1030", (0xF800180F, 0x03020100), "exp", EXPORT),
    ("gfx1030", (0xC8000000,), "v_interp_p1_f32_e32", EXPORT),
    ("gfx1030", (0xD7420000, 0x00020000), "v_interp_p1ll_f16", EXPORT),
    ("gfx1101", (0xF0000F04, 0x00020004), "image_load", IMAGE),
    ("gfx1151", (0xF0640F81, 0x00010409, 0x110E0B0A), "image_bvh_intersect_ray", IMAGE),
    ("gfx1100", (0xF800080F, 0x03020100), "exp", EXPORT),
    ("gfx1100", (0xCD000000, 0x04020100), "v_interp_p10_f32", EXPORT),
    ("gfx1100", (0xCE000000,), "lds_param_load", EXPORT),
    ("gfx1201", (0xD3C00001, 0x00000804, 0x00000000), "image_load", IMAGE),
    ("gfx1201", (0xE7C6C001, 0x00000804, 0x00000000), "image_sample", IMAGE),
    ("gfx1200", (0xF800080F, 0x03020100), "export", EXPORT),
]


@pytest.mark.parametrize(("processor", "words", "name", "why"), KNOWN)
def test_it_is_refused_by_name(processor: str, words: tuple[int, ...], name: str, why: str) -> None:
    lines = _C.disassemble(processor, pack(*words, 0xBF800000))
    assert [(len(data), text) for _, data, text in lines] == [(4 * len(words), f"{name} ..."), (4, "s_nop 0")]
    assert _C.decode(processor, pack(*words)) is None
    reason = _C.unsupported(processor, pack(*words))
    assert reason is not None
    assert reason.startswith(f"{name} is not implemented: {why}")


def test_one_that_is_cut_off_is_none() -> None:
    assert _C.disassemble("gfx1100", pack(0xF0000F04))[0][2] == ".long 0xf0000f04"
    assert _C.unsupported("gfx1100", pack(0xF0000F04)) == "not an instruction of gfx1100"


@pytest.mark.parametrize("processor", ["gfx942", "gfx90a"])
def test_others_have_none(processor: str) -> None:
    assert _C.unsupported(processor, pack(0xF0000F04, 0x00020004)) == f"not an instruction of {processor}"


@pytest.mark.needs("llvm")
def test_the_table_is_what_the_generator_makes() -> None:
    assert (FOLDER / "graphics.inc").read_text() == graphics.table()


@pytest.mark.needs("llvm")
@pytest.mark.parametrize("processor", ["gfx1030", "gfx1100", "gfx1101", "gfx1150", "gfx1151", "gfx1200", "gfx1201"])
def test_random_ones_read_alike(processor: str) -> None:
    """Name and length of each that LLVM accepts."""
    rng = random.Random(processor)
    family = processor[:5]
    words = []
    for format_ in graphics.FORMATS[family]:
        for first, *others in format_.tries:
            for _ in range(2000):
                opcode = sum(rng.randrange(1 << part.width) << part.low for part in format_.opcode)
                further = rng.randrange(min(1 << format_.further.width, WORDS - format_.dwords + 1))
                prefix = int(format_.prefix, 2) << 32 - len(format_.prefix)
                rest = others or [rng.getrandbits(32)]
                behind = [rng.randrange(256) * 0x01010101 for _ in range(4)]
                words.append((prefix | opcode | further << format_.further.low | first, *rest, *behind)[:WORDS])
    compared = 0
    for instruction, theirs in zip(words, Disassembler(processor)(words), strict=True):
        name = theirs.text.partition(" ")[0]
        if not theirs.accepted or not GRAPHICS.match(name):
            continue
        _, data, text = _C.disassemble(processor, struct.pack(f"<{WORDS}I", *instruction))[0]
        assert (len(data) // 4, text) == (theirs.dwords, f"{name} ..."), instruction
        compared += 1
    assert compared > 500

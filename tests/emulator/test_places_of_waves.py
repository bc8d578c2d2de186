"""Where waves run, as their hardware registers say it, and where their scratch lies."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

pytestmark = pytest.mark.needs("clang-22")

SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_load_dwordx2 s[12:13], s[4:5], 0x0
  s_lshl_b32 s8, s6, 4
  v_mov_b32_e32 v0, s8
  {first}
  v_mov_b32_e32 v2, s0
  v_mov_b32_e32 v3, s1
  v_mov_b32_e32 v4, s2
  v_mov_b32_e32 v5, s3
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v0, v[2:5], s[12:13]
  s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_user_sgpr_{scratch} 1
  {more}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_private_segment_fixed_size 64
.end_amdhsa_kernel
"""


def first_words(target: str, first: str, groups: int, scratch: str, more: str = "", block: int = 64) -> list[list[int]]:
    """What s[0:3] of each workgroup hold behind an instruction."""
    source = SOURCE.format(target=target, first=first, scratch=scratch, more=more)
    module = wave_runtime.compile(source, language="asm", target=target, signature={"kernel": "*i32"})
    out = torch.zeros(groups, 4, dtype=torch.int32)
    module["kernel"](out, grid=groups, block=block)
    return (out.long() & 0xFFFFFFFF).tolist()


# AMD's product pages: dies of a device (one of gfx90a), shader engines of a die, and compute units of an engine.
DEVICES = {"gfx9-generic": (1, 4, 16), "gfx90a": (1, 8, 14), "gfx942": (8, 4, 10)}


@pytest.mark.parametrize("target", DEVICES)
def test_engines_take_workgroups_in_turn(target: str) -> None:
    dies, engines, units = DEVICES[target]
    more = ".amdhsa_accum_offset 8" if target != "gfx9-generic" else ""
    pairs = "\n  .amdhsa_user_sgpr_".join(["dispatch_ptr 1", "queue_ptr"])  # four registers in front of the arguments'
    groups = dies * engines * units + 5
    words = first_words(target, "s_getreg_b32 s0, hwreg(HW_REG_HW_ID)", groups, pairs, more)
    places = [(word[0] >> 13 & 7, word[0] >> 8 & 15) for word in words]
    assert places == [(n // dies % engines, n // dies // engines % units) for n in range(groups)]


@pytest.mark.parametrize(("target", "lanes"), [("gfx9-generic", 64), ("gfx90a", 64), ("gfx1030", 32), ("gfx1030", 64)])
def test_the_descriptor_of_scratch(target: str, lanes: int) -> None:
    """LLVM's usage guide, "Private Segment Buffer": swizzled by the lanes, without bounds."""
    more = {"gfx90a": ".amdhsa_accum_offset 8", "gfx1030": f".amdhsa_wavefront_size32 {int(lanes == 32)}"}.get(
        target, ""
    )
    ((low, high, records, flags),) = first_words(target, "s_nop 0", 1, "private_segment_buffer", more, lanes)
    assert (low % 256, high >> 31, high >> 16 & 0x3FFF, records) == (0, 1, 0, 0xFFFFFFFF)
    index_stride, adds_lane = flags >> 21 & 3, flags >> 23 & 1
    assert (8 << index_stride, adds_lane) == (lanes, 1)
    if target != "gfx1030":
        assert 2 << (flags >> 19 & 3) == 4, "bytes of an element"

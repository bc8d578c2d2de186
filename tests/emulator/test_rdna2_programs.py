"""What compilers do for gfx1030 alone: scratch that kernels set up, by a descriptor and by hardware registers."""

from __future__ import annotations

import pytest
import torch

import wave_runtime

SCRATCH = r"""
extern "C" __global__ void permute(const int* in, int* out) {
  int values[100];
  const int lane = threadIdx.x;
  for (int i = 0; i < 8; ++i) values[11 * in[8 + i]] = in[i] + lane;
  const unsigned char* bytes = (const unsigned char*)values;
  for (int i = 0; i < 8; ++i) out[8 * lane + i] = values[11 * i] ^ bytes[44 * in[8 + i] + 1];
}
"""
FLAT = ["-Xclang", "-target-feature", "-Xclang", "+enable-flat-scratch"]


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("is_flat", [False, True], ids=["buffers", "scratch"])
def test_scratch(lanes: int, is_flat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workgroup of 100 work-items has waves whose last lanes are off, and each lane dwords and bytes of its own."""
    monkeypatch.setenv("WAVE_RUNTIME_CHECK", "hazards")
    options = [*(FLAT if is_flat else []), *(["-mwavefrontsize64"] if lanes == 64 else [])]
    signature = {"permute": "*i32 const, *i32"}
    kernel = wave_runtime.compile(SCRATCH, target="gfx1030", language="hip", options=options, signature=signature)[
        "permute"
    ]
    text = kernel.asm["gfx1030"]
    wanted = ("s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO)", "scratch_store_dword") if is_flat else ("buffer_store_dword",)
    assert all(part in text for part in wanted)
    values, order = torch.randint(0, 1000, (8,), dtype=torch.int32), torch.randperm(8).int()
    out = torch.zeros(100, 8, dtype=torch.int32)
    kernel(torch.cat([values, order]), out, grid=1, block=100)
    of_lane = torch.empty(8, dtype=torch.int32)
    of_lane[order.long()] = values
    lane = torch.arange(100, dtype=torch.int32)[:, None]
    assert torch.equal(out, (of_lane + lane) ^ (of_lane[order.long()] + lane) >> 8)


PAST_THE_END = r"""
extern "C" __global__ void past_the_end(int* out, int at) {
  int values[100];
  for (int i = 0; i < 100; ++i) values[i] = out[i];
  out[0] = values[at];
}
"""


@pytest.mark.needs("clang-22")
@pytest.mark.parametrize("lanes", [32, 64])
def test_what_lies_past_scratch_is_a_fault(lanes: int) -> None:
    options = ["-mwavefrontsize64"] if lanes == 64 else []
    signature = {"past_the_end": "*i32, i32"}
    kernels = wave_runtime.compile(PAST_THE_END, target="gfx1030", language="hip", options=options, signature=signature)
    out = torch.arange(100, dtype=torch.int32)
    kernels["past_the_end"](out, 99, grid=1, block=1)
    assert out[0] == 99
    with pytest.raises(wave_runtime.KernelFault, match=r"a load of 4 bytes .*scratch"):
        kernels["past_the_end"](out, 5000, grid=1, block=1)

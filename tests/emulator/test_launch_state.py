"""What a wave finds when it starts, and what it can ask for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from machine import State, encode, run
from memory_support import BY_NAME
from support import PROBES, LoadKernel

import wave_runtime
from wave_runtime import _C

FIRST_POINTER = "*i32, i64, i32, i32"
POISON = 0xFFF7FFF7 - (1 << 32)  # as a signed number


def test_ids(probe: LoadKernel) -> None:
    """Packed work-item ids in v0, workgroup ids in the scalar registers behind the user's."""
    out = torch.zeros(12, 24, 4, dtype=torch.int32)
    probe("initial_state", FIRST_POINTER)(out, 0, 0, 0, grid=(3, 2, 2), block=(4, 3, 2))
    for group in range(12):
        for item in range(24):
            packed = item % 4 | (item // 4 % 3) << 10 | item // 12 << 20
            assert out[group, item].tolist() == [packed, group % 3, group // 3 % 2, group // 6]


def test_preloaded_arguments_and_dispatch_packet(probe: LoadKernel) -> None:
    out = torch.zeros(4, dtype=torch.int32)
    probe("preloaded", FIRST_POINTER)(out, 0, 77, 88, grid=1, block=(16, 2))
    assert out.tolist() == [77, 88, 0, 16 | 2 << 16]


def test_registers_behind_preloaded_arguments_are_nobodys() -> None:
    """Where not even the workgroup's number follows: the poison tells that nothing has set them."""
    image = bytearray((PROBES / "probes.hsaco").read_bytes())
    (kernel,) = (one for one in _C.CodeObject(bytes(image)).describe()["kernels"] if one["name"] == "preloaded")
    resources = kernel["descriptor_address"] + 52
    assert image[resources] & 0x80, "ENABLE_SGPR_WORKGROUP_ID_X"
    image[resources] ^= 0x80
    out = torch.zeros(4, dtype=torch.int32)
    wave_runtime.load(bytes(image), signature={"preloaded": FIRST_POINTER})["preloaded"](
        out, 0, 77, 88, grid=1, block=16
    )
    assert out.tolist()[:3] == [77, 88, POISON]


def test_accumulation_registers(probe: LoadKernel) -> None:
    source, out = torch.randint(-(2**31), 2**31, (64,), dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    probe("through_agprs")(source, out, 0, 0, grid=1, block=64)
    assert torch.equal(out, source)


def v_mov(destination: int, source: int) -> list[int]:
    return encode(BY_NAME["v_mov_b32_e32"], VDST=destination, SRC0=256 + source)


def test_arch_registers_go_on_where_accumulation_registers_begin() -> None:
    """At v72, in machine.s: hand-written kernels that need no accumulation registers use the whole file so."""
    state, lanes = State(1), np.arange(64, dtype=np.uint32)
    state.a[0, 3], state.v[0, 5] = lanes, lanes + 100
    after = run(v_mov(4, 72 + 3) + v_mov(72 + 31, 5), state)
    assert np.array_equal(after.v[0, 4], lanes)
    assert np.array_equal(after.a[0, 31], lanes + 100)


def test_arch_registers_end_with_the_file() -> None:
    with pytest.raises(wave_runtime.KernelFault, match="a register that the kernel does not have"):
        run(v_mov(4, 72 + 32), State(1))


def test_special_values(probe: LoadKernel) -> None:
    out = torch.zeros(8, dtype=torch.int32)
    probe("special_values", FIRST_POINTER)(out, 0, 1, 0, grid=1, block=1)
    assert [value & 0xFFFFFFFF for value in out.tolist()] == [
        1,
        0,
        1,
        1 << 16,
        2 << 16,
        0x3E22F983,
        2**32 - 16,
        0x12345678,
    ]


def test_function_calls(language: LoadKernel) -> None:
    source, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    language("call_function", "*i32 const, *i32")(source, out, grid=1, block=64)
    assert torch.equal(out, torch.where(source % 2 == 1, 3 * source + 1, source // 2))


def test_globals_keep_their_values(language: LoadKernel) -> None:
    out = torch.zeros(2, dtype=torch.int32)
    kernel = language("use_globals", "*i32")
    kernel(out, grid=1, block=1)
    first = out[0].item()
    kernel(out, grid=1, block=1)
    assert out.tolist() == [first + 1, 7]


def test_hidden_arguments(language: LoadKernel) -> None:
    out = torch.zeros(11, dtype=torch.int32)
    kernel = language("hidden_arguments", "*i32")
    for grid, block, dimensions in (((3, 2, 1), (4, 5, 2), 3), ((3, 2, 1), (4, 1, 1), 2), ((3, 1, 1), (4, 1, 1), 1)):
        kernel(out, grid=grid, block=block)
        size = [count * items for count, items in zip(grid, block, strict=True)]
        assert out.tolist() == [*block, *size, *grid, 0, dimensions]


def test_dynamic_lds(language: LoadKernel) -> None:
    out = torch.zeros(256, dtype=torch.int32)
    language("reverse_in_lds", "*i32, i32")(out, 256, grid=1, block=256, shared_memory=1024)
    assert out.tolist() == list(range(255, -1, -1))


@pytest.mark.parametrize("block", [1, 63, 64, 65, 130, 1024])
def test_blocks_that_do_not_fill_waves(language: LoadKernel, block: int) -> None:
    out = torch.full((1030,), -1, dtype=torch.int32)
    language("reverse_in_lds", "*i32, i32")(out, block, grid=1, block=block, shared_memory=4 * block)
    assert out.tolist() == [*range(block - 1, -1, -1), *[-1] * (1030 - block)]

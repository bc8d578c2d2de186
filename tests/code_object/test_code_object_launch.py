"""What a file may say of itself that a launch on the emulator must survive."""

from __future__ import annotations

import struct

import pytest
import torch
from code_object_support import CodeObject, Kernel

import wave_runtime


def launch(code: bytes, block: int = 64) -> None:
    kernel = wave_runtime.load(code, signature={"kernel": "*u8"})["kernel"]
    kernel(torch.zeros(1, dtype=torch.uint8), grid=1, block=block)


# By a processor's number in the ELF header the scratch of its work-items: what a wave can have (LLVM's GCNSubtarget,
# getMaxWaveScratchSize) in as many parts as it has lanes.
SCRATCH = {
    "gfx90a": (0x3F, 0x7FFC00 // 64),
    "gfx942": (0x4C, 0x7FFC00 // 64),
    "gfx950": (0x4F, 0x7FFC00 // 64),
    "gfx1030": (0x36, 0x7FFC00 // 32),
    "gfx1100": (0x41, 0x7FFF00 // 32),
    "gfx1150": (0x43, 0x7FFF00 // 32),
    "gfx1201": (0x4E, 0x3FFFF00 // 32),
}


@pytest.mark.parametrize("processor", SCRATCH)
@pytest.mark.parametrize("more", [1, 2 << 30, None])
def test_more_scratch_than_there_is(processor: str, more: int | None) -> None:
    number, most = SCRATCH[processor]
    size = most + more if more else (4 << 30) - 1
    properties = 0x400 * processor.startswith("gfx1")  # waves of 32 lanes
    kernel = Kernel(private_size=size, kernarg_size=8, properties=properties)
    message = f"kernel 'kernel' wants {size} bytes of scratch for each work-item, and {processor} has {most}: build it"
    with pytest.raises(ValueError, match=message):
        launch(CodeObject(flags=number, kernels=[kernel]).build())


@pytest.mark.parametrize("size", [256, 252])
def test_a_wave_that_runs_past_the_end_of_the_code(size: int) -> None:
    """Of the segment: whatever follows it in memory is no code."""
    code = CodeObject(kernels=[Kernel(kernarg_size=8)]).build()
    assert code.count(b"\0\0\x81\xbf") == 1
    nops = code.replace(b"\0\0\x81\xbf" + bytes(252), b"\0\0\x80\xbf" * 64)  # s_endpgm, and what is behind it
    sizes = struct.pack("<QQ", 256, 256)  # in the file and in memory
    assert nops.count(sizes) == 1
    with pytest.raises(RuntimeError, match=r"which is not in the code object's code") as fault:
        launch(nops.replace(sizes, struct.pack("<QQ", size, size)))
    assert f"kernel+{size:#x}" in str(fault.value)


def test_code_that_ends_before_a_wave_begins() -> None:
    """A wave whose arguments are preloaded begins 256 bytes behind the entry."""
    with pytest.raises(RuntimeError, match=r"kernel 'kernel' cannot begin: a jump to .* not in the code object's code"):
        launch(CodeObject(kernels=[Kernel(preload=2, kernarg_size=8)]).build())


def test_as_much_scratch_as_there_is() -> None:
    launch(CodeObject(kernels=[Kernel(private_size=131056, kernarg_size=8)]).build(), block=1024)


@pytest.mark.parametrize("address", [(1 << 64) - 4096, (1 << 64) - 4, 1 << 63, 2])
def test_a_function_where_there_is_no_code(address: int) -> None:
    """Code is translated up to the next function."""
    code = CodeObject(kernels=[Kernel(kernarg_size=8), Kernel("other", kernarg_size=8)]).build()
    other = struct.pack("<BBHQQ", 0x12, 3, 1, 0x300, 4)
    assert code.count(other) == 1
    launch(code.replace(other, struct.pack("<BBHQQ", 0x12, 3, 1, address, 4)))


def test_a_block_that_does_not_fit() -> None:
    """With 512 registers a SIMD holds one wave. Drivers of GPUs say 0, too."""
    code = CodeObject(kernels=[Kernel(rsrc1=63, kernarg_size=8)]).build()
    kernel = wave_runtime.load(code, signature={"kernel": "*u8"})["kernel"]
    assert kernel.occupancy("cpu", block=256) == 1
    assert kernel.occupancy("cpu", block=257) == 0
    tensor = torch.zeros(1, dtype=torch.uint8)
    with pytest.raises(ValueError, match=r"cooperative=True: the grid \(1, 1, 1\) must be .* holds 0 workgroups"):
        kernel(tensor, grid=1, block=257, cooperative=True)
    kernel(tensor, grid=1, block=257)  # an emulator has the registers

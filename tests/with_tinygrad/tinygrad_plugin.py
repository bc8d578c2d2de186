"""Puts this emulator in the place of tinygrad's, for its tests of single instructions: make test-tinygrad.

tinygrad compares what these tests expect with a GPU, where there is one (``USE_HW=1``). Each test assembles some
instructions between others that load registers and store them, and hands the code to ``run_asm``.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType

import pytest
import torch

import wave_runtime

PROCESSORS = {"rdna3": "gfx1151", "rdna4": "gfx1201"}
# What a test may store: 16 registers of all lanes, and some more. What it has lies at the beginning.
BYTES = 1 << 16

# As tinygrad assembles the same code for a GPU.
SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{processor}"
.text
.p2align 8
.type test,@function
test:
.byte {code}
.rodata
.p2align 6
.amdhsa_kernel test
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 96
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  .amdhsa_enable_private_segment 1
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: test
    .symbol: test.kd
    .args: [{{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}]
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: 32
    .sgpr_count: 96
    .vgpr_count: 256
    .max_flat_workgroup_size: 1024
...
.end_amdgpu_metadata
"""


def run_asm(
    code: int,
    length: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    arguments: int,
    rsrc2: int = 0,
    scratch: int = 0,
    arch: str = "rdna3",
) -> int:
    """Run machine code, as tinygrad's function of that name does.

    Args:
        code: the address of ``length`` bytes.
        arguments: the address of the kernel's arguments: one pointer.
        rsrc2: COMPUTE_PGM_RSRC2, of which the size of LDS counts.
        scratch: bytes for each lane.
        arch: the family, a key of PROCESSORS.

    Returns:
        0, as a success.
    """
    processor = PROCESSORS[arch]
    text = ", ".join(map(str, ctypes.string_at(code, length)))
    source = SOURCE.format(processor=processor, code=text, lds=(rsrc2 >> 15 & 0x1FF) * 512, scratch=scratch)
    kernel = wave_runtime.compile(source, language="asm", target=processor, signature={"test": "*u8"})["test"]
    address = ctypes.c_uint64.from_address(arguments).value
    output = torch.frombuffer((ctypes.c_uint8 * BYTES).from_address(address), dtype=torch.uint8)
    kernel(output, grid=(grid_x, grid_y, grid_z), block=(block_x, block_y, block_z))
    return 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rdna3", default=PROCESSORS["rdna3"], help="which processor runs what is written for RDNA3")


def pytest_configure(config: pytest.Config) -> None:
    PROCESSORS["rdna3"] = config.getoption("--rdna3")
    module = ModuleType("test.mockgpu.amd.emu")
    module.run_asm = run_asm  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module


def pytest_report_header() -> str:
    return f"tinygrad's instructions run on the emulator of {', '.join(PROCESSORS.values())}"

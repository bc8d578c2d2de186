"""The plugin of `make test-tinygrad` runs machine code, as tinygrad's emulator does."""

from __future__ import annotations

import ctypes

import pytest
import tinygrad_plugin

import wave_runtime

LOAD_ADDRESS = [0xF4040080, 0xF8000000, 0xBF89FC07]  # s_load_b64 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0)
STORE_NUMBERS = [0x30020082, 0xDC6A0000, 0x00020001]  # v_lshlrev_b32 v1, 2, v0; global_store_b32 v1, v0, s[2:3]
END = 0xBFB00000


def run(words: list[int], lanes: int) -> list[int]:
    """What the instructions store, to the address that is the kernel's argument."""
    code, output = (ctypes.c_uint32 * len(words))(*words), (ctypes.c_uint32 * 64)()
    arguments = ctypes.c_uint64(ctypes.addressof(output))
    place, size = ctypes.addressof(code), ctypes.sizeof(code)
    assert tinygrad_plugin.run_asm(place, size, 1, 1, 1, lanes, 1, 1, ctypes.addressof(arguments)) == 0
    return list(output)


@pytest.mark.needs("clang")
@pytest.mark.parametrize("lanes", [1, 32, 48])
def test_instructions_run(lanes: int) -> None:
    assert run([*LOAD_ADDRESS, *STORE_NUMBERS, END], lanes) == [*range(lanes), *[0] * (64 - lanes)]


@pytest.mark.needs("clang")
def test_what_no_processor_has_is_told_of() -> None:
    with pytest.raises(wave_runtime.KernelFault, match="an instruction that gfx1151 does not have"):
        run([0x7C9400FA, 0xFF014200, END], 1)

"""Addresses that the loader puts into a module."""

from __future__ import annotations

from pathlib import Path

import hip_rtc
import pytest
import torch
import warm_python
from requirements import need
from test_control import ELSEWHERE, TARGETS

import wave_runtime


def test_a_weak_symbol_that_nobody_defines_is_null(tmp_path: Path) -> None:
    need("clang")
    source = tmp_path / "weak.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        'extern "C" __attribute__((weak, visibility("default"))) __device__ int nowhere;\n'
        "__device__ int here = 5;\n"
        'extern "C" __global__ void ask(long* out) {\n'
        "  out[0] = reinterpret_cast<long>(&nowhere); out[1] = here; out[2] = &nowhere == nullptr;\n"
        "}\n"
    )
    out = torch.full((3,), -1)
    module = wave_runtime.compile(source, target="gfx942")
    module["ask"](out, grid=1, block=1)
    assert out.tolist() == [0, 5, 1]
    with pytest.raises(ValueError, match="no variable 'nowhere' in the module"):
        module.symbol("nowhere", device="cpu")


# Variables that end far behind what is loaded, and that begin there; one of these names where another lies.
OUTSIDE = """
.globl kernel
.p2align 8
.type kernel,@function
kernel:
  s_endpgm
.data
.p2align 3
.type {name},@object
.globl {name}
inside: .quad 7
.set {name}, inside + {begin}
.size {name}, {size}
.type good{managed},@object
.globl good{managed}
good{managed}: .quad 9
.size good{managed}, 8
.text
"""


@pytest.mark.needs("clang")
@pytest.mark.parametrize(("begin", "size"), [(0, 1 << 30), (1 << 36, 8), (-(1 << 36), 8), (8, (1 << 64) - 8)])
def test_a_variable_outside_of_what_is_loaded(begin: int, size: int) -> None:
    functions = OUTSIDE.format(name="bad", begin=begin, size=size, managed="")
    source = ELSEWHERE.format(target="gfx942", functions=functions, more=TARGETS["gfx942"][3])
    module = wave_runtime.compile(source, language="asm", target="gfx942")
    assert module.symbol("good", device="cpu").tolist() == [9, *[0] * 7]
    with pytest.raises(ValueError, match=f"the variable 'bad' of {size} bytes at .* does not lie in a segment"):
        module.symbol("bad", device="cpu")


@pytest.mark.needs("clang")
def test_a_managed_variable_outside_of_what_is_loaded() -> None:
    """Where the loader would write what the other one's address is: in a process of its own."""
    functions = OUTSIDE.format(name="good", begin=1 << 36, size=8, managed=".managed")
    source = ELSEWHERE.format(target="gfx942", functions=functions, more=TARGETS["gfx942"][3])
    code = f"""
import torch, wave_runtime
module = wave_runtime.compile({source!r}, language="asm", target="gfx942", signature={{"kernel": "*i32"}})
try:
    module["kernel"](torch.zeros(1, dtype=torch.int32), grid=1, block=1)
except ValueError as error:
    print(error)
"""
    done = warm_python.run("-c", code)
    assert done.returncode == 0, done.stderr
    assert "the variable 'good' of 8 bytes" in done.stdout


@pytest.mark.needs("clang")
@pytest.mark.parametrize(("name", "managed"), [("bad", ""), ("good", ".managed")])
def test_a_variable_outside_of_what_is_loaded_in_hip_programs(tmp_path: Path, name: str, managed: str) -> None:
    """It is not found; nor is a module loaded whose managed variable has its pointer there."""
    functions = OUTSIDE.format(name=name, begin=1 << 36, size=8, managed=managed)
    source = ELSEWHERE.format(target="gfx942", functions=functions, more=TARGETS["gfx942"][3])
    (image,) = wave_runtime.compile(source, language="asm", target="gfx942").images.values()
    (tmp_path / "image").write_bytes(image)
    code = f"""
module, address = ctypes.c_void_p(), ctypes.c_void_p()
loaded = hip.hipModuleLoadData(ctypes.byref(module), open({str(tmp_path / "image")!r}, "rb").read())
print(loaded, loaded or hip.hipModuleGetGlobal(ctypes.byref(address), None, module, {name.encode()!r}))
"""
    done = hip_rtc.run(tmp_path, code)
    not_found = 500
    assert done.stdout == (f"0 {not_found}\n" if not managed else f"{not_found} {not_found}\n"), done.stderr

"""What hipRTC and the HIP library over the emulator link of bitcode."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hip_rtc import run
from requirements import need

pytestmark = pytest.mark.needs("clang")

LINKING = """
def bitcode(source, *expressions):
    create(source)
    for expression in expressions:
        assert rtc.hiprtcAddNameExpression(program, expression) == 0
    assert compile(b"-fgpu-rdc") == 0, log()
    size = ctypes.c_size_t()
    assert rtc.hiprtcGetBitcodeSize(program, ctypes.byref(size)) == 0
    image = ctypes.create_string_buffer(size.value)
    assert rtc.hiprtcGetBitcode(program, image) == 0
    return image.raw

user = bitcode(b'''
__device__ float scaled(float x);
template <class T> __global__ void fill(T* to) { to[threadIdx.x] = scaled(threadIdx.x); }
''', b"fill<float>")
name = lowered(b"fill<float>")
helper = bitcode(b"__device__ float factor = 3; __device__ float scaled(float x) { return x * factor; }", b"factor")
assert lowered(b"factor") == b"factor"
library, prefix = (hip, "hipLink") if sys.argv[1:] else (rtc, "hiprtcLink")

def link(function, *arguments):
    return library[prefix + function](*arguments)

state = ctypes.c_void_p()
image, size = ctypes.c_void_p(), ctypes.c_size_t()

def add(data, kind=100):
    return link("AddData", state, kind, data, ctypes.c_size_t(len(data)), b"input", 0, None, None)

def begin(*options):
    words = (ctypes.c_char_p * len(options))(*options)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(words), len(options))
    assert link("Create", 2, (ctypes.c_int * 2)(10000, 10001), values, ctypes.byref(state)) == 0

def complete():
    return link("Complete", state, ctypes.byref(image), ctypes.byref(size))
"""


@pytest.mark.parametrize("library", ["hiprtc", "hip"])
def test_bitcode_is_linked(tmp_path: Path, library: str) -> None:
    """Of two programs, one with a kernel by its expression, one in a bundle; under both names of the linker."""
    (tmp_path / "empty").write_bytes(b"")
    code = (
        f"sys.argv[1:] = {[] if library == 'hiprtc' else [library]}\n"
        + LINKING
        + f"""
begin(b"-mllvm", b"-inline-threshold=1")
assert add(user) == 0
magic, target = b"__CLANG_OFFLOAD_BUNDLE__", b"hip-amdgcn-amd-amdhsa--gfx942"
def number(value): return value.to_bytes(8, "little")
bundle = magic + number(1) + number(32 + 24 + len(target)) + number(len(helper)) + number(len(target)) + target + helper
assert add(bundle.replace(b"gfx942", b"gfx90a", 1), 101) != 0
assert add(bundle, 101) == 0
assert add(bundle, 3) != 0
assert link("AddFile", state, 100, b"{tmp_path}/none", 0, None, None) != 0
assert complete() == 0
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, name) == 0
assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(256), 0) == 0
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(data))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, None, parameters, None) == 0
assert hip.hipDeviceSynchronize() == 0
print(list((ctypes.c_float * 4).from_address(data.value)))
assert link("Destroy", state) == 0
print(link("Destroy", state))
"""
    )
    done = run(tmp_path, code)
    assert done.stdout == f"[0.0, 3.0, 6.0, 9.0]\n{3 if library == 'hiprtc' else 1}\n", done.stderr


def test_bitcode_is_linked_with_a_compilers_own(tmp_path: Path) -> None:
    """Which is for the version of code objects that the compiler makes where nobody names one."""
    (tmp_path / "other.hip").write_text("__attribute__((device)) float scaled(float x) { return 2 * x; }\n")
    kind = ["-x", "hip", "-nogpulib", "-nogpuinc", "--offload-device-only", "--no-gpu-bundle-output", "-emit-llvm"]
    options = ["--offload-arch=gfx942", "-fgpu-rdc", "-c", tmp_path / "other.hip", "-o", tmp_path / "other.bc"]
    subprocess.run([need("clang"), *kind, *options], check=True)
    code = LINKING + f"begin(); assert add(user) == add(open('{tmp_path}/other.bc', 'rb').read()) == 0\n"
    assert run(tmp_path, code + "print(complete())").stdout == "0\n"


@pytest.mark.parametrize("library", ["hiprtc", "hip"])
def test_options_of_the_linker_are_as_many_as_are_said(tmp_path: Path, library: str) -> None:
    """None where their number is not given. A number without them is refused."""
    code = f"sys.argv[1:] = {[] if library == 'hiprtc' else [library]}\n" + LINKING
    code += """
words = (ctypes.c_char_p * 1)(b"-no-such-option")
def options(values, *kinds):
    kinds, values = (ctypes.c_int * len(kinds))(*kinds), (ctypes.c_void_p * len(kinds))(*values)
    return link("Create", len(kinds), kinds, values, ctypes.byref(state))
assert link("Create", 0, None, None, ctypes.byref(state)) == 0
assert add(user) == add(helper) == complete() == 0
assert options([ctypes.addressof(words)], 10000) == 0
assert add(user) == add(helper) == complete() == 0
assert options([ctypes.addressof(words), 1], 10000, 10001) == 0
assert add(user) == add(helper) == 0
print(complete() != 0, options([1], 10001), link("Create", 1, None, None, ctypes.byref(state)))
"""
    assert run(tmp_path, code).stdout == f"True {'5 3' if library == 'hiprtc' else '1 1'}\n"


def test_what_is_missing_while_linking_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, LINKING + "begin(); print(complete()); assert add(user) == 0; print(complete())")
    assert done.stdout == "100\n100\n"
    assert re.search(r"hiprtcLinkComplete: .*undefined (hidden )?symbol: scaled\(float\)", done.stderr, re.DOTALL), done

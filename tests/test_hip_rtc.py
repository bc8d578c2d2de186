"""hipRTC of the HIP library over the emulator: what a program compiles while it runs, it launches."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import hip_headers
from support import ROOT

from wave_emulator import _hip

pytestmark = pytest.mark.needs("clang")

PROLOGUE = """
import ctypes, sys
rtc = ctypes.CDLL("libhiprtc.so.6")
hip = ctypes.CDLL("libamdhip64.so.6")
program = ctypes.c_void_p()

def create(source, *headers):
    names = (ctypes.c_char_p * len(headers))(*(name for name, _ in headers))
    texts = (ctypes.c_char_p * len(headers))(*(text for _, text in headers))
    assert rtc.hiprtcCreateProgram(ctypes.byref(program), source, b"kernels.hip", len(headers), texts, names) == 0

def compile(*options):
    return rtc.hiprtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))

def log():
    size = ctypes.c_size_t()
    assert rtc.hiprtcGetProgramLogSize(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert rtc.hiprtcGetProgramLog(program, text) == 0
    return text.value.decode()

def code():
    size = ctypes.c_size_t()
    assert rtc.hiprtcGetCodeSize(program, ctypes.byref(size)) == 0
    image = ctypes.create_string_buffer(size.value)
    assert rtc.hiprtcGetCode(program, image) == 0
    return image.raw

def lowered(expression):
    name = ctypes.c_char_p()
    result = rtc.hiprtcGetLoweredName(program, expression, ctypes.byref(name))
    return name.value if result == 0 else result
"""


def run(tmp_path: Path, code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    _hip.link(tmp_path / "hip")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path / "hip"), **variables}
    command = [sys.executable, "-c", PROLOGUE + code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_what_is_compiled_runs(tmp_path: Path) -> None:
    """A template by its expression, a header of the program's own, a macro, and a variable's name."""
    done = run(
        tmp_path,
        """
create(b'''
#include "scale.h"
__device__ int answer = 42;
template <class T> __global__ void fill(T* to) { to[threadIdx.x] = SCALE * OFFSET + T(threadIdx.x); }
''', (b"scale.h", b"#define SCALE 10\\n"))
assert lowered(b"fill<float>") == 9  # not before the compilation
for expression in (b"fill<float>", b"fill<int>", b"answer", b"&answer", b" &fill<int>"):
    assert rtc.hiprtcAddNameExpression(program, expression) == 0
assert compile(b"-DOFFSET=2") == 0, log()
assert rtc.hiprtcAddNameExpression(program, b"fill<char>") == 8
assert lowered(b"fill<char>") == 10
assert lowered(b"answer") == lowered(b"&answer") == b"answer"
assert lowered(b" &fill<int>") == lowered(b"fill<int>")
module, kernel, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(module), code()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, lowered(b"fill<float>")) == 0
assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(256), 0) == 0
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(data))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, None, parameters, None) == 0
assert hip.hipDeviceSynchronize() == 0
print(list((ctypes.c_float * 4).from_address(data.value)))
assert rtc.hiprtcDestroyProgram(ctypes.byref(program)) == 0
assert rtc.hiprtcCompileProgram(ctypes.c_void_p(16), 0, None) == 4
""",
    )
    assert done.stdout == "[20.0, 21.0, 22.0, 23.0]\n", done.stderr


CALLING = """
def load(source):
    create(source)
    assert compile() == 0, log()
    module = ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), code()) == 0
    return module

pointed = load(b'''
__device__ int table[64];
__device__ int named(int i) { return table[i] + 1; }
__device__ int none(int i) { return *(volatile int*)nullptr; }
extern "C" __device__ int (*const functions[])(int) = {named, none};
extern "C" __global__ void fill() { table[threadIdx.x] = 2 * threadIdx.x; }
''')
calling = load(b'''
extern "C" __global__ void call(int* to, int (**functions)(int), int which) {
  to[threadIdx.x] = functions[which](threadIdx.x) + 1;
}''')

def launch(module, name, *arguments):
    kernel = ctypes.c_void_p()
    assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, name) == 0
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, None, pointers, None) == 0
    return hip.hipDeviceSynchronize()

data, functions, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(256), 0) == 0
assert hip.hipModuleGetGlobal(ctypes.byref(functions), ctypes.byref(size), pointed, b"functions") == 0
assert launch(pointed, b"fill") == 0
assert launch(calling, b"call", data, functions, ctypes.c_int(0)) == 0
assert list((ctypes.c_int * 64).from_address(data.value)) == [2 * i + 2 for i in range(64)]
"""


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_a_pointer_leads_to_another_modules_function(tmp_path: Path, processor: str) -> None:
    """As rocFFT's callbacks do, which are the program's. What is wrong there is said of that function."""
    code = CALLING + "print(launch(calling, b'call', data, functions, ctypes.c_int(1)))"
    done = run(tmp_path, code, WAVE_RUNTIME_EMULATOR_PROCESSOR=processor)
    assert done.stdout == "700\n", done.stderr
    assert re.search(r"^  at _Z4nonei\+0x", done.stderr, re.MULTILINE)


def test_functions_of_modules_that_are_gone(tmp_path: Path) -> None:
    code = """
pointer = ctypes.c_void_p.from_address(functions.value).value
room = ctypes.c_void_p(pointer)
assert hip.hipModuleUnload(pointed) == 0
print(launch(calling, b"call", data, ctypes.c_void_p(ctypes.addressof(room)), ctypes.c_int(0)))
"""
    done = run(tmp_path, CALLING + code)
    assert (done.stdout, "not in the code object's code" in done.stderr) == ("700\n", True), done.stderr


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_a_grid_may_end_within_a_workgroup(tmp_path: Path, processor: str) -> None:
    """Of a kernel that was compiled for that, as MIOpen's are.

    The last workgroups have fewer waves, for which no barrier waits, and each work-item sees how many there are.
    """
    code = """
source = b'''
extern "C" __global__ void count(int* to) {
  __shared__ int items;
  if (threadIdx.x + threadIdx.y == 0) items = 0;
  __syncthreads();
  atomicAdd(&items, 1);
  __syncthreads();
  const int x = 64 * blockIdx.x + threadIdx.x, y = 2 * blockIdx.y + threadIdx.y;
  // As __ockl_get_local_size finds it in the hidden arguments: whole workgroups, their sizes, and what remains.
  const auto* hidden = (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr();
  const auto* sizes = (const __attribute__((address_space(4))) unsigned short*)(hidden + 3);
  const int along_x = sizes[blockIdx.x < hidden[0] ? 0 : 3], along_y = sizes[blockIdx.y < hidden[1] ? 1 : 4];
  to[100 * y + x] = along_x * along_y == items ? items : -1;
}'''

def launch(*options):
    create(source)
    assert compile(*options) == 0, log()
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), code()) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"count") == 0
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(data))
    launch = hip.hipExtModuleLaunchKernel
    return launch(kernel, 100, 3, 1, 64, 2, 1, ctypes.c_size_t(0), None, parameters, None, None, None, 0)

data = ctypes.c_void_p()
assert hip.hipHostMalloc(ctypes.byref(data), ctypes.c_size_t(1200), 0) == 0
print(launch(b"-fno-offload-uniform-block"), hip.hipDeviceSynchronize())
values = list((ctypes.c_int * 300).from_address(data.value))
print(values == [128] * 64 + [72] * 36 + [128] * 64 + [72] * 36 + [64] * 64 + [36] * 36)
print(launch(b"-foffload-uniform-block"))
"""
    variables = {"WAVE_RUNTIME_EMULATOR_PROCESSOR": processor, "WAVE_RUNTIME_SANITIZE": "all"}
    done = run(tmp_path, code, **variables)
    assert done.stdout == "0 0\nTrue\n1\n", done.stderr
    assert "ends within a workgroup" in done.stderr
    assert "ended" not in done.stderr


def test_the_sanitizer_looks_into_functions_of_other_modules(tmp_path: Path) -> None:
    code = CALLING + "print(launch(calling, b'call', data, functions, ctypes.c_int(1)))"
    done = run(tmp_path, code, WAVE_RUNTIME_SANITIZE="all")
    assert done.stdout == "0\n", done.stderr
    assert re.search(r"^    at _Z4nonei\+0x", done.stderr, re.MULTILINE), done.stderr
    done = run(tmp_path, CALLING, WAVE_RUNTIME_PROFILE_LOG=str(tmp_path / "log"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("statement", "result", "message"),
    [
        ("seen = **pointer", 0, "a load of 8 bytes that ends 4 bytes past the end of the hipMalloc at"),
        (
            "seen = *(int*)*pointer + (*pointer)[1]",
            0,
            "a load of 8 bytes that ends 12 bytes past the end of the hipMal",
        ),
        ("**pointer = 1", 700, "a store of 8 bytes out of bounds: from 4 bytes before the end of the hipMalloc at"),
        ("seen = *(int*)*pointer + (*pointer)[100]", 700, "a load of 8 bytes out of bounds: 796 bytes past the end of"),
    ],
)
def test_the_end_of_memory_that_no_argument_points_to(
    tmp_path: Path, statement: str, result: int, message: str
) -> None:
    """Reads past it are forgiven as they are of arguments: RCCL reads eight bytes of a scalar of four."""
    code = f"""
create(b'''extern "C" __global__ void kernel(volatile long** pointer) {{
  [[maybe_unused]] volatile long seen;
  {statement};
}}''')
assert compile() == 0, log()
module, kernel, data, pointer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert hip.hipModuleLoadData(ctypes.byref(module), code()) == 0
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"kernel") == 0
assert hip.hipMalloc(ctypes.byref(data), ctypes.c_size_t(4)) == 0
assert hip.hipHostMalloc(ctypes.byref(pointer), ctypes.c_size_t(8), 0) == 0
ctypes.c_void_p.from_address(pointer.value).value = data.value
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, parameters, None) == 0
print(hip.hipDeviceSynchronize())
"""
    done = run(tmp_path, code)
    assert done.stdout == f"{result}\n", done.stderr
    assert message in done.stderr


def test_small_types_need_no_header(tmp_path: Path) -> None:
    """hipRTC has them built in, and an option that says what ptrdiff_t is."""
    done = run(
        tmp_path,
        """
create(b'''
extern "C" __global__ void kernel(__half* to, hip_bfloat16* other) { *to = __float2half(1.5f); }
using Difference = __PTRDIFF_TYPE__;
static_assert(__is_same(Difference, DIFFERENCE));
''')
print(compile(b"-DDIFFERENCE=long"), log())
print(compile(b"-DDIFFERENCE=long long", b"-D__HIPRTC_PTRDIFF_T_IS_LONG_LONG__=1"), log())
""",
    )
    assert done.stdout == "0 \n0 \n", done.stderr


def test_a_source_can_tell_hiprtc(tmp_path: Path) -> None:
    """By the macro that hipRTC defines: rocFFT leaves its operators of streams out by it. Lines count as before."""
    done = run(
        tmp_path,
        """
create(b'#ifndef __HIPCC_RTC__\\n#error hipcc\\n#endif\\nstatic_assert(__LINE__ == 4 && __HIPCC_RTC__);')
print(compile(), log())
""",
    )
    assert done.stdout == "0 \n", done.stderr


def test_headers_of_another_rocm(tmp_path: Path) -> None:
    """ROCM_PATH names one whose compiler is elsewhere, as with Debian's packages: there the device libraries are among
    clang's own files. clang would look for them in ROCM_PATH alone."""
    bitcode = tmp_path / "clang" / "amdgcn" / "bitcode"
    bitcode.mkdir(parents=True)
    header = tmp_path / "usr" / "include" / "hip" / "hip_runtime.h"
    header.parent.mkdir(parents=True)
    header.touch()
    clang = tmp_path / "some-clang"
    clang.write_text(
        f'#!/bin/sh\ntest "$1" = -print-resource-dir && echo {tmp_path}/clang && exit\necho "$@"\nexit 1\n'
    )
    clang.chmod(0o700)
    code = 'create(b""); print(compile()); print(log())'
    done = run(tmp_path, code, CLANG=str(clang), ROCM_PATH=str(tmp_path / "usr"))
    assert f" --rocm-device-lib-path={bitcode} -idirafter {tmp_path}/usr/include " in done.stdout, done
    assert "-nogpulib" not in done.stdout
    (tmp_path / "usr" / "amdgcn" / "bitcode").mkdir(parents=True)
    done = run(tmp_path, code, CLANG=str(clang), ROCM_PATH=str(tmp_path / "usr"))
    assert f" --rocm-path={tmp_path}/usr " in done.stdout, done


def test_without_any_of_rocm(tmp_path: Path) -> None:
    """clang's headers for C++ in kernels, which it leaves out where it finds no HIP of some release."""
    done = run(
        tmp_path,
        """
create(b'extern "C" __global__ void kernel(int* to, char* room) { *to = *new (room) int(7); }')
print(compile(), log())
""",
        ROCM_PATH=str(tmp_path),
    )
    assert done.stdout == "0 \n", done.stderr


def test_an_option_names_another_processor(tmp_path: Path) -> None:
    code = """
create(b"extern \\"C\\" __global__ void nothing() {}")
assert compile(b"--gpu-architecture=gfx1100") == 0, log()
module = ctypes.c_void_p()
print(hip.hipModuleLoadData(ctypes.byref(module), code()))
"""
    assert run(tmp_path, code).stdout == "209\n"
    assert run(tmp_path, code, WAVE_RUNTIME_EMULATOR_PROCESSOR="gfx1100").stdout == "0\n"


def test_errors_are_in_the_log(tmp_path: Path) -> None:
    done = run(tmp_path, 'create(b"__global__ void wrong() { int x = y; }"); print(compile()); print(log())')
    assert re.match(r"6\n\S*kernels.hip:1:\d+: error: use of undeclared identifier 'y'", done.stdout), done
    done = run(tmp_path, 'create(b""); print(compile())', CLANG="no-such-clang")
    assert (done.stdout, "there is no clang" in done.stderr) == ("6\n", True)


def test_bitcode_is_made_on_request(tmp_path: Path) -> None:
    done = run(tmp_path, 'create(b""); print(rtc.hiprtcGetBitcodeSize(program, ctypes.byref(ctypes.c_size_t())))')
    assert (done.stdout, "where -fgpu-rdc is an option" in done.stderr) == ("4\n", True)


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


def test_signatures_agree_with_the_header(tmp_path: Path) -> None:
    source = tmp_path / "rtc.cpp"
    source.write_text("""
#include <hip/hiprtc.h>
using RtcResult = hiprtcResult;
using RtcProgramHandle = hiprtcProgram;
#ifdef HAS_LINKER
using LinkState = hiprtcLinkState;
using JitOption = hiprtcJIT_option;
using JitInput = hiprtcJITInputType;
#endif
extern "C" {
#define RTC(name, parameters) RtcResult name parameters;
#include "rtc_functions.inc"
}
""")
    for folder in hip_headers("hip/hiprtc.h"):
        table = (ROOT / "csrc/hip_emulator/rtc_functions.inc").read_text()
        text = (folder / "hip/hiprtc.h").read_text()
        common = [line for line in table.splitlines() if line.startswith("//") or re.split(r"[(,]", line)[1] in text]
        (tmp_path / "rtc_functions.inc").write_text("\n".join(common))
        command = ["g++", "-fsyntax-only", "-D__HIP_PLATFORM_AMD__", f"-I{folder}", f"-I{tmp_path}", source]
        if "hiprtcLinkState" in text:
            command.append("-DHAS_LINKER")
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.needs("hip-compiler")
def test_headers_are_those_of_a_toolchain(tmp_path: Path) -> None:
    """Where ROCM_PATH names one, with the types that AMD's hipRTC knows without headers."""
    toolchain = tmp_path / "toolchain"
    command = [sys.executable, ROOT / "tools" / "make_hip_toolchain.py", toolchain]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    code = """
create(b"__global__ void k(float* to, __half a, hip_bfloat16 b, hipFloatComplex c) { *to = float(a) + b + c.y; }")
result = compile()
print(result, log() if result else code().count(b"_Z1kPf"))
"""
    done = run(tmp_path, code, ROCM_PATH=str(toolchain), CLANG="")
    assert done.stdout.startswith("0 "), done.stdout + done.stderr
    assert int(done.stdout.split()[1]) > 0


def test_managed_variables_of_a_module(tmp_path: Path) -> None:
    """The module that a program loads has their memory, which goes with it."""
    code = """
create(b'''
__attribute__((managed)) int values[2] = {3, 4};
extern "C" __global__ void twice() { values[threadIdx.x] *= 2; }
''')
assert compile() == 0, log()
module, kernel, data, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
assert hip.hipModuleLoadData(ctypes.byref(module), code()) == 0
assert hip.hipModuleGetGlobal(ctypes.byref(data), ctypes.byref(size), module, b"values") == 0
values = (ctypes.c_int * 2).from_address(data.value)
print(list(values), size.value)
values[0] = 5
assert hip.hipModuleGetFunction(ctypes.byref(kernel), module, b"twice") == 0
assert hip.hipModuleLaunchKernel(kernel, 1, 1, 1, 2, 1, 1, 0, None, None, None) == 0
assert hip.hipDeviceSynchronize() == 0
print(list(values))
attributes = ctypes.create_string_buffer(64)
assert hip.hipPointerGetAttributes(attributes, data) == 0
assert hip.hipModuleUnload(module) == 0
assert hip.hipMemset(data, 0, ctypes.c_size_t(4)) != 0
"""
    done = run(tmp_path, code)
    assert done.stdout == "[3, 4] 8\n[10, 8]\n", done.stderr


@pytest.mark.parametrize("how", ["ignored", "waited for by another"])
def test_compilers_of_a_process_that_is_not_told_how_children_end(how: str, tmp_path: Path) -> None:
    """It ignores SIGCHLD, which a compiler would inherit, or has a thread that waits for whatever child ends."""
    done = run(
        tmp_path,
        """
import os, signal, threading, time
def reap():
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.001)
if sys.argv[-1] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
else:
    threading.Thread(target=reap, daemon=True).start()
create(b'extern "C" __global__ void k(int* to) { *to = 42; }')
print(compile(), code()[:4])
create(b'extern "C" __global__ void k(int* to) { *to = nothing; }')
print(compile(), "nothing" in log())
""",
        how,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 b'\\x7fELF'", "6 True"]

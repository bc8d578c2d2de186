"""Modules of the HIP library over the emulator: their launches, what is found in them, and their variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hip_rtc import run

pytestmark = pytest.mark.needs("clang")

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

"""The contract of upstream's wave_runtime, line by line: its README, then its binding, then what callers rely on.

Everything runs on CPU tensors. tests/conformance/test_upstream_launch.py repeats launches on every driver.
"""

from __future__ import annotations

import copy
import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import warm_python
from support import EXAMPLES, ROOT

import wave_runtime
from wave_runtime import _C, Int32Vector, Int64Vector, KernelFault, KernelLaunchInfo, launch

BASICS = EXAMPLES / "binaries" / "basics.hsaco"
GEMM = EXAMPLES / "binaries" / "gemm_f16_16x16x16.hsaco"  # made by wave-lang; M, N and K are dynamic
KERNELS = ROOT / "tests" / "conformance" / "kernels.hsaco"
FIELDS = (
    "gpu_stream",
    "gpu_func",
    "sharedMemoryBytes",
    *("gridX", "gridY", "gridZ"),
    *("blockX", "blockY", "blockZ"),
    *("clusterDimX", "clusterDimY", "clusterDimZ"),
)


class Add:
    """vector_add of 1000 elements, to be launched in many ways."""

    def __init__(self) -> None:
        self.binary, self.function = wave_runtime.load_binary(str(BASICS), "vector_add")
        self.a, self.b, self.c = torch.randn(1000), torch.randn(1000), torch.zeros(1000)

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.a, self.b, self.c]

    @property
    def addresses(self) -> list[int]:
        return [tensor.data_ptr() for tensor in self.tensors]

    def info(self, **fields: Any) -> KernelLaunchInfo:
        return KernelLaunchInfo(**{"gpu_func": self.function, "gridX": 4, "blockX": 256, **fields})

    def check(self) -> None:
        assert torch.equal(self.c, self.a + self.b)
        self.c.zero_()


@pytest.fixture
def add() -> Add:
    return Add()


# The README.


def test_import_says_ok() -> None:
    """`python -c "import wave_runtime; print('Wave Runtime OK')"`, also without a GPU."""
    code = "import wave_runtime; print('Wave Runtime OK')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "Wave Runtime OK\n"


def test_readme_example(add: Add, tmp_path: Path) -> None:
    """Its usage section: any file extension, keywords without stream and cluster, tensors as pointers."""
    (tmp_path / "kernel.bin").write_bytes(BASICS.read_bytes())
    module_capsule, function_ptr = wave_runtime.load_binary(str(tmp_path / "kernel.bin"), "vector_add")
    assert isinstance(function_ptr, int)
    launch_info = wave_runtime.KernelLaunchInfo(
        gpu_func=function_ptr, sharedMemoryBytes=0, gridX=4, gridY=1, gridZ=1, blockX=256, blockY=1, blockZ=1
    )
    wave_runtime.launch(launch_info, add.addresses, [], [1000])
    add.check()
    del module_capsule


def test_scalar_arguments() -> None:
    """`scalar_args = [42, 3.14]` is a mixed list."""
    binary, function = wave_runtime.load_binary(str(KERNELS), "copy_large")
    assert packed(function, tensors=[], scalars=[42, 3.14])[:8] == struct.pack("<if", 42, 3.14)
    del binary


def test_binary_loading_errors(tmp_path: Path) -> None:
    """Troubleshooting: the file exists, its kernel's name, its architecture."""
    with pytest.raises(RuntimeError, match=r"^Unable to get file size: /none/kernel\.bin - No such file or directory$"):
        wave_runtime.load_binary("/none/kernel.bin", "kernel")
    with pytest.raises(RuntimeError, match=f"^Unable to open file: {tmp_path}"):
        wave_runtime.load_binary(str(tmp_path), "kernel")
    with pytest.raises(RuntimeError, match=r"^Failed to read entire file: /proc/self/maps"):
        wave_runtime.load_binary("/proc/self/maps", "kernel")
    with pytest.raises(RuntimeError, match=r"^Error 500\(hipErrorNotFound\)[^$]*no kernel 'sub'; its kernels are"):
        wave_runtime.load_binary(str(BASICS), "sub")
    (tmp_path / "text").write_text("no code")
    with pytest.raises(RuntimeError, match=r"^Error 200\(hipErrorInvalidImage\)[^$]*not a file with GPU code"):
        wave_runtime.load_binary(str(tmp_path / "text"), "kernel")


def test_launch_errors(add: Add) -> None:
    """Troubleshooting: pointers are valid, grid and block appropriate, shared memory within the limits."""
    unmapped = "at an address that the process has not mapped"
    wilds = {
        0: "at a null pointer: argument 2 is null",
        16: "at a null pointer plus 16",
        1 << 46: unmapped,
        1 << 63: unmapped,
    }
    for wild, message in wilds.items():
        with pytest.raises(KernelFault, match=message):
            launch(add.info(), [*add.addresses[:2], wild], [], [1000])
    with pytest.raises(ValueError, match=r"grid \(0, 1, 1\) has an extent below 1"):
        launch(add.info(gridX=0), add.addresses, [], [1000])
    with pytest.raises(ValueError, match=r"block \(2048, 1, 1\) has more than the"):
        launch(add.info(blockX=2048), add.addresses, [], [1000])
    with pytest.raises(ValueError, match="more than the 65536 bytes that gfx942 has"):
        launch(add.info(sharedMemoryBytes=65537), add.addresses, [], [1000])
    with pytest.raises(ValueError, match="shared_memory -1 is negative"):
        launch(add.info(sharedMemoryBytes=-1), add.addresses, [], [1000])
    launch(add.info(sharedMemoryBytes=65536), add.addresses, [], [1000])
    add.check()


# The binding.


def test_names() -> None:
    names = ("Int32Vector", "Int64Vector", "KernelLaunchInfo", "launch", "load_binary", "load_hip_functions")
    assert set(names) <= set(wave_runtime.__all__)
    assert [getattr(wave_runtime, name).__name__ for name in names] == list(names)


def test_launch_info_of_positional_ints(add: Add) -> None:
    """Twelve: stream, function, shared memory, grid, block, cluster."""
    values = (0, add.function, 0, 4, 1, 1, 256, 1, 1, 0, 0, 0)
    info = KernelLaunchInfo(*values)
    assert tuple(getattr(info, name) for name in FIELDS) == values
    launch(info, add.addresses, [], [1000])
    add.check()


def test_launch_info_defaults(add: Add) -> None:
    """The current stream (None), no shared memory, one of everything else."""
    info = KernelLaunchInfo(gpu_func=add.function)
    assert [getattr(info, name) for name in FIELDS] == [None, add.function, 0, *[1] * 9]
    assert (
        repr(info)
        == f"wave_runtime.KernelLaunchInfo(gpu_stream=None, gpu_func={add.function}, "
        + ", ".join(f"{name}={0 if name == 'sharedMemoryBytes' else 1}" for name in FIELDS[2:])
        + ")"
    )


def test_launch_info_attributes_can_be_written(add: Add) -> None:
    info = KernelLaunchInfo(*[1] * 12)
    for value, name in enumerate(FIELDS, 10):
        setattr(info, name, value)
        assert getattr(info, name) == value
    info.gpu_func, info.gpu_stream, info.gridX, info.gridY, info.gridZ = add.function, None, np.int64(4), 1, 1  # type: ignore[assignment]
    info.blockX, info.blockY, info.blockZ, info.sharedMemoryBytes, info.clusterDimX = 256, 1, 1, 0, 0
    launch(info, add.addresses, [], [1000])
    add.check()
    with pytest.raises(TypeError, match="gridX: expected an int, given float"):
        info.gridX = 1.5  # type: ignore[assignment]
    with pytest.raises(TypeError, match="cannot be deleted"):
        del info.gridX


@pytest.mark.parametrize(
    ("arguments", "keywords", "error"),
    [
        ((), {}, "TypeError: KernelLaunchInfo: gpu_func is missing"),
        ((0,) * 13, {}, "TypeError: KernelLaunchInfo takes at most 12 arguments, given 13"),
        ((0, 1), {"gpu_func": 1}, "TypeError: KernelLaunchInfo: two values for 'gpu_func'"),
        ((0, 1), {"gridx": 1}, "TypeError: KernelLaunchInfo: no field 'gridx'"),
        ((0, 1, None), {}, "TypeError: sharedMemoryBytes: expected an int, given None"),
        ((0, 1, 0, 1 << 32), {}, f"ValueError: gridX: {1 << 32} does not fit in 32 bits"),
        ((1 << 64, 1), {}, f"ValueError: gpu_stream: {1 << 64} does not fit in 64 bits"),
    ],
)
def test_launch_info_errors(arguments: tuple[Any, ...], keywords: dict[str, Any], error: str) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        KernelLaunchInfo(*arguments, **keywords)
    assert f"{raised.type.__name__}: {raised.value}" == error


def test_four_or_five_arguments(add: Add) -> None:
    """The wheel's launch takes four, later ones take strides as well; lists and vectors alike."""
    vectors = (Int64Vector(add.addresses), Int64Vector([]), [1000])
    launch(add.info(), *vectors)
    add.check()
    launch(add.info(), *vectors, Int64Vector([]))
    add.check()
    launch(add.info(), tuple(add.addresses), (), (1000,), np.array([7, 8, 9]))  # strides that the kernel does not take
    add.check()
    for wrong in ((), (add.info(),), (add.info(), [], []), (add.info(), [], [], [], [], [])):
        with pytest.raises(TypeError, match=f"launch takes a KernelLaunchInfo.* given {len(wrong)} arguments"):
            launch(*wrong)


@pytest.mark.parametrize("vector", [Int64Vector, Int32Vector])
def test_vectors_are_lists(vector: type[Int64Vector]) -> None:
    numbers = vector([1, 2, 3])
    assert repr(numbers) == f"wave_runtime.{vector.__name__}([1, 2, 3])"
    assert numbers == vector([1, 2, 3]) != vector([1, 2])
    numbers.append(4)
    numbers.extend(vector([5, 1]))
    numbers.insert(0, 9)
    assert (numbers.pop(), numbers.count(1), numbers[1:3], len(numbers)) == (1, 1, [1, 2], 6)
    numbers.remove(9)
    numbers[0] = 7
    del numbers[1]
    assert (list(numbers), 7 in numbers, bool(vector())) == ([7, 3, 4, 5], True, False)
    assert vector((1, np.int64(2), torch.tensor(3), True)) == [1, 2, 3, 1]
    for other in (copy.deepcopy(numbers), pickle.loads(pickle.dumps(numbers))):
        assert (other, type(other)) == (numbers, vector)
    numbers.clear()
    assert not numbers


def test_vectors_refuse_what_is_no_integer() -> None:
    with pytest.raises(TypeError, match=r"^wave_runtime\.Int64Vector\[1\]: expected an int, given float$"):
        Int64Vector([1, 2.0])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"^wave_runtime\.Int32Vector\[0\]: 4294967296 does not fit in 32 bits$"):
        Int32Vector([1 << 32])
    with pytest.raises(TypeError, match="takes one sequence of integers"):
        Int64Vector([1], [2])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Int64Vector(1)  # type: ignore[arg-type]


def packed(function: int, tensors: list[int], scalars: list[Any], dims: list[int] | None = None) -> bytes:
    """What a kernel gets behind its first pointer: copy_large stores it."""
    out = torch.zeros(400, dtype=torch.int32)
    rest = dims or [0] * ((1600 - 8 * len(tensors) - 4 * len(scalars)) // 8)
    info = KernelLaunchInfo(gpu_func=function, blockX=64)
    launch(info, [out.data_ptr(), *tensors], rest[:-2], scalars, rest[-2:])
    return out.numpy().tobytes()


SCALARS = (
    (1, "i"),
    (-1, "i"),
    ((1 << 32) - 1, "I"),
    (0.1, "f"),
    (True, "i"),
    (np.int16(-2), "i"),
    (np.float64(0.1), "f"),
    (np.float32(0.1), "f"),
    (np.bool_(True), "i"),
    (torch.tensor(3), "i"),
    (torch.tensor(0.1), "f"),
    (torch.tensor(True), "i"),
)


def test_layout() -> None:
    """8 bytes for each tensor; 4 for each scalar; each dimension, then each stride, as two words; no padding."""
    binary, function = wave_runtime.load_binary(str(KERNELS), "copy_large")
    tensors = [1, 1 << 40, (1 << 64) - 1]
    scalars = [value for value, _ in SCALARS]
    dims = [5, 1 << 33, -1, *range(186), 1 << 62, -7]  # the last two are given as strides
    formats = f"<3Q{''.join(kind for _, kind in SCALARS)}191q"
    numbers = [float(value) if kind == "f" else int(value) for value, kind in SCALARS]
    assert packed(function, tensors, scalars, dims) == struct.pack(formats, *tensors, *numbers, *dims)
    del binary


@pytest.mark.parametrize(
    ("lists", "error"),
    [
        ((["x", 0, 0], [], [1]), "TypeError: tensors[0]: expected a tensor or an address, given str"),
        (([0, 1.0, 0], [], [1]), "TypeError: tensors[1]: expected a tensor or an address, given float"),
        (([0, 0, None], [], [1]), "TypeError: tensors[2]: expected a tensor or an address, given None"),
        (([0, 0, 1 << 64], [], [1]), f"ValueError: tensors[2]: {1 << 64} does not fit in 64 bits"),
        (([0, 0], [1.5], [1]), "TypeError: dynamic_dims[0]: expected an int, given float"),
        (([0, 0], [-(1 << 63) - 1], [1]), f"ValueError: dynamic_dims[0]: {-(1 << 63) - 1} does not fit in 64 bits"),
        (([0, 0, 0], [], ["1"]), "TypeError: scalar_args[0]: expected an int or a float, given str"),
        (([0, 0, 0], [], [None]), "TypeError: scalar_args[0]: expected an int or a float, given None"),
        (([0, 0, 0], [], [1 << 32]), f"ValueError: scalar_args[0]: {1 << 32} does not fit in 32 bits"),
        (([0, 0, 0], [], [-(1 << 31) - 1]), f"ValueError: scalar_args[0]: {-(1 << 31) - 1} does not fit in 32 bits"),
        ((5, [], [1]), "TypeError: tensors: expected a list, given int"),
        ((torch.zeros(3), [], [1]), "TypeError: tensors: expected a list, given Tensor"),
        (([0, 0, 0], None, [1]), "TypeError: dynamic_dims: expected a list, given None"),
        (([0, 0, 0], [], "1"), "TypeError: scalar_args: expected a list, given str"),
    ],
)
def test_wrong_arguments_are_named(add: Add, lists: tuple[Any, ...], error: str) -> None:
    """With list and index, where upstream skips them and passes garbage."""
    with pytest.raises((TypeError, ValueError)) as raised:
        launch(add.info(), *lists)
    kind, _, text = error.partition(": ")
    assert (raised.type.__name__, str(raised.value)) == (kind, f"kernel 'vector_add', {text}")


@pytest.mark.parametrize(("tensors", "dims", "scalars"), [(3, 0, 0), (3, 0, 2), (2, 0, 1), (3, 1, 1), (4, 0, 1)])
def test_number_of_arguments(add: Add, tensors: int, dims: int, scalars: int) -> None:
    """Checked by their size."""
    with pytest.raises(ValueError, match=r"kernel 'vector_add' takes 28 bytes of arguments .*, given \d+: "):
        launch(add.info(), [0] * tensors, [0] * dims, [0] * scalars)


def test_tensors_where_pointers_are(add: Add) -> None:
    """Then they are checked: strides, device, bounds, overlap, gradients."""
    launch(add.info(), add.tensors, [], [1000])
    add.check()
    launch(add.info(), [add.a, add.addresses[1], add.c], [], [1000])
    add.check()
    a, b, c = add.tensors
    with pytest.raises(ValueError, match=r"tensors\[2\]: expected a contiguous tensor, given shape \[500\]"):
        launch(add.info(), [a, b, c[::2]], [], [500])
    with pytest.raises(KernelFault, match="0 bytes past the end of argument 2"):
        launch(add.info(), [a, b, torch.empty(500)], [], [1000])
    with pytest.raises(
        TypeError, match=r"tensors\[0\]: expected a plain tensor on the CPU or a GPU, given a Tensor on meta"
    ):
        launch(add.info(), [tensor.to("meta") for tensor in add.tensors], [], [1000])
    with pytest.raises(RuntimeError, match="requires grad"):
        launch(add.info(), [a.requires_grad_(), b, c], [], [1000])
    gemm = load_gemm()
    x = torch.randn(64, 64).half()
    out = torch.zeros(64, 64)
    with pytest.raises(ValueError, match="which the kernel writes, shares memory with"):
        launch(gemm, [x, out, out], [64, 64, 64], [])
    version = out._version
    launch(gemm, [x, x, out], [64, 64, 64], [])
    assert out._version > version  # autograd finds out
    with pytest.raises(TypeError, match=r"tensors\[3\]: given a tensor, but the kernel .* has no pointer there"):
        launch(gemm, [x, x, out, x], [64, 64], [])


def load_gemm() -> KernelLaunchInfo:
    function = wave_runtime.load_binary(str(GEMM), "gemm")[1]
    return KernelLaunchInfo(0, function, 9216, 1, 1, 1, 128, 2, 1, 1, 1, 1)


def test_stored_values_are_the_kernels() -> None:
    """A launch as wave-lang makes it: pointers in a vector, three dynamic dimensions, no scalars."""
    a, b, c = torch.randn(50, 40).half(), torch.randn(60, 40).half(), torch.zeros(50, 60)
    launch(load_gemm(), Int64Vector([t.data_ptr() for t in (a, b, c)]), Int64Vector([50, 60, 40]), [])
    torch.testing.assert_close(c, a.float() @ b.float().T, rtol=1e-5, atol=1e-3)


def test_writes_to_tensors_that_the_binary_calls_read_only(tmp_path: Path) -> None:
    """So does Wave's compiler where nothing but atomic operations changes a tensor."""
    code = (EXAMPLES / "binaries" / "topk_f16_64x2.hsaco").read_bytes()
    path = tmp_path / "topk.hsaco"
    path.write_bytes(code.replace(b"\xaawrite_only", b"\xd9\x09read_only", 1))  # in MessagePack, of equal length
    binary, function = wave_runtime.load_binary(path, "topk")
    assert "*const, *const, *, " in wave_runtime.load(path)["topk"].signature
    a, values, indices = torch.randn(1, 64).half(), torch.zeros(1, 2).half(), torch.zeros(1, 2, dtype=torch.int32)
    lazy = torch._lazy_clone(values)  # has memory of its own from the launch on
    launch(KernelLaunchInfo(gpu_func=function, blockX=64), [a, lazy, indices], [1], [])
    assert torch.equal(lazy, a.topk(2).values)
    assert not values.any()
    del binary


def test_cluster(add: Add) -> None:
    """A product of extents above 1 asks for one, which gfx942 has not."""
    for none in (0, 1):
        launch(add.info(clusterDimX=none, clusterDimY=none, clusterDimZ=none), add.addresses, [], [1000])
        add.check()
    with pytest.raises(ValueError, match=r"cluster=\(2, 1, 1\): cpu \(emulator\) has no clusters"):
        launch(add.info(clusterDimX=2), add.addresses, [], [1000])


def test_load_hip_functions_may_be_called_or_not() -> None:
    """And again; launches find what they need."""
    assert [wave_runtime.load_hip_functions() for _ in range(2)] == [None, None]  # type: ignore[func-returns-value]
    code = "import wave_runtime; wave_runtime._C.set_host_driver('hip'); wave_runtime.load_hip_functions()"
    environment = {**os.environ, "WAVE_RUNTIME_LIBHIP": "/none/libamdhip64.so", "PYTHONPATH": str(ROOT)}
    done = warm_python.run("-c", code, env=environment)
    assert "RuntimeError: Failed to load libamdhip64.so: " in done.stderr
    assert "/none/libamdhip64.so: cannot open" in done.stderr


def test_no_order_of_calls_crashes(add: Add) -> None:
    """Launches without load_hip_functions, of what was never loaded, and after the capsule is gone."""
    for function in (0, 1, add.function + 1, (1 << 64) - 1):
        with pytest.raises(ValueError, match=r"gpu_func 0x\w+ is no function that load_binary\(\) has returned"):
            launch(add.info(gpu_func=function), add.addresses, [], [1000])
    with pytest.raises(TypeError, match="launch: expected a KernelLaunchInfo, given NoneType"):
        launch(None, add.addresses, [], [1000])  # type: ignore[arg-type]
    del add.binary
    launch(add.info(), add.addresses, [], [1000])
    add.check()


class ShrinksList:
    """An integer that empties the list that it is in."""

    def __init__(self, numbers: list[Any]) -> None:
        self.numbers = numbers

    def __index__(self) -> int:
        self.numbers.clear()
        return 1000


def test_lists_that_change_while_they_are_read(add: Add) -> None:
    scalars: list[Any] = []
    scalars.append(ShrinksList(scalars))
    launch(add.info(), add.addresses, [], scalars)
    add.check()


class Emptying:
    """A sequence that empties a list when its items are asked for."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        self.numbers.clear()
        raise IndexError


def test_a_list_that_another_sequence_empties(add: Add) -> None:
    """Before anything is read of it: what it has then is what the launch is given."""
    addresses = add.addresses
    with pytest.raises(ValueError, match=r"takes 28 bytes of arguments .*, given 4: 0 tensors of 8 bytes, 1 scalars"):
        launch(add.info(), addresses, Emptying(addresses), [1000])  # type: ignore[arg-type]
    assert addresses == []


# Callers.


def test_our_package_wins_over_upstreams_module() -> None:
    """Both distributions are called wave_runtime: see tests/test_import.py, too."""
    assert wave_runtime.__file__ is not None
    assert wave_runtime.__file__.endswith("__init__.py")


def test_dynamic_strides() -> None:
    """Of later wave-lang: leading strides behind the dimensions, and tensors that are not contiguous."""
    binary, function = wave_runtime.load_binary(str(KERNELS), "copy_large")
    base = torch.zeros(400, 2, dtype=torch.int32)
    out = base[:, 0]
    info = KernelLaunchInfo(gpu_func=function, blockX=64)
    launch(info, [out], Int64Vector(range(198)), [], Int64Vector(out.stride() * 2))
    assert base.flatten()[:400].view(torch.int64).tolist() == [*range(198), 2, 2]
    with pytest.raises(ValueError, match=r"tensors\[0\]: expected a contiguous tensor"):
        launch(info, [out], range(200), [])
    del binary


def test_c_entry_points_are_exported() -> None:
    """wave_load_kernel and wave_launch_kernel: see tests/upstream/test_c_entry_points.py."""
    library = Path(_C.__file__ or "").parent / "libwave_runtime.so"
    exported = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in exported.splitlines()}
    assert {"load_functions", "wave_load_kernel", "wave_launch_kernel"} <= names

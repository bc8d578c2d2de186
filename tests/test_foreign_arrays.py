"""Arrays of other libraries as arguments, structures by value, and launches on a stream that the caller names."""

from __future__ import annotations

import contextlib
import ctypes
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import EXAMPLES, LoadKernel
from torch.utils.flop_counter import FlopCounterMode

import wave_runtime

N = 300
GRID = {"grid": 2, "block": 256}

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def kernel() -> wave_runtime.Kernel:
    signature = {"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"}
    return wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco", signature=signature)["vector_add"]


@pytest.fixture
def arrays() -> Arrays:
    a, b = np.arange(N, dtype=np.float32), np.full(N, 0.5, np.float32)
    return a, b, np.zeros(N, np.float32)


class Exported:
    """What has no more than __dlpack__."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def __dlpack__(self, **keywords: object) -> object:
        return self._tensor.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()


def test_the_kernel_writes_the_array_itself(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    a, b, c = arrays
    kernel(a, b, c, N, **GRID)
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("mode", [FlopCounterMode(display=False), torch.device("cpu")], ids=["flops", "device"])
def test_under_a_mode(kernel: wave_runtime.Kernel, arrays: Arrays, mode: Any) -> None:
    """The call is an operator there."""
    a, b, c = arrays
    with mode:
        kernel(a, Exported(torch.from_numpy(b)), c, N, **GRID)
    np.testing.assert_array_equal(c, a + b)


def test_beside_tensors_and_what_has_dlpack(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    a, b, c = arrays
    kernel(a, torch.from_numpy(b), Exported(torch.from_numpy(c)), np.int64(N), **GRID)
    np.testing.assert_array_equal(c, a + b)


def test_bound_and_changed(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    a, b, c = arrays
    bound = kernel.bind(a, b, c, N, **GRID)
    bound()
    np.testing.assert_array_equal(c, a + b)
    bound["b"] = twice = 2 * b
    bound()
    np.testing.assert_array_equal(c, a + twice)
    assert bound["c"].data_ptr() == c.ctypes.data


def test_infer_writes(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    assert kernel.infer_writes(*arrays, N, **GRID).writes == ("c",)
    assert not arrays[2].any(), "it runs on copies"


def test_read_only(kernel: wave_runtime.Kernel, arrays: Arrays, recwarn: pytest.WarningsRecorder) -> None:
    a, b, c = arrays
    a.flags.writeable = False
    kernel(a, b, c, N, **GRID)
    np.testing.assert_array_equal(c, a + b)
    assert not a.flags.writeable
    assert not recwarn.list
    with pytest.raises(ValueError, match="argument 2 'c': the array is read-only, and the kernel may write it"):
        kernel(b, b, a, N, **GRID)


def test_overlaps_are_seen(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    a, _, c = arrays
    with pytest.raises(ValueError, match="argument 2 'c', which the kernel writes, shares memory with argument 1 'b'"):
        kernel(a, c, c, N, **GRID)


def test_bounds_are_those_of_the_array(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    a, b, _ = arrays
    with pytest.raises(wave_runtime.KernelFault, match="argument 2 'c'"):
        kernel(a, b, np.zeros(N - 1, np.float32), N, **GRID)


@pytest.mark.parametrize(
    ("array", "error", "text"),
    [
        (np.zeros(N), TypeError, "expected a tensor for \\*f32, given one of dtype float64"),
        (np.zeros(N, np.float32)[::-1], ValueError, "numpy.ndarray cannot be passed .* negative"),
        (np.zeros(2 * N, np.float32)[::2], ValueError, "expected a contiguous tensor"),
        (np.zeros(N, object), TypeError, "numpy.ndarray cannot be passed .* numpy.object_"),
        (np.zeros(N, ">f4"), ValueError, "numpy.ndarray cannot be passed .* byte order"),
        ([1.0], TypeError, "expected a tensor \\(\\*f32\\), given list"),
        (np.float32(1), TypeError, "expected a tensor \\(\\*f32\\), given numpy.float32"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")) or None,
)
def test_refused(kernel: wave_runtime.Kernel, arrays: Arrays, array: object, error: type, text: str) -> None:
    a, b, _ = arrays
    with pytest.raises(error, match=f"argument 2 'c': .*{text}|argument 2 'c': {text}"):
        kernel(a, b, array, N, **GRID)


def test_what_exports_nothing(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    class Broken(Exported):
        def __dlpack__(self, **keywords: object) -> object:
            raise BufferError("of no use")

    with pytest.raises(ValueError, match=r"argument 0 'a': the .*Broken cannot be passed .*: of no use"):
        kernel(Broken(torch.ones(N)), *arrays[1:], N, **GRID)


def test_compiled_code_takes_tensors(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    with pytest.raises(Exception, match="expected a tensor"):
        torch.compile(lambda: kernel(Exported(torch.ones(N)), *arrays[1:], N, **GRID), fullgraph=True)()


# NumPy's types that torch has, bits of every pattern: a kernel that copies bytes finds what the array has.
TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", [("x", "f4"), ("n", "i2")], "V6"]


@pytest.fixture(scope="module")
def copy(language: LoadKernel) -> wave_runtime.Kernel:
    return language("argument_types", "*, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, bytes[8]")


@given(st.sampled_from(TYPES), st.binary(min_size=8, max_size=8))
def test_every_type_of_numpy(copy: wave_runtime.Kernel, dtype: object, value: bytes) -> None:
    """The kernel stores its arguments, 13 of at most 8 bytes, side by side: into arrays of any type."""
    size = np.dtype(dtype).itemsize
    out = np.zeros(-(-104 // size), dtype)
    copy(out, *range(8), True, 0.0, 0.0, 1.5, value, grid=1, block=1)
    assert out.tobytes()[88:104] == struct.pack("d", 1.5) + value


@pytest.mark.needs("wave-lang")  # which brings ml_dtypes
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
def test_types_of_ml_dtypes(name: str) -> None:
    import ml_dtypes

    from wave_runtime._foreign import tensor_over

    array = np.arange(8).astype(getattr(ml_dtypes, name))
    tensor = tensor_over(array, "", False)
    assert tensor is not None
    assert tensor.dtype is getattr(torch, name)
    assert tensor.data_ptr() == array.ctypes.data
    assert tensor.float().tolist() == array.astype(np.float32).tolist()


class Pair(ctypes.Structure):
    _fields_ = (("first", ctypes.c_float), ("second", ctypes.c_int32))


@pytest.mark.parametrize(
    "structure",
    [
        Pair(1.5, -2),
        np.array((1.5, -2), [("first", "f4"), ("second", "i4")]),
        np.array([(1.5, -2)], [("first", "f4"), ("second", "i4")])[0],
        bytearray(struct.pack("<fi", 1.5, -2)),
        memoryview(struct.pack("<fi", 1.5, -2)),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("mode", [contextlib.nullcontext(), FlopCounterMode(display=False)], ids=["plain", "mode"])
def test_structures_by_value(copy: wave_runtime.Kernel, structure: object, mode: Any) -> None:
    out = torch.zeros(104, dtype=torch.uint8)
    with mode:
        copy(out, *range(8), True, 0.0, 0.0, 0.0, structure, grid=1, block=1)
    assert bytes(out[96:].tolist()) == struct.pack("<fi", 1.5, -2)


def test_bytes_that_lie_apart(copy: wave_runtime.Kernel) -> None:
    every_other = memoryview(bytes(16))[::2]
    with pytest.raises(BufferError):
        copy(torch.zeros(104, dtype=torch.uint8), *range(8), True, 0.0, 0.0, 0.0, every_other, grid=1, block=1)


class OfAnotherLibrary:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 77


class OfTorch:
    cuda_stream = 55


@pytest.mark.parametrize(("stream", "handle"), [(99, 99), (OfAnotherLibrary(), 77), (OfTorch(), 55), (None, 0), (0, 0)])
def test_a_stream(kernel: wave_runtime.Kernel, arrays: Arrays, stream: object, handle: int) -> None:
    """On the emulator, which has no streams, what hooks are told of shows it."""
    seen = []
    a, b, c = arrays
    bound = kernel.bind(a, b, c, N, **GRID, stream=stream)
    with wave_runtime.hooks.launch_hook(enter=lambda event: seen.append(event.stream)):
        kernel(a, b, c, N, **GRID, stream=stream)
        bound()
        wave_runtime.sequence([bound, kernel.bind(a, b, c, N, **GRID), bound])()
        bound.update(stream=12)
        bound()
    assert seen == [handle, handle, handle, 0, handle, 12]


def test_a_stream_that_is_none(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    with pytest.raises(TypeError, match=r"kernel 'vector_add', stream: expected a torch.cuda.Stream, .*, given str"):
        kernel(*arrays, N, **GRID, stream="0")
    with pytest.raises(TypeError, match="stream= is said at each launch"):
        kernel.occupancy("cpu", block=64, stream=1)


def test_operators_take_the_current_stream(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    with FlopCounterMode(display=False), pytest.raises(ValueError, match="stream= is for plain calls"):
        kernel(*arrays, N, **GRID, stream=1)


def test_emulated_streams(kernel: wave_runtime.Kernel, arrays: Arrays) -> None:
    a, b, c = arrays
    with wave_runtime.emulate("gfx942"):
        kernel(a, b, c, N, **GRID, stream=torch.cuda.Stream())
    np.testing.assert_array_equal(c, a + b)


def test_code_as_text(kernel: wave_runtime.Kernel) -> None:
    (target,) = kernel.asm
    assert target == "gfx942"
    module = wave_runtime.load(EXAMPLES / "binaries" / "basics.hsaco")
    assert kernel.asm[target].startswith("vector_add:\n")
    assert "global_store_dword" in kernel.asm[target]
    assert module.disassemble("vector_add") == kernel.asm[target]
    assert kernel.asm[target] in module.disassemble()
    with pytest.raises(ValueError, match="no kernel 'vector_sub' in this code object"):
        module.disassemble("vector_sub")
    for by_target in (kernel.asm, kernel.coverage()):
        with pytest.raises(
            KeyError, match=r"'vector_add': nothing for the target 'gfx90a'; its targets are \['gfx942'\]"
        ):
            by_target["gfx90a"]


def test_code_of_several_targets() -> None:
    files = sorted((Path(__file__).parent / "code_object" / "nvidia").glob("zstd.fatbin"))
    assert files
    module = wave_runtime.load(files[0])
    texts = module[module.kernels[0]].asm
    assert all(".entry" in text for text in texts.values()), "of NVIDIA's code PTX is text"
    with pytest.raises(ValueError, match="disassembling is for AMD code objects; this file holds"):
        module.disassemble()


def test_coverage_of_a_kernel(kernel: wave_runtime.Kernel) -> None:
    report = kernel.coverage()["gfx942"]
    assert report["instructions"] == kernel.asm["gfx942"].count("\n  0000")
    assert report["unsupported"] == {}

"""Modules, kernels, and signatures as callers give them."""

from __future__ import annotations

import copy
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import wave_runtime

KERNELS = Path(__file__).parent.parent / "examples" / "kernels" / "binaries"
BASICS = KERNELS / "basics.hsaco"
GEMM = KERNELS / "gemm_f16_16x16x16.hsaco"


def test_module() -> None:
    module = wave_runtime.load(BASICS)
    assert module.kernels == ("vector_add", "matmul_naive", "matmul_tiled", "collatz", "histogram")
    assert module.target == "gfx942"
    assert list(module) == list(module.kernels)
    assert len(module) == 5
    assert "collatz" in module
    assert "gemm" not in module
    assert module["collatz"] is module["collatz"]
    assert (
        repr(module) == "<wave_runtime.Module for gfx942: vector_add, matmul_naive, matmul_tiled, collatz, histogram>"
    )


def test_path_bytes_and_string_are_the_same() -> None:
    handles = {wave_runtime.load(source)["collatz"].handle for source in (BASICS, str(BASICS), BASICS.read_bytes())}
    assert len(handles) == 1


def test_unknown_kernel_lists_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"no kernel 'gemm'.*vector_add.*histogram"):
        wave_runtime.load(BASICS)["gemm"]


def test_a_kernel_is_found_by_its_name() -> None:
    with pytest.raises(TypeError, match=r"expected the name of a kernel, given int; the kernels are \['vector_add'"):
        wave_runtime.load(BASICS)[0]  # type: ignore[index]


def test_a_number_is_no_path() -> None:
    file = os.open(BASICS, os.O_RDONLY)
    with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object, not int"):
        wave_runtime.load(file)  # type: ignore[arg-type]
    os.close(file)


def test_missing_file() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.hsaco"):
        wave_runtime.load("nowhere.hsaco")


def test_target_that_the_file_does_not_have() -> None:
    with pytest.raises(ValueError, match=r"gfx942.*gfx90a|gfx90a.*gfx942"):
        wave_runtime.load(BASICS, target="gfx90a")


def test_signature_from_the_binary() -> None:
    kernel = wave_runtime.load(GEMM)["gemm"]
    assert kernel.signature == "*const, *const, *, b32, b32, b32, b32, b32, b32"
    assert kernel.writes == (2,)
    assert kernel.block == (128, 2, 1)


def test_compilers_without_access_metadata_leave_mutability_unknown() -> None:
    kernel = wave_runtime.load(BASICS)["vector_add"]
    assert kernel.signature == "*, *, *, b32"
    assert kernel.writes is None
    assert kernel.block is None


def test_signature_given() -> None:
    kernel = wave_runtime.load(BASICS, signature={"vector_add": " * f32 const,*f32 const , c: *f32, n:i32"})[
        "vector_add"
    ]
    assert kernel.signature == "*f32 const, *f32 const, c: *f32, n: i32"
    assert kernel.writes == (2,)


def test_signature_joins_halves_of_64_bit_numbers() -> None:
    kernel = wave_runtime.load(GEMM, signature="*f16 const, *f16 const, *f32, i64, i64, i64")["gemm"]
    assert kernel.signature == "*f16 const, *f16 const, *f32, i64, i64, i64"


def test_signature_goes_on_in_padding() -> None:
    """Of x, eight bytes with two words of padding behind; y, the last argument, has none."""
    code = Path(__file__).parent / "code_object" / "corpus" / "asm_args_pad.co"
    kernel = wave_runtime.load(code, signature={"k": "bytes[12], *"})["k"]
    assert kernel.signature == "x: bytes[12], y: *"
    with pytest.raises(ValueError, match=r"parameter 0 \(bytes\[20\], 20 bytes\) meets 24 bytes at offset 0"):
        wave_runtime.load(code, signature={"k": "bytes[20], *"})["k"]
    with pytest.raises(ValueError, match=r"parameter 1 \(bytes\[12\], 12 bytes\) meets 8 bytes at offset 16"):
        wave_runtime.load(code, signature={"k": "*, bytes[12]"})["k"]


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("*f32, *f32, *f32, f33", r"position 18: unknown type 'f33'; the types are i8, .*f4e2m1fn_x2, void"),
        ("*f32, *f32, *f32,", r"position 17: expected a type"),
        ("*f32 *f32", r"expected 'const', ',' or the end|expected ',' or the end"),
        ("*f32, *f32, *f32, bytes[0]", r"expected a size from 1 to 4096"),
        ("*f32, *f32, *f32, void", r"unknown type 'void'"),
        (
            "*f32, *f32, *f32",
            r"kernel 'vector_add': the argument at offset 24 has no parameter; its metadata lists\n  offset 0",
        ),
        ("*f32, *f32, *f32, i32, i32", r"parameter 4 \(i32\) is one too many"),
        ("*f32, *f32, *f32, i64", r"parameter 3 \(i64, 8 bytes\) meets 4 bytes at offset 24"),
    ],
)
def test_signature_that_does_not_fit(signature: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wave_runtime.load(BASICS, signature={"vector_add": signature})["vector_add"]


def test_an_empty_tensor_passes_a_null_pointer() -> None:
    kernel = wave_runtime.load(BASICS, signature={"vector_add": "*f32 const, *f32 const, *f32, i32"})["vector_add"]
    a, b, nothing = torch.ones(64), torch.ones(64), torch.ones(64)[:0]
    with pytest.raises(TypeError, match="given None: an empty tensor passes a null pointer"):
        kernel(a, b, None, 64, grid=1, block=64)
    with pytest.raises(wave_runtime.KernelFault, match=r"address 0x0$"):
        kernel(a, b, nothing, 64, grid=1, block=64)


def test_options_for_several_kernels_go_by_name() -> None:
    with pytest.raises(ValueError, match=r"signature= must be a dict from kernel names"):
        wave_runtime.load(BASICS, signature="*f32")
    with pytest.raises(ValueError, match=r"writes= names \['nothing'\]"):
        wave_runtime.load(BASICS, writes={"nothing": [0]})
    with pytest.raises(ValueError, match=r'strides= must be "contiguous" or "any", given "none"'):
        wave_runtime.load(BASICS, strides="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"signature": {"vector_add": "a: *f99"}}, ValueError, "unknown type 'f99'"),
        ({"signature": {"vector_add": "*f32, *f32"}}, ValueError, "has no parameter"),
        ({"signature": {"vector_add": "a: *f32, a: *f32, b: *f32, n: i32"}}, ValueError, "has the name 'a' twice"),
        ({"signature": 5}, TypeError, "signature= must be a str, or a dict from kernel names, given int"),
        ({"writes": {"vector_add": [7]}}, ValueError, "writes= names argument 7"),
        ({"writes": {"vector_add": 5}}, TypeError, "writes= must be a list of indices and names, given int"),
        ({"writes": {"vector_add": "c"}}, TypeError, "writes= must be a list of indices and names, given str"),
    ],
)
def test_options_that_do_not_fit_are_errors_of_load(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wave_runtime.load(BASICS, **options)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_errors_of_calls_say_what_to_do() -> None:
    signature = "a: *u32 const, b: *f32 const, c: *f32, n: i32"
    kernel = wave_runtime.load(BASICS, signature={"vector_add": signature})["vector_add"]
    a, b = torch.ones(64, dtype=torch.uint32), torch.ones(64)
    launch: Any = {"grid": 1, "block": 64}
    with pytest.raises(TypeError, match="given 3: 'n' is a parameter, which are all passed by place, not by name"):
        kernel(a, b, b, n=64, **launch)
    with pytest.raises(TypeError, match=r"unexpected keyword 'n'.*; parameters are passed by place"):
        kernel(a, b, b.clone(), 64, n=64, **launch)
    with pytest.raises(TypeError, match=r"of dtype int32: pass tensor.view\(torch.uint32\), which has the same bits"):
        kernel(a.view(torch.int32), b, b.clone(), 64, **launch)
    with pytest.raises(TypeError, match=r"of dtype float64: pass one of torch\.float32, or correct the signature"):
        kernel(a, b.double(), b.clone(), 64, **launch)
    with pytest.raises(TypeError, match="argument 1: expected a strided tensor, given a nested one"):
        kernel(a, torch.nested.nested_tensor([b]), b.clone(), 64, **launch)


def test_a_gpu_that_there_is_not() -> None:
    kernel = wave_runtime.load(BASICS, writes={"vector_add": [2]})["vector_add"]
    if torch.cuda.is_available():
        return  # there is one
    for call in (lambda: kernel.preload("cuda"), lambda: kernel(*[torch.ones(1)] * 3, 1, grid=1, device="cuda")):
        with pytest.raises(RuntimeError, match='device "cuda": torch finds no GPU; "cpu" is the emulator'):
            call()


def test_writes() -> None:
    kernel = wave_runtime.load(BASICS, writes={"vector_add": [2]})["vector_add"]
    assert kernel.signature == "*const, *const, *, b32"
    assert kernel.writes == (2,)
    named = wave_runtime.load(
        BASICS, signature={"vector_add": "a:*f32, b:*f32, c:*f32, n:i32"}, writes={"vector_add": ["c"]}
    )
    assert named["vector_add"].signature == "a: *f32 const, b: *f32 const, c: *f32, n: i32"
    for wrong, message in (
        ([3], r"argument 3 \(b32\), which is not a pointer"),
        ([4], "names argument 4, but kernel 'vector_add' has 4"),
        (["c"], "names 'c', but kernel 'vector_add' has 0 arguments of that name"),
    ):
        with pytest.raises(ValueError, match=message):
            wave_runtime.load(BASICS, writes={"vector_add": wrong})["vector_add"]


def test_handles_tell_overrides_apart() -> None:
    plain = wave_runtime.load(BASICS)["vector_add"]
    assert re.fullmatch(r"vector_add@[0-9a-f]{16}", plain.handle)
    assert wave_runtime.load(BASICS)["vector_add"] == plain
    assert hash(wave_runtime.load(BASICS)["vector_add"]) == hash(plain)
    overrides = [{"writes": {"vector_add": [2]}}, {"writes": {"vector_add": [0, 2]}}, {"strides": "any"}]
    kernels = [wave_runtime.load(BASICS, **options)["vector_add"] for options in overrides]  # type: ignore[arg-type]
    assert len({plain.handle, *(kernel.handle for kernel in kernels)}) == 4
    assert all(kernel != plain for kernel in kernels)


def test_pickle_and_copy_keep_the_handle() -> None:
    kernel = wave_runtime.load(BASICS, writes={"vector_add": [2]}, strides="any")["vector_add"]
    assert copy.deepcopy(kernel) == kernel
    assert copy.copy(kernel) == kernel
    code = (
        "import pickle, sys, torch, wave_runtime\n"
        "kernel = pickle.load(sys.stdin.buffer)\n"
        "a = torch.ones(8); c = torch.zeros(8)\n"
        "kernel(a, a, c, 8, grid=1, block=64)\n"
        "print(kernel.handle, int(c.sum()), kernel.strides)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(kernel), capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[0] == f"{kernel.handle} 16 any"


def test_modules_are_pickled_and_copied_with_their_code(tmp_path: Path) -> None:
    """The file need not be there where they are unpickled, nor torch.save's reader have read it."""
    file = tmp_path / "basics.hsaco"
    file.write_bytes(BASICS.read_bytes())
    module = wave_runtime.load(file, signature={"vector_add": "a: *f32 const, b: *f32 const, c: *f32, n: i32"})
    kernel = module["vector_add"]
    pickled = pickle.dumps(module)
    file.unlink()
    for other in (copy.deepcopy(module), copy.copy(module), pickle.loads(pickled)):
        assert repr(other) == repr(module)
        assert other["vector_add"] == kernel
    code = (
        "import pickle, sys, torch, wave_runtime\n"
        "kernel = pickle.load(sys.stdin.buffer)['vector_add']\n"
        "a = torch.ones(8); c = torch.zeros(8)\n"
        "kernel(a, a, c, 8, grid=1, block=64)\n"
        "print(kernel.handle, int(c.sum()))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[0] == f"{kernel.handle} 16"


def test_compiled_code_outlives_the_python_objects() -> None:
    kernel = wave_runtime.load(BASICS, writes={"vector_add": [2]})["vector_add"]
    handle = kernel.handle
    del kernel
    a, c = torch.ones(8), torch.zeros(8)
    torch.ops.wave.launch(handle, [a, a], [c], [8], [], [1], [64])
    assert c.sum() == 16


def test_info() -> None:
    info = wave_runtime.load(GEMM)["gemm"].info
    assert info["name"] == "gemm"
    assert info["wavefront_size"] == 64
    assert info["registers"]["vgprs"] > 0
    assert info["shared_memory"] == 9216
    assert info["occupancy"]["limited_by"]

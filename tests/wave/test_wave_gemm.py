"""Matrix products: matrix instructions, types, schedules, sizes and options of the compiler."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from catalog.gemm import batched_gemm, gelu, gemm, gemm_reference, linear, operands
from torch.nn import functional
from wave_support import Compile, grid

F16 = ("F32_16x16x16_F16", "F32_32x32x8_F16", "F32_16x16x32_K8_F16", "F32_32x32x16_K8_F16")
F8 = ("F32_16x16x32_F8", "F32_32x32x16_F8", "F32_16x16x32_K4_F8", "F32_32x32x16_K4_F8")
I8 = ("I32_16x16x32_I8", "I32_32x32x16_I8")
INSTRUCTIONS = [
    *((mma, "f16") for mma in F16),
    *((mma, "bf16") for mma in F16),
    *((mma, "f8e4m3fnuz") for mma in F8),
    *((mma, "f8e5m2fnuz") for mma in F8),
    *((mma, "i8") for mma in I8),
]
SCHEDULES = ("NONE", "PREFETCH", "MODULO", "FOUR_STAGE")
SHAPES = ((128, 64, 256), (65, 33, 200))


def check(compile_wave: Compile, shape: tuple[int, int, int], dtype: str, arguments: str, *, dynamic: bool) -> None:
    total = ", total=tkl.i32" if dtype == "i8" else ""
    path = compile_wave(f"gemm.gemm({arguments}, dtype=tkl.{dtype}{total})")
    a, b = operands(dtype)(*shape)
    torch.testing.assert_close(
        gemm(path, dynamic=dynamic, dtype=dtype)(a, b), gemm_reference(a, b), rtol=1e-5, atol=1e-3
    )


@pytest.mark.parametrize(("instruction", "schedule", "shape"), grid(product(INSTRUCTIONS, SCHEDULES, SHAPES)))
def test_one_size(
    compile_wave: Compile, instruction: tuple[str, str], schedule: str, shape: tuple[int, int, int]
) -> None:
    mma, dtype = instruction
    arguments = f"MMAType.{mma}, {shape}, schedule=SchedulingType.{schedule}, block_k=64"
    check(compile_wave, shape, dtype, arguments, dynamic=False)


@pytest.mark.parametrize(("instruction", "buffer"), grid(product(INSTRUCTIONS, (False, True))))
def test_any_size(compile_wave: Compile, instruction: tuple[str, str], buffer: bool) -> None:
    mma, dtype = instruction
    for shape in SHAPES:
        check(compile_wave, shape, dtype, f"MMAType.{mma}, use_buffer_ops={buffer}", dynamic=True)


@pytest.mark.parametrize(("shape"), [(128, 128, 128), (100, 70, 90)], ids=str)
@pytest.mark.parametrize(
    ("options"),
    grid(
        (text,)
        for text in (
            "block_k=16",
            "use_buffer_ops=True, schedule=SchedulingType.PREFETCH",
            "use_global_to_shared=True",
            "use_scheduling_barriers=True, schedule=SchedulingType.MODULO",
            "linearize_shared_access=True",
            "use_fast_math=True, scalarize_packed_math=True",
            "optimization_level=False",
            "waves_per_eu=2, denorm_fp_math_f32='preserve-sign'",
            "minimize_shared_allocs=False, reorder_allocs=False",
            "codeobj='4'",
        )
    ),
)
def test_options(compile_wave: Compile, options: str, shape: tuple[int, int, int]) -> None:
    check(compile_wave, shape, "f16", f"MMAType.F32_16x16x16_F16, {shape}, {options}", dynamic=False)


@pytest.mark.parametrize(
    ("mma", "tile"), grid((("F32_16x16x16_F16", 32), ("F32_16x16x16_F16", 128), ("F32_32x32x8_F16", 128)))
)
def test_tiles(compile_wave: Compile, mma: str, tile: int) -> None:
    run = gemm(compile_wave(f"gemm.gemm(MMAType.{mma}, tile={tile})"), dynamic=True, tile=tile)
    for shape in SHAPES:
        a, b = operands("f16")(*shape)
        torch.testing.assert_close(run(a, b), gemm_reference(a, b), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("mma", grid((mma,) for mma in F16))
def test_batched(compile_wave: Compile, mma: str) -> None:
    run = batched_gemm(compile_wave(f"gemm.batched_gemm(MMAType.{mma})"))
    for batch, m, n, k in ((2, 64, 64, 64), (3, 70, 33, 50)):
        a, b = torch.randn(batch, m, k).half(), torch.randn(batch, n, k).half()
        torch.testing.assert_close(run(a, b), a.float() @ b.float().mT, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("mma", "dtype", "activation"), grid(product(F16[:2], ("f16", "bf16"), ("gelu", "silu", "relu", "softplus")))
)
def test_linear(compile_wave: Compile, mma: str, dtype: str, activation: str) -> None:
    tile = 32 if "16x16" in mma else 64
    path = compile_wave(f"gemm.linear(MMAType.{mma}, elementwise.{activation}, dtype=tkl.{dtype}, tile={tile})")
    run = linear(path, dtype=dtype, tile=tile)
    reference = {"gelu": gelu, "silu": functional.silu, "relu": torch.relu, "softplus": functional.softplus}[activation]
    for m, n, k in ((64, 128, 64), (7, 130, 100)):
        a, b = operands(dtype)(m, n, k)
        b, bias = b / k**0.5, torch.randn(n)
        expected = reference(gemm_reference(a, b) + bias).to(a.dtype)
        torch.testing.assert_close(run(a, b, bias), expected, rtol=2 * torch.finfo(a.dtype).eps, atol=1e-5)

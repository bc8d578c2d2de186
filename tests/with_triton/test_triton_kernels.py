"""Triton kernels on the emulator, beside torch."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import wave_runtime
from wave_runtime import _C

EVERY = sorted(_C.emulator_processors())
REFUSED = [name for name in EVERY if name.startswith("gfx103")]  # for which Triton 3.9 compiles nothing
PROCESSORS = [name for name in EVERY if name not in REFUSED]
on_cdna = pytest.mark.parametrize(
    "target", ["gfx90a", "gfx942", "gfx950"]
)  # whose matrix and buffer instructions differ


@pytest.fixture
def target() -> str:
    """The processor that is emulated, unless a test is parametrised with others."""
    return "gfx942"


@pytest.fixture
def kernels(target: str) -> Iterator[Any]:
    """The module of kernels, which imports Triton, with a processor emulated."""
    import triton_kernels

    with wave_runtime.emulate(target):
        yield triton_kernels


def check_add(kernels: Any, n: int = 1000) -> None:
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    kernels.add[(-(-n // 256),)](x, y, out, n, BLOCK=256)
    assert torch.equal(out, x + y)


@pytest.mark.parametrize("other", PROCESSORS)
def test_add(kernels: Any, other: str) -> None:
    """For each processor in one process: what is compiled for one is not taken for another."""
    with wave_runtime.emulate(other):
        check_add(kernels)
        compiled = kernels.add[(4,)](*torch.ones(3, 64), 64, BLOCK=64)
        assert compiled.metadata.target.arch == other
        assert "buffer_load" in compiled.asm["amdgcn"]
    check_add(kernels)


@pytest.mark.parametrize("target", REFUSED)
def test_a_processor_that_triton_refuses(target: str, kernels: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with wave_runtime.emulate(target), pytest.raises(RuntimeError):
        check_add(kernels)
    assert f"unsupported target: '{target}'" in capfd.readouterr().err


@on_cdna
def test_softmax(kernels: Any) -> None:
    x = torch.randn(16, 200)
    out = torch.empty_like(x)
    kernels.softmax[(16,)](x, out, x.stride(0), 200, BLOCK=256)
    torch.testing.assert_close(out, torch.softmax(x, 1))


@on_cdna
def test_layer_norm(kernels: Any) -> None:
    x, weight, bias = torch.randn(8, 100), torch.randn(100), torch.randn(100)
    out = torch.empty_like(x)
    kernels.layer_norm[(8,)](x, weight, bias, out, 100, 1e-5, BLOCK=128)
    torch.testing.assert_close(out, torch.nn.functional.layer_norm(x, (100,), weight, bias, 1e-5))


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_matmul_of_rdna(kernels: Any, target: str, dtype: torch.dtype) -> None:
    check_matmul(kernels, dtype)


MATMULS = [("gfx942", torch.float32), ("gfx90a", torch.float16), ("gfx950", torch.bfloat16)]
OTHER_MATMULS = [
    pytest.param(target, dtype, marks=pytest.mark.long)
    for target in ("gfx90a", "gfx942", "gfx950")
    for dtype in (torch.float16, torch.bfloat16, torch.float32)
    if (target, dtype) not in MATMULS
]


@pytest.mark.parametrize(("target", "dtype"), [*MATMULS, *OTHER_MATMULS], ids=str)
def test_matmul(kernels: Any, target: str, dtype: torch.dtype) -> None:
    check_matmul(kernels, dtype, is_xf32=dtype == torch.float32 and target == "gfx942")


@pytest.mark.parametrize(
    ("target", "dtype"),
    [
        *(("gfx942", dtype) for dtype in (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)),
        *(("gfx950", dtype) for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)),
    ],
    ids=str,
)
def test_matmul_of_fp8(kernels: Any, target: str, dtype: torch.dtype) -> None:
    """Each processor multiplies the formats that it has instructions for."""
    check_matmul(kernels, dtype)


def check_matmul(kernels: Any, dtype: torch.dtype, *, is_xf32: bool = False) -> None:
    a, b = torch.randn(50, 70).to(dtype), torch.randn(70, 40).to(dtype)
    c = torch.empty(50, 40)
    kernels.matmul[(2, 2)](a, b, c, 50, 40, 70, BM=32, BN=32, BK=32)
    # Of f32 gfx942 multiplies 10 bits of the fraction (XF32), which Triton asks for unless told otherwise.
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=3e-2 if is_xf32 else 1e-3)


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])  # OCP Microscaling Formats 1.0, table 5; bit 3 is the sign
MX_DTYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def mx_operand(rows: int, depth: int, kind: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random elements of a type of MX.

    Returns their bytes, u8 [rows, depth] or for e2m1 [rows, depth / 2], their scales, u8 [rows, depth / 32], and what
    they stand for, f32 [rows, depth].
    """
    scales = torch.randint(120, 135, (rows, depth // 32), dtype=torch.uint8)
    if kind == "e2m1":
        codes = torch.randint(16, (rows, depth), dtype=torch.uint8)
        data = codes[:, ::2] | codes[:, 1::2] << 4  # the first element is in the lower bits
        values = E2M1[(codes & 7).long()] * torch.where(codes < 8, 1.0, -1.0)
    else:
        data = torch.randn(rows, depth).to(MX_DTYPES[kind])
        values, data = data.float(), data.view(torch.uint8)
    return data, scales, values * (scales.float() - 127).exp2().repeat_interleave(32, 1)


@pytest.mark.each_value
@pytest.mark.parametrize("kinds", ["e2m1 e2m1", "e4m3 e4m3", "e5m2 e4m3", "e4m3 e2m1"])
@on_cdna
def test_scaled_matmul(kernels: Any, kinds: str) -> None:
    """32 elements share a scale, a power of two: gfx950 has instructions for that, gfx942 is given products of bf16."""
    a_kind, b_kind = kinds.split()
    a, a_scales, a_values = mx_operand(32, 256, a_kind)
    b, b_scales, b_values = mx_operand(64, 256, b_kind)
    c = torch.empty(32, 64)
    compiled = kernels.scaled_matmul[(1,)](a, a_scales, b, b_scales, c, 32, 64, 256, A_TYPE=a_kind, B_TYPE=b_kind)
    assert ("v_mfma_scale" in compiled.asm["amdgcn"]) == (compiled.metadata.target.arch == "gfx950")
    torch.testing.assert_close(c, a_values @ b_values.T, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_softmax_in_waves_of_32_lanes(kernels: Any, target: str) -> None:
    with wave_runtime.emulate(target):
        test_softmax(kernels)


@on_cdna
def test_attention(kernels: Any) -> None:
    q, k, v = (torch.randn(2, 64, 32, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    kernels.attention[(2, 2)](q, k, v, out, 32**-0.5, L=64, D=32, BLOCK=32)
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    torch.testing.assert_close(out.float(), expected, rtol=1e-2, atol=1e-2)


@on_cdna
def test_atomics(kernels: Any) -> None:
    x = torch.randint(10, (1000,), dtype=torch.int32)
    counts = torch.zeros(10, dtype=torch.int32)
    kernels.histogram[(4,)](x, counts, 1000, BLOCK=256)
    assert torch.equal(counts, torch.bincount(x, minlength=10).int())


def test_autotuning(kernels: Any) -> None:
    """The choice is the same each time: it rests on what is counted, not on a clock."""
    x, y, out = torch.ones(512), torch.ones(512), torch.empty(512)
    kernels.tuned_add[lambda meta: (512 // meta["BLOCK"],)](x, y, out, 512)
    assert out.eq(2).all()
    times = kernels.tuned_add.configs_timings
    assert kernels.tuned_add.best_config.num_warps == 1
    assert len({tuple(time) for time in times.values()}) == 2
    assert all(time[0] > 0 for time in times.values())


def test_printing(kernels: Any, capfd: pytest.CaptureFixture[str]) -> None:
    kernels.show[(1,)](torch.arange(4), 100, num_warps=1)
    out = capfd.readouterr().out
    assert [line.split(":")[-1].strip() for line in out.splitlines() if "value" in line][:4] == ["0", "1", "2", "3"]


def test_asserts(kernels: Any) -> None:
    with pytest.raises(wave_runtime.KernelFault, match="too large"):
        kernels.show[(1,)](torch.arange(4), 2, num_warps=1, debug=True)


def test_a_planted_mistake(kernels: Any) -> None:
    """The fault names the argument, and the line of Python that has stored."""
    x, out = torch.ones(3), torch.empty(100)
    with pytest.raises(wave_runtime.KernelFault) as caught:
        kernels.add_without_mask[(2,)](x, out, BLOCK=64)
    source, first = inspect.getsourcelines(kernels.add_without_mask.fn)
    line = first + next(index for index, text in enumerate(source) if "goes too far" in text)
    text = str(caught.value)
    assert "out of bounds: " in text
    assert "past the end of argument 1 'out' (float32 [100])" in text
    assert f"triton_kernels.py:{line}" in text


@on_cdna
def test_numbers_of_all_types(kernels: Any) -> None:
    out = torch.empty(6, dtype=torch.float64)
    kernels.scalars[(1,)](out, True, -3, 1 << 40, (1 << 64) - 2048, 0.1, -(1 << 31))
    assert out.tolist() == [1, -3, 1 << 40, (1 << 64) - 2048, torch.tensor(0.1).item(), -(1 << 31)]


@on_cdna
def test_addresses_in_memory(kernels: Any) -> None:
    """As grouped products have them: the kernel is let touch what it finds."""
    arrays = [torch.randn(50), torch.randn(50)]
    table = torch.tensor([array.data_ptr() for array in arrays])
    out = torch.empty(2, 50)
    kernels.by_table[(2,)](table, out, 50, BLOCK=64)
    assert torch.equal(out, torch.stack(arrays))


@on_cdna
def test_tuples(kernels: Any) -> None:
    x, out = torch.randn(64), torch.empty(64)
    kernels.of_tuple[(1,)]((x, 3), 2.0, out, BLOCK=64)
    torch.testing.assert_close(out, x * 2 + 3)


@on_cdna
def test_tensor_descriptors(kernels: Any) -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = torch.randn(64, 32), torch.empty(64, 32)
    kernels.by_descriptor[(2,)](TensorDescriptor.from_tensor(x, [32, 32]), out, BLOCK=32)
    assert torch.equal(out, x * 2)


@pytest.mark.parametrize("mask", [None, torch.arange(64) % 2 == 0], ids=["none", "bools"])
def test_optional_tensors(kernels: Any, mask: torch.Tensor | None) -> None:
    x, out = torch.randn(64), torch.empty(64)
    kernels.maybe[(1,)](x, mask, out, BLOCK=64)
    assert torch.equal(out, x if mask is None else x * mask)


def test_views_and_parameters(kernels: Any) -> None:
    """Strides are the kernel's business; a launch is none of autograd's."""
    x = torch.nn.Parameter(torch.randn(100, 2).T)
    saved = x[0].exp()
    out = torch.empty(200)
    kernels.add[(1,)](x, x, out, 200, BLOCK=256)
    assert torch.equal(out[:2], 2 * x.detach().T[0])
    saved.sum().backward()
    with torch.inference_mode():
        check_add(kernels)


def test_an_empty_grid(kernels: Any) -> None:
    kernels.add[(0,)](*torch.empty(3, 0), 0, BLOCK=64)


def test_a_limit_of_time(kernels: Any) -> None:
    with wave_runtime.emulate(time_limit=0.2), pytest.raises(wave_runtime.KernelFault, match=r"0\.2 s"):
        kernels.spin[(1,)]()

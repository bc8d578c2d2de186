"""Triton kernels on the emulator, beside torch."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

import wave_runtime
from wave_runtime import _C

PROCESSORS = sorted({figures["code"] for figures in _C.emulator_processors().values()})


@pytest.fixture
def kernels(gfx942: object) -> Any:
    """The module of kernels, which imports Triton."""
    import triton_kernels

    return triton_kernels


def check_add(kernels: Any, n: int = 1000) -> None:
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    kernels.add[(-(-n // 256),)](x, y, out, n, BLOCK=256)
    assert torch.equal(out, x + y)


@pytest.mark.parametrize("target", PROCESSORS)
def test_add(kernels: Any, target: str) -> None:
    """For each processor in one process: what is compiled for one is not taken for another."""
    with wave_runtime.emulate(target):
        check_add(kernels)
        compiled = kernels.add[(4,)](*torch.ones(3, 64), 64, BLOCK=64)
        assert compiled.metadata.target.arch == target
    check_add(kernels)


def test_softmax(kernels: Any) -> None:
    x = torch.randn(16, 200)
    out = torch.empty_like(x)
    kernels.softmax[(16,)](x, out, x.stride(0), 200, BLOCK=256)
    torch.testing.assert_close(out, torch.softmax(x, 1))


def test_layer_norm(kernels: Any) -> None:
    x, weight, bias = torch.randn(8, 100), torch.randn(100), torch.randn(100)
    out = torch.empty_like(x)
    kernels.layer_norm[(8,)](x, weight, bias, out, 100, 1e-5, BLOCK=128)
    torch.testing.assert_close(out, torch.nn.functional.layer_norm(x, (100,), weight, bias, 1e-5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_matmul(kernels: Any, dtype: torch.dtype) -> None:
    a, b = torch.randn(50, 70).to(dtype), torch.randn(70, 40).to(dtype)
    c = torch.empty(50, 40)
    kernels.matmul[(2, 2)](a, b, c, 50, 40, 70, BM=32, BN=32, BK=32)
    # Of f32 the hardware multiplies 10 bits of the fraction (XF32), which Triton asks for unless told otherwise.
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=3e-2 if dtype == torch.float32 else 1e-3)


def test_softmax_in_waves_of_32_lanes(kernels: Any) -> None:
    with wave_runtime.emulate("gfx1201"):
        test_softmax(kernels)


def test_attention(kernels: Any) -> None:
    q, k, v = (torch.randn(2, 64, 32, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    kernels.attention[(2, 2)](q, k, v, out, 32**-0.5, L=64, D=32, BLOCK=32)
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    torch.testing.assert_close(out.float(), expected, rtol=1e-2, atol=1e-2)


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


def test_numbers_of_all_types(kernels: Any) -> None:
    out = torch.empty(6, dtype=torch.float64)
    kernels.scalars[(1,)](out, True, -3, 1 << 40, (1 << 64) - 2048, 0.1, -(1 << 31))
    assert out.tolist() == [1, -3, 1 << 40, (1 << 64) - 2048, torch.tensor(0.1).item(), -(1 << 31)]


def test_addresses_in_memory(kernels: Any) -> None:
    """As grouped products have them: the kernel is let touch what it finds."""
    arrays = [torch.randn(50), torch.randn(50)]
    table = torch.tensor([array.data_ptr() for array in arrays])
    out = torch.empty(2, 50)
    kernels.by_table[(2,)](table, out, 50, BLOCK=64)
    assert torch.equal(out, torch.stack(arrays))


def test_tuples(kernels: Any) -> None:
    x, out = torch.randn(64), torch.empty(64)
    kernels.of_tuple[(1,)]((x, 3), 2.0, out, BLOCK=64)
    torch.testing.assert_close(out, x * 2 + 3)


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

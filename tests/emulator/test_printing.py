"""Kernels of Triton 3.9 that print and assert: the device's side of hostcalls is that of ROCm's device libraries."""

from __future__ import annotations

import pytest
import torch
from support import PROBES

import wave_runtime


def kernel(name: str) -> wave_runtime.Kernel:
    # The two last arguments are for scratch memory that these kernels do not ask for.
    signature = {f"{name}_kernel": "x: *f32, n: i32, global: *i8 const, profile: *i8 const"}
    return wave_runtime.load(PROBES / f"triton_{name}.hsaco", signature=signature)[f"{name}_kernel"]


NONE = torch.zeros(1, dtype=torch.int8)


@pytest.mark.parametrize("threads", [1, 4])
def test_device_print(capfd: pytest.CaptureFixture[str], threads: int) -> None:
    x, before = torch.arange(1000) * 0.5, torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        kernel("print")(x, 1000, NONE, NONE, grid=16, block=64)
    finally:
        torch.set_num_threads(before)
    out, err = capfd.readouterr()
    assert err == ""
    values = [f"pid ({i // 64}, 0, 0) idx ({i % 64:2}) value: {0.5 * i if i < 1000 else 0:.6f}" for i in range(1024)]
    programs = [f"pid ({i // 64}, 0, 0) idx () program: 0x{i // 64:08x}" for i in range(1024)]
    assert sorted(out.splitlines()) == sorted(values + programs)


def test_device_assert(capfd: pytest.CaptureFixture[str]) -> None:
    x = torch.arange(100.0)
    kernel("assert")(x, 100, NONE, NONE, grid=2, block=64)
    assert torch.equal(x, torch.arange(100.0) + 1)
    assert capfd.readouterr() == ("", "")
    message = "device assertion failed: 'value is too large'"
    with pytest.raises(wave_runtime.KernelFault, match=f"the kernel has aborted: {message}") as raised:
        kernel("assert")(x, 100, NONE, NONE, grid=2, block=64)
    assert tuple(raised.value.workgroup) == (1, 0, 0)
    assert message in capfd.readouterr().err

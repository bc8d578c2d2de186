"""Kernels with code for several vendors: which is taken, and as operators. CPU tensors take AMD's."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
import torch
from vendors_support import SCALE

import wave_runtime
from wave_runtime._op._fingerprint import hash_of
from wave_runtime.compat import pyhip, vendors


def check(kernel: vendors.PortableKernel, times: float = 1) -> None:
    a, b = torch.randn(1000), torch.zeros(1000)
    kernel(a, b, 2.0, 1000, grid=4, block=256)
    torch.testing.assert_close(b, times * 2 * a)


def test_only_what_is_needed_is_compiled(scale: vendors.PortableKernel) -> None:
    kernel = vendors.kernel("scale", amd=SCALE, nvidia="broken {", apple="broken {", intel="broken {")
    assert kernel.vendors == ("amd", "nvidia", "intel", "apple")
    check(kernel)


def test_by_target(scale: vendors.PortableKernel) -> None:
    other = SCALE.replace("factor * a", "3 * factor * a")
    check(vendors.kernel("scale", amd={"gfx908": "broken {", "gfx942": other}), times=3)
    check(vendors.kernel("scale", amd={"gfx942:xnack-": other, "gfx942": "broken {"}), times=3)
    with pytest.raises(ValueError, match="kernel 'scale' has amd= for gfx908, and cpu is gfx942"):
        check(vendors.kernel("scale", amd={"gfx908": SCALE}))


def test_errors(scale: vendors.PortableKernel) -> None:
    with pytest.raises(ValueError, match="has code for nvidia, and none for tensors on cpu: pass amd="):
        check(vendors.kernel("scale", nvidia=SCALE))
    with pytest.raises(ValueError, match="kernel 'scale': no code: pass amd=, nvidia=, intel=, apple="):
        vendors.kernel("scale")
    with pytest.raises(ValueError, match="amd= has no code"):
        vendors.kernel("scale", amd={})
    with pytest.raises(ValueError, match="apple= is a source or its path, given bytes"):
        vendors.kernel("scale", apple=b"metallib")
    with pytest.raises(ValueError, match="no tensor among the arguments"):
        scale(1, 2, 2.0, 3, grid=1)
    with pytest.raises(KeyError, match="no kernel 'other' in the code object"):
        vendors.kernel("other", amd=SCALE).on("cpu")


@pytest.mark.parametrize("device", ["cuda", "cuda:63"])
def test_a_gpu_that_there_is_not(device: str, scale: vendors.PortableKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match='device "cuda": torch finds no GPU; "cpu" is the emulator'):
        scale.on(device)


def test_without_tensors_the_device_is_said() -> None:
    """The address is none of the launch's, which shows that it ran."""
    source = 'extern "C" __global__ void poke(long at) { *reinterpret_cast<int*>(at) = 1; }'
    kernel = vendors.kernel("poke", amd=f"#include <hip/hip_runtime.h>\n{source}\n")
    with pytest.raises(wave_runtime.KernelFault, match="kernel 'poke' on the gfx942 emulator: a store of 4 bytes"):
        kernel(4096, grid=1, block=1, device="cpu")


def test_a_changed_source_is_compiled_again(scale: vendors.PortableKernel, tmp_path: Path) -> None:
    source = tmp_path / "scale.hip"
    source.write_text(SCALE)
    kernel = vendors.kernel("scale", amd=source)
    check(kernel)
    source.write_text(SCALE.replace("factor * a", "3 * factor * a"))
    check(kernel, times=3)


def test_as_a_kernel(scale: vendors.PortableKernel) -> None:
    """What a Kernel has: operators, compiled code, bound launches."""
    torch._dynamo.reset()
    a = torch.randn(1000)

    def double(a: torch.Tensor) -> torch.Tensor:
        b = torch.empty_like(a)
        scale(a, b, 2.0, a.numel(), grid=4, block=256)
        return b

    assert torch.equal(torch.compile(double, fullgraph=True, backend="aot_eager")(a), 2 * a)
    operator = wave_runtime.define_op("vendors_test::double")(double)
    assert torch.equal(operator(a), 2 * a)
    assert torch.equal(torch.compile(operator, fullgraph=True, backend="aot_eager")(a), 2 * a)
    b = torch.zeros(1000)
    scale.as_operator("vendors_test::scale", block=256)(a, b, 3.0, 1000, 4)
    assert torch.equal(b, 3 * a)
    declared = wave_runtime.define_op(
        "vendors_test::declared",
        scale.combined(),
        outputs={"b": lambda a: a.new_empty(a.shape)},
        arguments={"n": lambda a: a.numel()},
        grid=4,
        block=256,
    )
    assert torch.equal(declared(a, 5.0), 5 * a)
    bound = scale.bind(a, b, 7.0, 1000, grid=4, block=256)
    bound()
    assert torch.equal(b, 7 * a)


def test_copies_and_tensors_without_data(scale: vendors.PortableKernel) -> None:
    check(copy.deepcopy(scale))
    check(pickle.loads(pickle.dumps(scale)))
    a = torch.zeros(10, device="meta")
    scale(a, torch.zeros(10, device="meta"), 2.0, 10, grid=1, block=64)


def test_operators_change_with_the_source(scale: vendors.PortableKernel, tmp_path: Path) -> None:
    """Compilers' caches know them by their fingerprints."""
    source = tmp_path / "scale.hip"
    source.write_text(SCALE)
    for make in (lambda: vendors.kernel("scale", amd=source), lambda: pyhip.module(source).scale):
        source.write_text(SCALE)
        before = hash_of(make())
        assert hash_of(make()) == before
        source.write_text(SCALE + "\n")
        assert hash_of(make()) != before
    assert hash_of(scale) != hash_of(vendors.kernel("scale", amd=SCALE))

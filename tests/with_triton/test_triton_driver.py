"""The driver: what Triton asks of it, hooks, several devices, kernels that are compiled ahead of time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import wave_runtime


@pytest.fixture
def kernels(gfx942: object) -> Any:
    import triton_kernels

    return triton_kernels


def test_it_is_set_and_taken_back() -> None:
    from triton.backends import backends
    from triton.runtime import driver

    before = driver._active, driver._default, dict(backends)
    with wave_runtime.emulate("gfx1100"):
        target = driver.active.get_current_target()
        assert (target.backend, target.arch, target.warp_size) == ("hip", "gfx1100", 32)
        driver.reset_active()
        assert driver.active.get_current_target() == target
    assert (driver._active, driver._default, dict(backends)) == before


@pytest.mark.parametrize(("target", "kind"), [("gfx942", "cdna3"), ("gfx1100", "rdna3"), ("gfx1201", "rdna4")])
def test_what_triton_asks_of_its_drivers(target: str, kind: str) -> None:
    """Its own tests ask so which GPU there is, to skip what that cannot do."""
    from triton import _internal_testing as asked
    from triton.backends import backends

    with wave_runtime.emulate(target):
        assert [name for name, backend in backends.items() if backend.driver.is_active()] == ["amd"]
        assert asked.get_current_target().arch == target
        assert asked.is_hip()
        assert not asked.is_cuda()
        known = ("cdna2", "cdna3", "cdna4", "rdna3", "rdna4", "gfx1250")
        assert [each for each in known if getattr(asked, f"is_hip_{each}")()] == [kind]


def test_it_can_be_set_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import triton
    import triton_kernels

    from wave_runtime.triton import EmulatorDriver

    monkeypatch.setattr(triton.runtime.driver, "_active", None)
    triton.runtime.driver.set_active(EmulatorDriver("gfx942"))
    x, out = torch.randn(64), torch.empty(64)
    triton_kernels.add[(1,)](x, x, out, 64, BLOCK=64)
    assert torch.equal(out, 2 * x)
    with pytest.raises(ValueError, match="the emulator has the processors"):
        EmulatorDriver("gfx908")


def test_a_kernel_is_loaded_once(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton asks the driver for a launcher and the binary at every launch, which is no reason to load it again."""
    from wave_runtime.triton import _driver

    loaded: list[Any] = []
    program = _driver.Program
    monkeypatch.setattr(_driver, "Program", lambda *args: loaded.append(args[0]) or program(*args))
    x, out = torch.ones(128), torch.empty(128)
    for _ in range(3):
        kernels.add[(1,)](x, x, out, 128, BLOCK=128, num_warps=2)
    assert len(loaded) == 1
    assert out.eq(2).all()


def test_cooperative_launches(kernels: Any) -> None:
    x, out = torch.ones(64), torch.empty(64)
    kernels.add[(1,)](x, x, out, 64, BLOCK=64, launch_cooperative_grid=True)
    assert out.eq(2).all()


def test_hooks(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from triton import knobs

    seen: list[Any] = []
    monkeypatch.setattr(knobs.runtime, "launch_enter_hook", lambda metadata: seen.append(metadata.get()["name"]))
    monkeypatch.setattr(knobs.runtime, "launch_exit_hook", lambda metadata: seen.append("done"))
    x, out = torch.ones(64), torch.empty(64)
    kernels.add[(1,)](x, x, out, 64, BLOCK=64)
    assert seen == ["add", "done"]


def test_warmup_launches_nothing(kernels: Any) -> None:
    x, out = torch.ones(64), torch.zeros(64)
    compiled = kernels.add.warmup(x, x, out, 64, BLOCK=64, grid=(1,))
    assert out.sum() == 0
    compiled[(1, 1, 1)](x, x, out, 64, 64)
    assert out.sum() == 128


def test_several_devices(kernels: Any) -> None:
    with wave_runtime.emulate("gfx942", devices=2):
        for index in range(2):
            torch.cuda.set_device(index)
            x, out = torch.ones(64, device="cuda"), torch.empty(64, device="cuda")
            kernels.add[(1,)](x, x, out, 64, BLOCK=64)
            assert out.sum() == 128
        assert {int(device) for device in kernels.add.device_caches} >= {0, 1}
        torch.cuda.set_device(0)


def test_under_torch_compile(kernels: Any) -> None:
    """Inductor finds the kernel in a function on CPU tensors, and compiles it for the CPU: that is the emulated GPU."""
    check_compiled(kernels)


def test_under_torch_compile_where_triton_had_no_gpu() -> None:
    """Torch keeps what it is told first."""
    import triton_kernels
    from torch.utils._triton import has_triton

    had = has_triton()
    with wave_runtime.emulate("gfx942"):
        check_compiled(triton_kernels)
        assert has_triton()
    assert has_triton() == had


def check_compiled(kernels: Any) -> None:
    def double_and_add(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        kernels.add[(2,)](x, x, out, x.numel(), BLOCK=64)
        return out + 1

    x = torch.randn(100, device="cuda")
    torch.testing.assert_close(torch.compile(double_and_add, fullgraph=True)(x), 2 * x + 1)


def test_too_much_shared_memory(kernels: Any) -> None:
    from triton.runtime.errors import OutOfResources

    a = torch.zeros(256, 256)
    with pytest.raises(OutOfResources, match=r"shared memory, Required: .* Hardware limit: 65536"):
        kernels.matmul[(1, 1)](a, a, a.clone(), 256, 256, 256, BM=32, BN=32, BK=256, num_stages=4)


def test_wrong_arguments(kernels: Any) -> None:
    x = torch.ones(64)
    compiled = kernels.add.warmup(x, x, x, 64, BLOCK=64, grid=(1,))
    with pytest.raises(TypeError, match=r"kernel 'add', argument 3 'n': expected i32, given str"):
        compiled[(1, 1, 1)](x, x, x.clone(), "64", 64)
    with pytest.raises(ValueError, match=r"kernel 'add', argument 3 'n'"):
        compiled[(1, 1, 1)](x, x, x.clone(), 1 << 40, 64)


@pytest.fixture
def compiled() -> Any:
    import triton
    import triton_kernels
    from triton.backends.compiler import GPUTarget

    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(triton_kernels.add, signature, {"BLOCK": 64})
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64))


def check(kernel: Any) -> None:
    x, y, out = torch.randn(100), torch.randn(100), torch.zeros(100)
    kernel(x, y, out, 100, grid=(2,))
    assert torch.equal(out, x + y)


def test_ahead_of_time(gfx942: object, compiled: Any) -> None:
    kernel = wave_runtime.triton.load(compiled)
    assert kernel.parameters == ("x", "y", "out", "n")
    assert kernel.kernel.signature == "x: *, y: *, out: *, n: i32, global_scratch: *, profile_scratch: *"
    check(kernel)
    with pytest.raises(TypeError, match=r"kernel 'add' takes 4 arguments \(x, y, out, n\), given 3"):
        kernel(1, 2, 3, grid=(1,))


def test_from_a_file(gfx942: object, compiled: Any, tmp_path: Path) -> None:
    for name, path in compiled.metadata_group.items():
        shutil.copy(path, tmp_path / name)
    (file,) = tmp_path.glob("*.hsaco")
    with pytest.raises(ValueError, match=r'pass signature=\{"x": "\*fp32", ...\}'):
        wave_runtime.triton.load(file)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.hsaco"):
        wave_runtime.triton.load(tmp_path / "nowhere.hsaco")
    check(wave_runtime.triton.load(file, signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}))
    with pytest.raises(ValueError, match=r"Triton passes 5 arguments .*, the binary takes 6"):
        wave_runtime.triton.load(file, signature={"x": "*fp32", "y": "*fp32", "out": "*fp32"})


def test_scratch_memory(gfx942: object, compiled: Any) -> None:
    """From Triton's allocator, as much as the grid needs."""
    import triton

    from wave_runtime.triton._program import Program

    asked: list[tuple[int, int]] = []

    def allocate(size: int, align: int, stream: Any) -> torch.Tensor:
        asked.append((size, align))
        return torch.zeros(size, dtype=torch.int8)

    metadata = compiled.metadata._replace(global_scratch_size=16, global_scratch_align=8, profile_scratch_size=4)
    kinds = ["*fp32", "*fp32", "*fp32", "i32", "constexpr"]
    program = Program(compiled.asm["hsaco"], metadata, kinds, ["x", "y", "out", "n", "BLOCK"], False)
    triton.set_allocator(allocate)
    try:
        out = torch.zeros(100)
        program.launch((2, 1, 1), 0, [torch.ones(100), torch.ones(100), out, 100])
    finally:
        triton.set_allocator(triton.runtime._allocation.NullAllocator())
    assert asked == [(32, 8)]
    assert out.sum() == 200


def test_graphs(kernels: Any) -> None:
    """A launch is made at each replay; choosing between configurations has to launch, and so cannot be captured."""
    from triton.runtime import driver

    x, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernels.add[(1,)](x, x, out, 64, BLOCK=64)
    assert not out.any()
    x.fill_(3)
    graph.replay()
    assert out.eq(6).all()
    refused = pytest.raises(RuntimeError, match=r"configurations .*not permitted when stream is capturing")
    with refused, torch.cuda.graph(graph):
        driver.active.benchmark(lambda: None)

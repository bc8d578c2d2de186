"""from_wave: run by test_wave_lang.py in a process of its own, since the compiler changes torch's settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from wave_lang.kernel.wave import cache
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang_kernels import (
    ADDRESS_SPACE,
    GLOBAL_ADDRESS_SPACE,
    SHARED_ADDRESS_SPACE,
    K,
    M,
    N,
    accumulate,
    matmul,
    scale_and_shift,
)

import wave_runtime
from wave_runtime import from_wave
from wave_runtime.wave_lang import WaveFunction, _cpu, enable_cpu


def options(**given: object) -> WaveCompileOptions:
    return WaveCompileOptions(canonicalize=True, target="gfx942", **given)


@pytest.fixture(scope="module")
def gemm() -> WaveFunction:
    return from_wave(matmul(), options(subs={ADDRESS_SPACE: SHARED_ADDRESS_SPACE}, dynamic_symbols=[M, N, K]))


@pytest.fixture
def operands() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(70, 64).half(), torch.randn(33, 64).half()


def close(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(got, a.float() @ b.float().T, rtol=1e-5, atol=1e-3)


def test_what_it_knows(gemm: WaveFunction) -> None:
    assert (gemm.parameters, gemm.writes, gemm.dynamic_dims) == (("a", "b", "c"), ("c",), ("M", "N", "K"))
    assert gemm.kernel.signature == "a: *f16 const, b: *f16 const, c: *f32, M: i64, N: i64, K: i64"
    assert "grid=(-(-(M) // (32)), -(-(N) // (32)), 1)" in gemm.source


def test_its_code_object(gemm: WaveFunction, operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    """It serves without the compiler."""
    c = torch.zeros(70, 33)
    wave_runtime.load(gemm.code, signature={"matmul": gemm.kernel.signature})["matmul"](
        *operands, c, 70, 33, 64, grid=(3, 2)
    )
    close(c, *operands)


def test_call(gemm: WaveFunction, operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    c = torch.zeros(70, 33)
    gemm(*operands, c)
    close(c, *operands)


def test_errors(gemm: WaveFunction, operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    a, b = operands
    c = torch.zeros(70, 33)
    for wrong, message in (
        ((a, b[:, :32].contiguous(), c), r"'b': expected shape \[N, K\] = \[33, 64\], given \[33, 32\]"),
        ((a, b, c[0]), r"'c': expected shape \[M, N\], given \[33\]"),
        ((a, b, torch.zeros(33, 70).T), "argument 2 'c': expected a contiguous tensor"),
    ):
        with pytest.raises(ValueError, match=message):
            gemm(*wrong)
    with pytest.raises(TypeError, match=r"argument 0 'a': expected a tensor for \*f16 const"):
        gemm(a.float(), b, c)


def test_operator(gemm: WaveFunction, operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    multiply = gemm.define_op("from_wave::gemm")
    close(multiply(*operands), *operands)
    torch.library.opcheck(multiply.overload, operands)
    compiled = torch.compile(multiply, fullgraph=True, backend="aot_eager", dynamic=True)
    close(compiled(*operands), *operands)


def test_traced_launch(gemm: WaveFunction, operands: tuple[torch.Tensor, torch.Tensor]) -> None:
    def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = a.new_empty(a.shape[0], b.shape[0], dtype=torch.float32)
        gemm(a, b, c)
        return c

    close(torch.compile(multiply, fullgraph=True, backend="aot_eager", dynamic=True)(*operands), *operands)


def test_fingerprint_tells_kernels_apart(gemm: WaveFunction) -> None:
    other = from_wave(matmul(64), options(subs={ADDRESS_SPACE: SHARED_ADDRESS_SPACE}, dynamic_symbols=[M, N, K]))
    prints = set()
    for function in (gemm, other, gemm):

        def body(a: torch.Tensor, b: torch.Tensor, function: WaveFunction = function) -> torch.Tensor:
            c = a.new_empty(a.shape[0], b.shape[0], dtype=torch.float32)
            function(a, b, c)
            return c

        def define(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return body(a, b)

        prints.add(wave_runtime.define_op("from_wave::told_apart")(define).fingerprint)
    assert len(prints) == 2


def test_scalars_and_fixed_sizes() -> None:
    enable_cpu()
    compiled = wave_compile(
        options(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 5, N: 100}, wave_runtime=True), scale_and_shift()
    )
    function = from_wave(compiled)
    assert function.kernel.signature == "a: *f32 const, b: *f32, scale: f32, shift: f32"
    a, b = torch.randn(5, 100), torch.zeros(5, 100)
    function(a, 2.0, 3, b)
    torch.testing.assert_close(b, a * 2 + 3)
    with pytest.raises(ValueError, match=r"'a': expected shape \[M, N\] = \[5, 100\], given \[4, 100\]"):
        function(a[:4], 2.0, 3.0, b[:4])
    scaled = function.define_op("from_wave::scale")
    torch.testing.assert_close(scaled(a, 2.0, 3.0), a * 2 + 3)
    with pytest.raises(TypeError, match=r"expected what wave_compile returns, or a @tkw\.wave function and options"):
        from_wave(compiled, options())
    with pytest.raises(TypeError, match="needs options=WaveCompileOptions"):
        from_wave(scale_and_shift())


def test_atomics() -> None:
    """wave-lang calls a tensor an input that only atomic operations change."""
    function = from_wave(accumulate(), options(subs={}, dynamic_symbols=[M]))
    assert function.writes == ("total", "before")
    a, total, before = (torch.randint(100, (128,), dtype=torch.int32) for _ in range(3))  # atomics are not masked
    start = total.clone()
    function(a, total, before)
    assert torch.equal(before, start)
    assert torch.equal(total, start + a)
    with pytest.raises(
        ValueError, match="'total', which it writes, is read, too: write a function that makes the results"
    ):
        function.define_op("from_wave::accumulate")


def test_compiled_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What wave-lang's cache gives has no types: those of the function serve."""
    monkeypatch.setattr(cache, "WAVE_CACHE_ON", 1)
    cache.reset_cache_manager(tmp_path)
    a, b = torch.randn(5, 100), torch.zeros(5, 100)
    for _ in range(2):
        settings = options(subs={ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE}, dynamic_symbols=[M, N])
        from_wave(scale_and_shift(), settings)(a, 2.0, 3.0, b)
        torch.testing.assert_close(b, a * 2 + 3)
    with pytest.raises(ValueError, match=r"came from wave-lang's cache.*: pass from_wave\(function, options\)"):
        from_wave(wave_compile(settings, scale_and_shift()))
    assert list(tmp_path.glob("*/*.hsaco"))


def test_enabling_changes_nothing_of_the_users(tmp_path: Path) -> None:
    """Neither what torch says of streams, nor what lies in the folder that dump_binaries names."""
    before = torch.cuda.current_stream
    kept = tmp_path / "kept.hsaco"
    kept.write_bytes(b"the user's")
    enable_cpu()
    enable_cpu()
    settings = {"subs": {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: 5, N: 100}, "dump_binaries": str(tmp_path)}
    for wave_runtime_too in (False, True):
        wave_compile(options(**settings, wave_runtime=wave_runtime_too), scale_and_shift())
    from_wave(scale_and_shift(), options(**settings))
    assert kept.read_bytes() == b"the user's"
    assert torch.cuda.current_stream is before


def test_enabling_ends() -> None:
    """Wave-lang is as it was once all that began has ended; compiling for from_wave leaves nothing."""
    from wave_lang.kernel.wave import compile as wave_compile_module

    def state() -> tuple[object, ...]:
        names = ("invoke_with_wave_runtime", "compile_to_vmfb")
        return (*(getattr(wave_compile_module, name) for name in names), os.environ.get("WAVE_DEFAULT_ARCH"))

    for begun in list(_cpu._enabled):  # by tests before this one, for the process
        begun.stop()
    before = state()
    with enable_cpu() as outer:
        within = state()
        assert all(one is not other for one, other in zip(within[:2], before[:2], strict=True))
        inner = enable_cpu()
        outer.stop()
        assert state() == within
        inner.stop()
        assert state() == before
        inner.stop()  # once is enough
    from_wave(accumulate(), options(subs={}, dynamic_symbols=[M]))
    assert state() == before

"""Triton functions as kernels of this package: wave_runtime.from_triton."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import warm_python

import wave_runtime
from wave_runtime import _C, cdiv, from_triton

ADD = "x: *f32 const, y: *f32 const, out: *f32, n: i32"
MATMUL = "a: *f16 const, b: *f16 const, c: *f32, M: i32, N: i32, K: i32"
# Triton 3.9 refuses RDNA2.
TARGETS = [name for name in sorted(_C.emulator_processors()) if not name.startswith("gfx103")]


@pytest.fixture
def kernels() -> Any:
    """The module of kernels, which imports Triton."""
    import triton_kernels

    return triton_kernels


@pytest.fixture
def add(kernels: Any) -> Any:
    return from_triton(kernels.add, ADD, constants={"BLOCK": 64})


@pytest.mark.parametrize("target", TARGETS)
def test_a_launch(kernels: Any, target: str) -> None:
    """On CPU tensors, with nothing emulated but the launch."""
    add = from_triton(kernels.add, ADD, constants={"BLOCK": 64}, target=target)
    assert (add.target, add.parameters, add.constants) == (target, ("x", "y", "out", "n"), {"BLOCK": 64})
    assert add.kernel.writes == (2,)
    x, y, out = torch.randn(100), torch.randn(100), torch.empty(100)
    add(x, y, out, 100, grid=2)
    assert torch.equal(out, x + y)
    assert wave_runtime.load(add.code).kernels == ("add",)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_the_target_is_what_is_emulated(kernels: Any, target: str) -> None:
    """The product has matrix instructions, several waves and LDS."""
    with wave_runtime.emulate(target):
        matmul = from_triton(kernels.matmul, MATMUL, constants={"BM": 32, "BN": 32, "BK": 32}, num_warps=2)
        assert matmul.target == target
        a, b, c = torch.randn(50, 70).half(), torch.randn(70, 40).half(), torch.empty(50, 40)
        matmul(a, b, c, 50, 40, 70, grid=(2, 2))
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=1e-3)


def test_options_reach_the_compiler(kernels: Any) -> None:
    """A program has as many waves as the option says, of which the emulator counts all."""
    waves = []
    for warps in (1, 2):
        add = from_triton(kernels.add, ADD, constants={"BLOCK": 64}, num_warps=warps)
        add(*torch.ones(3, 64), 64, grid=1)
        waves.append(_C.emulator_statistics()["waves"])
    assert waves == [1, 2]


def test_torch_compile(add: Any) -> None:
    def twice(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        add(x, y, out, x.numel(), grid=cdiv(x.numel(), 64))
        return out * 2

    compiled = torch.compile(twice, fullgraph=True, dynamic=True)
    for size in (100, 1000):
        x, y = torch.randn(size), torch.randn(size)
        torch.testing.assert_close(compiled(x, y), 2 * (x + y))


def test_export(add: Any, tmp_path: Path) -> None:
    """The program has the code along: another process needs neither Triton nor the function."""

    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(x)
            add(x, y, out, x.numel(), grid=cdiv(x.numel(), 64))
            return out

    size = torch.export.Dim("size", min=2, max=1000)
    program = torch.export.export(Add(), (torch.randn(100), torch.randn(100)), dynamic_shapes=({0: size}, {0: size}))
    torch.export.save(program, tmp_path / "add.pt2")
    code = f"""
import sys
sys.modules["triton"] = None  # an import raises
import torch, wave_runtime
program = torch.export.load({str(tmp_path / "add.pt2")!r}).module()
x, y = torch.randn(300), torch.randn(300)
assert torch.equal(program(x, y), x + y)
"""
    done = warm_python.run("-c", code)
    assert done.returncode == 0, done.stderr


def test_as_an_operator(kernels: Any, add: Any) -> None:
    """Its fingerprint covers the kernel."""

    def define(kernel: Any) -> Any:
        @wave_runtime.define_op("from_triton_test::add")
        def operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(x)
            kernel(x, y, out, x.numel(), grid=cdiv(x.numel(), 64))
            return out

        return operator

    wide = from_triton(kernels.add, ADD, constants={"BLOCK": 64}, num_warps=8)
    assert define(wide).fingerprint != define(add).fingerprint
    x, y = torch.randn(100), torch.randn(100)
    assert torch.equal(define(add)(x, y), x + y)
    torch.library.opcheck(torch.ops.from_triton_test.add.default, (x, y))


def test_constants(kernels: Any) -> None:
    """Defaults may be left out, and any parameter can be fixed."""
    x, out = torch.randn(64), torch.empty(64)
    from_triton(kernels.scale, "x: *f32 const, out: *f32")(x, out, grid=1)
    assert torch.equal(out, 2 * x)
    from_triton(kernels.scale, "x: *f32 const, out: *f32, factor: f32")(x, out, 0.5, grid=1)
    assert torch.equal(out, x / 2)
    from_triton(kernels.maybe, "x: *f32 const, out: *f32", constants={"mask": None, "BLOCK": 64})(x, out, grid=1)
    assert torch.equal(out, x)


def test_parameters_have_the_order_of_the_function(kernels: Any) -> None:
    scale = from_triton(kernels.scale, "out: *f32, x: *f32 const")
    assert scale.parameters == ("x", "out")
    with pytest.raises(TypeError, match=r"kernel 'scale' takes 2 arguments \(x, out\), given 1"):
        scale(torch.ones(64), grid=1)


def test_numbers_of_all_types(kernels: Any) -> None:
    scalars = from_triton(kernels.scalars, "out: *f64, a: bool, b: i32, c: i64, d: u64, e: f32, f: i32")
    out = torch.empty(6, dtype=torch.float64)
    scalars(out, True, -3, 1 << 40, (1 << 64) - 2048, 0.1, -(1 << 31), grid=1)
    assert out.tolist() == [1, -3, 1 << 40, (1 << 64) - 2048, torch.tensor(0.1).item(), -(1 << 31)]


def test_wrong_arguments(add: Any) -> None:
    x = torch.ones(64)
    with pytest.raises(TypeError, match=r"kernel 'add', argument 1 'y': expected a tensor for \*f32.*float16"):
        add(x, x.half(), x.clone(), 64, grid=1)
    with pytest.raises(ValueError, match="kernel 'add', argument 3 'n': expected i32"):
        add(x, x, x.clone(), 1 << 40, grid=1)
    with pytest.raises(wave_runtime.KernelFault, match=r"past the end of argument 2 'out'[\s\S]*triton_kernels.py:"):
        add(x, x, torch.empty(50), 64, grid=1)


@pytest.mark.parametrize(
    ("signature", "options", "message"),
    [
        (ADD, {}, "kernel 'add': constants= lacks its value: 'BLOCK'"),
        ("x: *f32", {}, "kernel 'add': signature= lacks its type: 'y'"),
        (f"{ADD}, z: i32", {}, "kernel 'add': signature= names 'z', which is none of .*: x, y, out, n, BLOCK"),
        (ADD, {"constants": {"Z": 1}}, "kernel 'add': constants= names 'Z'"),
        (f"{ADD}, BLOCK: i32", {}, "kernel 'add': 'BLOCK' is in signature=, but is tl.constexpr"),
        (ADD, {"constants": {"n": 3, "BLOCK": 64}}, "kernel 'add': 'n' is in signature=, but is in constants=, too"),
        ("*f32, *f32, *f32, i32", {}, "kernel 'add': each parameter in signature=.* needs a name of its own"),
        ("x: *f32, x: *f32", {}, "needs a name of its own"),
        (ADD.replace("i32", "b32"), {"constants": {"BLOCK": 64}}, "kernel 'add', 'n': expected one of the types i8, "),
        (ADD.replace("y: *f32", "y: *"), {"constants": {"BLOCK": 64}}, "kernel 'add', 'y': expected one of .* [*]f32"),
        (ADD, {"constants": {"BLOCK": 64}, "target": "sm_90"}, "target='sm_90': expected an AMD processor"),
    ],
)
def test_what_does_not_fit_the_function(kernels: Any, signature: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_triton(kernels.add, signature, **options)


def test_what_is_no_function_of_triton(kernels: Any) -> None:
    with pytest.raises(TypeError, match=r"expected a @triton.jit function, given Autotuner; .* pass .fn"):
        from_triton(kernels.tuned_add, ADD)
    with pytest.raises(TypeError, match=r"given function$"):
        from_triton(lambda x: x, ADD)
    with pytest.raises(TypeError, match=r"kernel 'add': no option arch, warps; there are .*num_warps"):
        from_triton(kernels.add, ADD, constants={"BLOCK": 64}, warps=2, arch="gfx950")
    with pytest.raises(TypeError, match=r"kernel 'add': signature= must be a str, as .*, given dict"):
        from_triton(kernels.add, {"x": "*fp32"}, constants={"BLOCK": 64})
    with pytest.raises(TypeError, match=r"kernel 'add': constants= must be a dict, as in .*, given int"):
        from_triton(kernels.add, ADD, constants=64)


def test_a_store_to_a_const_pointer(kernels: Any) -> None:
    from triton import CompilationError

    with pytest.raises(CompilationError, match="Cannot store to a constant pointer"):
        from_triton(kernels.add, ADD.replace("out: *f32", "out: *f32 const"), constants={"BLOCK": 64})


def test_what_only_triton_launches(kernels: Any) -> None:
    from wave_runtime.triton._from_triton import _check_launchable

    with pytest.raises(ValueError, match="kernel 'by_table' makes pointers of numbers"):
        from_triton(kernels.by_table, "table: *i64 const, out: *f32, n: i32", constants={"BLOCK": 64})
    metadata = SimpleNamespace(global_scratch_size=0, profile_scratch_size=16)
    with pytest.raises(ValueError, match="kernel 'add' needs scratch memory"):
        _check_launchable("add", SimpleNamespace(metadata=metadata, asm={"ttir": ""}))


def test_calls_that_are_those_of_triton(add: Any) -> None:
    with pytest.raises(TypeError, match=r"takes its grid as other kernels do: .*\(.*, grid=\.\.\.\)"):
        add[(1,)]
    with pytest.raises(TypeError, match=r"unexpected keyword 'block': it takes grid= alone; constants and num_warps"):
        add(torch.ones(64), torch.ones(64), 64, grid=1, block=64)

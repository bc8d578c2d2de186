"""Launchable over kernels: code objects and sources, without IREE."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import pytest
import torch
import warm_python
from runtime_support import ADD_SIGNATURE, SCALE, blocks
from support import EXAMPLES, ROOT

import wave_runtime
from wave_runtime.compat.launchable import Launchable

BASICS = EXAMPLES / "binaries" / "basics.hsaco"


def add_launchable(code: object = BASICS) -> Launchable:
    return Launchable.from_code_object(
        code,
        "vector_add",
        signature=ADD_SIGNATURE,
        arguments=lambda a, b, c: (a, b, c, a.numel()),
        results=lambda a, b: torch.empty_like(a, memory_format=torch.contiguous_format),
        grid=blocks,
        block=256,
    )


@pytest.mark.parametrize(
    "code",
    [
        BASICS,
        str(BASICS),
        BASICS.read_bytes(),
        {"gfx942": BASICS.read_bytes()},
        {"gfx942": BASICS},
        wave_runtime.load(BASICS, signature={"vector_add": ADD_SIGNATURE}),
        wave_runtime.load(BASICS, signature={"vector_add": ADD_SIGNATURE})["vector_add"],
        lambda target: wave_runtime.load(BASICS, target=target, signature={"vector_add": ADD_SIGNATURE}),
    ],
    ids=["path", "str", "bytes", "bytes by target", "path by target", "module", "kernel", "function"],
)
def test_from_code_object(code: object) -> None:
    add = add_launchable(code)
    a, b = torch.randn(1000), torch.randn(1000)
    assert torch.equal(add(a, b), a + b)


def test_outputs_are_given() -> None:
    add = add_launchable()
    a, b, c = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    assert add(a, b, outputs=[c]) is c
    assert torch.equal(c, a + b)


def test_inputs_that_are_not_contiguous() -> None:
    a, b = torch.randn(30, 20).T, torch.randn(20, 30)
    add = add_launchable()
    assert torch.equal(add(a, b, outputs=[torch.empty(20, 30)]), a + b)


@pytest.mark.filterwarnings("ignore:Torchinductor does not support code generation for complex")
@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
def test_inputs_whose_memory_holds_other_values(backend: str | None) -> None:
    """Lazy negatives, contiguous or not, are copied. (Inductor of torch 2.13 takes an input of its graph by its
    memory, so that it gets none here.)"""
    add = add_launchable()

    def run(z: torch.Tensor) -> list[torch.Tensor]:
        strided = z.conj().imag
        dense = torch._neg_view(z.real.contiguous())
        return [add(strided, dense), add(dense, strided), strided + dense]

    torch._dynamo.reset()
    function = run if backend is None else torch.compile(run, backend=backend)
    one, other, expected = function(torch.randn(100, dtype=torch.complex64))
    assert torch.equal(one, expected)
    assert torch.equal(other, expected)
    out = torch._neg_view(torch.zeros(100))
    with pytest.raises(ValueError, match=r"argument 2 'c': the tensor is a lazy negative .* call .resolve_neg\(\)"):
        add(torch.ones(100), torch.ones(100), outputs=[out])


@pytest.mark.needs("clang")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_how_many_results(count: int) -> None:
    """None, a tensor, a list: the rest of what the kernel writes are arguments."""
    source = """extern "C" __global__ void fill(int* a, int* b) { a[threadIdx.x] = 1; b[threadIdx.x] = 2; }"""
    tensors = list(torch.zeros(2, 64, dtype=torch.int32))
    given, made = tensors[: 2 - count], tensors[2 - count :]
    results = [None, lambda a: made[0], lambda: made][count]
    found = Launchable.jit_compile(source, grid=1, block=64, results=results)(*given, device=torch.device("cpu"))
    assert found is [None, made[0] if made else None, found][count]
    assert count < 2 or (isinstance(found, list) and found[0] is made[0] and found[1] is made[1])
    assert [tensor.tolist() for tensor in tensors] == [[1] * 64, [2] * 64]


def test_written_arguments_are_never_copied() -> None:
    """The kernel writes its third argument, which cannot be a copy."""
    add = Launchable.from_code_object(BASICS, "vector_add", signature=ADD_SIGNATURE, grid=1, block=256)
    c = torch.zeros(100)
    assert add(torch.ones(100), torch.ones(100), c, 100) is None
    assert torch.equal(c, torch.full((100,), 2.0))
    with pytest.raises(ValueError, match=r"contiguous"):
        add(torch.ones(100), torch.ones(100), torch.zeros(200)[::2], 100)


def test_nothing_is_launched_of_nothing() -> None:
    assert add_launchable()(torch.empty(0), torch.empty(0)).shape == (0,)


def test_another_target_is_refused() -> None:
    cubin = ROOT / "tests" / "code_object" / "nvidia" / "sm_90.cubin"
    launch = Launchable.from_code_object(cubin, "nothing", grid=1, block=1)
    with pytest.raises(NotImplementedError, match=r"Could not load a target binary for device cpu: .*sm_90"):
        launch.preload(torch.device("cpu"))
    with pytest.raises(NotImplementedError, match=r"Could not load a target binary for device cpu"):
        launch(device=torch.device("cpu"))


def test_the_kernel_must_be_named() -> None:
    launch = Launchable.from_code_object(BASICS, grid=1, block=1)
    with pytest.raises(ValueError, match=r"name the kernel to launch: the code has .*'vector_add', 'matmul_naive'"):
        launch(torch.ones(1))


def test_devices_and_outputs_are_checked() -> None:
    add = add_launchable()
    a = torch.randn(1000)
    with pytest.raises(RuntimeError, match=r"Cannot launch with tensors from multiple devices: meta vs cpu"):
        add(a, a.to("meta"))
    with pytest.raises(RuntimeError, match=r"Cannot launch with tensors from multiple devices: cpu vs meta"):
        add(a, a, device=torch.device("meta"))
    with pytest.raises(
        RuntimeError, match=r"Cannot invoke Launchable .* without any Tensor args or an explicit device="
    ):
        add(1, 2)
    with pytest.raises(AssertionError, match=r"Outputs must be contiguous"):
        add(a, a, outputs=[torch.empty(2000)[::2]])
    with pytest.raises(ValueError, match=r"Unsupported output type: <class 'int'>"):
        add(a, a, outputs=[5])


@pytest.mark.needs("clang")
def test_jit_compile_of_kernels(tmp_path: Path) -> None:
    path = tmp_path / "scale.hip"
    path.write_text(SCALE)
    for source in (SCALE, path):
        scale = Launchable.jit_compile(
            source,
            entry_point="scale",
            results=lambda a, factor, n: torch.empty_like(a),
            arguments=lambda a, factor, n, b: (a, b, factor, n),
            grid=blocks,
            block=256,
        )
        a = torch.randn(1000)
        assert torch.equal(scale(a, 2.0, 1000), 2 * a)
    with pytest.raises(wave_runtime.CompileError, match=r"use of undeclared identifier 'c'"):
        Launchable.jit_compile(SCALE.replace("b[i]", "c[i]"), grid=1).preload(torch.device("cpu"))


@pytest.mark.needs("clang")
def test_file_cache_of_kernels(tmp_path: Path) -> None:
    """A process without a compiler takes what one with a compiler has left."""
    options = {"entry_point": "scale", "grid": 4, "block": 256}
    folder = tmp_path / "new" / "folder"
    with pytest.raises(ValueError, match=f"Specified cache_dir, {folder}, does not exist."):
        Launchable.from_file_cache_only(folder, **options)
    launch = Launchable.jit_compile(SCALE, file_cache_dir=folder, **options)
    assert folder.is_dir()
    kept = Launchable.from_file_cache_only(folder, **options)
    with pytest.raises(RuntimeError, match=f"No kernel found at {folder}/.* Please try running with jit compilation"):
        kept.preload(torch.device("cpu"))
    launch.preload(torch.device("cpu"))
    assert len(list(folder.iterdir())) == 1
    code = f"""
import torch, wave_runtime
a, b = torch.ones(1000), torch.empty(1000)
scale = wave_runtime.Launchable.from_file_cache_only({str(folder)!r}, entry_point="scale", grid=4, block=256)
scale(a, b, 2.0, 1000)  # the types of the source are kept, too: a float is a float
assert torch.equal(b, 2 * a)
"""
    environment = {**os.environ, "PATH": "", "WAVE_RUNTIME_CACHE_DIR": str(tmp_path / "empty")}
    done = warm_python.run("-c", code, env=environment)
    assert done.returncode == 0, done.stderr
    changed = Launchable.jit_compile(SCALE.replace("factor *", "3 * factor *"), file_cache_dir=folder, **options)
    a, b = torch.randn(1000), torch.empty(1000)
    changed(a, b, 2.0, 1000)
    Launchable.from_file_cache_only(folder, **options)(a, b, 2.0, 1000)
    assert torch.equal(b, 6 * a)


def test_options_of_kernels_need_a_grid() -> None:
    with pytest.raises(TypeError, match=r"results, block: for kernels, which need grid="):
        Launchable.jit_compile("module {}", results=lambda: None, block=1)
    with pytest.raises(
        TypeError, match=r"expected MLIR as str, bytes, a path or a module of iree.compiler.ir, given int"
    ):
        Launchable.jit_compile(5)


def test_in_models() -> None:
    """Which are copied, and exported: the program then has the kernel's code."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add = add_launchable()

        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return self.add(a, b) * 2

    model = copy.deepcopy(Model())
    size = torch.export.Dim("size", min=2)
    a, b = torch.randn(100), torch.randn(100)
    program = torch.export.export(model, (a, b), dynamic_shapes=({0: size}, {0: size}))
    assert torch.ops.wave.launch_embedded.default in [node.target for node in program.graph.nodes]
    a, b = torch.randn(1000), torch.randn(1000)
    assert torch.equal(program.module()(a, b), (a + b) * 2)


def test_traced() -> None:
    add = add_launchable()
    a, b = torch.randn(1000), torch.randn(1000)
    traced = torch.compile(lambda a, b: add(a, b) + 1, fullgraph=True, backend="aot_eager")
    assert torch.equal(traced(a, b), a + b + 1)

"""torch.export: the program has the kernels' code in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from export_support import EXPORTED, IMPORT, ONLY_LIBRARY, Model, cases, exported, run_elsewhere, several_builds

import wave_runtime
from wave_runtime import _C

Kernel = wave_runtime.Kernel


def test_model(model: Model) -> None:
    """What the others compare with."""
    for inputs, expected in cases(model):
        torch.testing.assert_close(model(*inputs), expected, rtol=0, atol=0)


@pytest.mark.parametrize(("strict", "prelude"), [(False, IMPORT), (True, ONLY_LIBRARY)], ids=["package", "library"])
def test_in_another_process(model: Model, strict: bool, prelude: str, cases_file: Path, tmp_path: Path) -> None:
    program = exported(model, strict)
    code = [constant for constant in program.constants.values() if constant.dtype == torch.uint8]
    assert len(code) == 2, "each file's code stands in the program once"
    torch.export.save(program, tmp_path / "model.pt2")
    run_elsewhere(EXPORTED, prelude, tmp_path / "model.pt2", cases_file)


def test_all_builds_travel() -> None:
    kernel = several_builds()
    module = wave_runtime.load(bytes(_C.embedded_code(kernel.handle).numpy()))
    assert module.targets == ("gfx90a:xnack+", "gfx942", "sm_90", "sm_80")
    assert module["scale"].handle.split("@")[1] == kernel.handle.split("@")[1].split(":")[0]


def test_schema_is_that_of_launch() -> None:
    launch, embedded = (str(op.default._schema) for op in (torch.ops.wave.launch, torch.ops.wave.launch_embedded))
    assert embedded == launch.replace("::launch(", "::launch_embedded(")
    assert torch.ops.wave.launch_embedded.default.tags == torch.ops.wave.launch.default.tags


def test_opcheck(vector_add: Kernel) -> None:
    a, b, out = torch.randn(500), torch.randn(500), torch.zeros(500)
    inputs = [_C.embedded_code(vector_add.handle), a, b]
    torch.library.opcheck(
        torch.ops.wave.launch_embedded.default, (vector_add.handle, inputs, [out], [500], [], [2], [256])
    )


def launch(handle: str, code: torch.Tensor | None) -> torch.Tensor:
    out = torch.zeros(8)
    inputs = [torch.ones(8), torch.ones(8)]
    torch.ops.wave.launch_embedded(handle, inputs if code is None else [code, *inputs], [out], [8], [], [1], [64])
    return out


def unknown_handle(kernel: Kernel) -> str:
    """That of a kernel which this process has not loaded: the signature has other names."""
    return kernel.handle.replace("n: i32", "count: i32")


def test_a_kernel_is_made_at_first_sight(vector_add: Kernel) -> None:
    assert torch.equal(launch(unknown_handle(vector_add), _C.embedded_code(vector_add.handle)), torch.full((8,), 2.0))


def test_code_must_be_what_the_handle_says(vector_add: Kernel) -> None:
    handle = vector_add.handle.replace("n: i32", "length: i32")
    code = _C.embedded_code(vector_add.handle)
    with pytest.raises(ValueError, match=r"travels with kernel 'vector_add': malformed code object at offset"):
        launch(handle, code[:-1000])
    digits = handle.split("@")[1][:16]
    other = handle.replace(digits, digits[::-1])
    with pytest.raises(ValueError, match=rf"handle '.*{digits[::-1]}.*' is other code, of a kernel with '.*{digits}"):
        launch(other, code)
    with pytest.raises(ValueError, match='no kernel "unknown" in the code object for gfx942'):
        launch(handle.replace("vector_add", "unknown"), code)
    with pytest.raises(ValueError, match=r"expected the code of kernel 'vector_add' as inputs\[0\], .*given no inputs"):
        torch.ops.wave.launch_embedded(handle, [], [torch.zeros(8)], [8], [], [1], [64])
    with pytest.raises(ValueError, match=r"as inputs\[0\], a uint8 tensor of one dimension, given float32 \[8\]"):
        launch(handle, None)
    assert torch.equal(launch(handle, code), torch.full((8,), 2.0)), "nothing was registered before"


def test_requires_grad_raises(vector_add: Kernel) -> None:
    def add(a: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(a)
        vector_add(a, a, out, 8, grid=1, block=64)
        return out

    class Module(torch.nn.Module):
        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return add(a)

    program = torch.export.export(Module(), (torch.ones(8),)).module()
    with pytest.raises(RuntimeError, match="kernel 'vector_add': a tensor requires grad, but a launch has no derivat"):
        program(torch.ones(8, requires_grad=True))


def test_an_operator_called_as_such_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"Exported programs find their kernels in themselves .* kernel\(\.\.\.\)"):
        torch.ops.wave.launch("gone@0123456789abcdef", [], [torch.zeros(1)], [], [], [1], [1])


@pytest.mark.parametrize("strict", [False, True])
def test_an_operator_in_a_branch(vector_add: Kernel, strict: bool) -> None:
    """Its body runs while the branch is traced, to tell what its result is: its launches are no part of the program."""

    @wave_runtime.define_op("export_test::doubled")
    def doubled(a: torch.Tensor) -> torch.Tensor:
        b = torch.empty_like(a)
        vector_add(a, a, b, a.shape[0], grid=4, block=256)
        return b

    class Branches(torch.nn.Module):
        def forward(self, a: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = torch.cond(
                a.sum() > 0, lambda a: torch.ops.export_test.doubled(a), lambda a: a.clone(), (a,)
            )
            return result

    a = torch.rand(1000)
    program = torch.export.export(Branches(), (a,), strict=strict)
    for each in (program, program.run_decompositions()):
        assert torch.equal(each.module()(a), a + a)
        assert torch.equal(each.module()(-a), -a)

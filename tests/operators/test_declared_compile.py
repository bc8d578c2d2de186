"""Declared operators under torch.compile and torch.export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from operators_support import vector_add
from torch import Tensor
from torch._dynamo.testing import CompileCounter
from torch._inductor.utils import fresh_cache, run_and_get_code

import wave_runtime
from wave_runtime import cdiv

OPTIONS: dict[str, Any] = {
    "arguments": {"n": lambda a: a.numel()},
    "grid": lambda a: cdiv(a.numel(), 256),
    "block": 256,
}
OUTPUTS: dict[str, Any] = {"c": lambda a: a.new_empty(a.shape)}

opaque = wave_runtime.define_op("wave_test::declared_opaque", vector_add, outputs=OUTPUTS, **OPTIONS)
inlined = wave_runtime.define_op("wave_test::declared_inlined", vector_add, outputs=OUTPUTS, inline=True, **OPTIONS)
in_place = wave_runtime.define_op("wave_test::declared_in_place", vector_add, **OPTIONS)


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("op", [opaque, inlined], ids=["opaque", "inlined"])
def test_sizes_do_not_recompile(op: wave_runtime.Operator) -> None:
    counter = CompileCounter()
    compiled = torch.compile(lambda a, b: op(a, b), fullgraph=True, dynamic=True, backend=counter)
    for n in (1000, 37, 38, 4096, 5):
        a, b = torch.randn(n), torch.randn(n)
        assert torch.equal(compiled(a, b), a + b)
    assert counter.frame_count == 1


@fresh_cache()  # the user's may have the code of another release
def test_no_copies_and_order_with_fused_kernels() -> None:
    def function(a: Tensor, b: Tensor) -> Tensor:
        out = torch.empty_like(a)
        in_place(torch.relu(a) * 2, b, out)
        return inlined(opaque(out, b), b) * 3

    a, b = torch.randn(500), torch.randn(500)
    result, (code, *_) = run_and_get_code(torch.compile(function, fullgraph=True), a, b)
    torch.testing.assert_close(result, (torch.relu(a) * 2 + 3 * b) * 3)
    code = code.split("def call(self, args):")[1].split("runner =")[0]
    assert code.count("torch.ops.wave_test.declared_opaque.default.inductor_call(") == 1
    assert code.count("torch.ops.wave_test.declared_in_place.default.inductor_call(") == 1
    assert code.count("torch.ops.wave_kernel.") == 1
    assert not re.search(r"clone|copy_", code), code


@fresh_cache()
def test_compiled_code_checks_results_of_programmed_operators_alone() -> None:
    """What is declared has the sizes that the compiler was told, since it was told by the same expressions."""

    @wave_runtime.define_op("wave_test::programmed_beside_declared")
    def programmed(a: Tensor) -> Tensor:
        return a.new_empty(a.shape).fill_(1)

    def function(a: Tensor, b: Tensor) -> Tensor:
        return opaque(programmed(a), b) + 1

    a, b = torch.randn(500), torch.randn(500)
    result, (code, *_) = run_and_get_code(torch.compile(function, fullgraph=True, dynamic=True), a, b)
    assert torch.equal(result, 1 + b + 1)
    # Since torch 2.14 it is their metadata that is checked.
    checks = re.findall(r"assert_(?:size_stride|tensor_metadata)\(buf.*'torch\.ops\.wave_test\.(\w+)\.default'\)", code)
    assert checks == ["programmed_beside_declared"], code


def test_export_has_the_launch_itself() -> None:
    class Model(torch.nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return opaque(a, b) * 2

    size = torch.export.Dim("size", min=2, max=10**6)
    a, b = torch.randn(500), torch.randn(500)
    for strict in (False, True):
        shapes = {"a": {0: size}, "b": {0: size}}
        program = torch.export.export(Model(), (a, b), dynamic_shapes=shapes, strict=strict)
        assert "declared_opaque" not in str(program.graph)
        for n in (500, 37):
            c = torch.randn(n)
            assert torch.equal(program.module()(c, c), c * 4)

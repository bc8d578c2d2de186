"""torch.fx.symbolic_trace passes stand-ins that are no tensors: launches and operators are calls in its graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from operators_support import add, add_out, declare_add, inlined_add, vector_add
from torch import Tensor

import wave_runtime
from wave_runtime import cdiv

declared = declare_add("wave_test::traced_declared")


@wave_runtime.define_op("wave_test::traced_sum")
def total(tensors: list[Tensor], times: int = 1) -> Tensor:
    result = tensors[0] * times
    for tensor in tensors[1:]:
        result = add(result, tensor * times)
    return result


def launched(a: Tensor, b: Tensor) -> Tensor:
    c = torch.empty_like(a)
    n = a.numel()
    vector_add(a, b, c, n, grid=(torch.sym_max(cdiv(n, 256), 1), 1), block=256)  # type: ignore[no-untyped-call]
    return c


def written(a: Tensor, b: Tensor) -> Tensor:
    c = torch.empty_like(a)
    add_out(a, b, out=c)
    return c


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "operator": lambda a, b: add(a, b),
    "keyword": lambda a, b: add(a, b=b),
    "inlined": lambda a, b: inlined_add(a, b),
    "declared": lambda a, b: declared(a, b),
    "list": lambda a, b: total([a, b]),
    "number": lambda a, b: total([a, b], a.shape[0] // a.shape[0]),
    "launch": launched,
    "written": written,
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_graph(function: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return FUNCTIONS[function](a, b)

    traced = torch.fx.symbolic_trace(Model())
    traced.graph.eliminate_dead_code()  # keeps what writes
    traced.recompile()
    for size in (500, 20):
        a, b = torch.randn(size), torch.randn(size)
        assert torch.equal(traced(a, b), a + b)
    fingerprints = [node.kwargs["fingerprint"] for node in traced.graph.nodes if "fingerprint" in node.kwargs]
    assert fingerprints or function == "launch"

"""An operator of define_op as users of torch know operators: ``torch.ops.mylib.add(a, b)``, without a fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from operators_support import add, add_out, declare_add, launch_add, matmul
from torch import Tensor
from torch._dynamo.testing import AotEagerAndRecordGraphs
from torch.fx.experimental.proxy_tensor import make_fx

import wave_runtime

declared = declare_add("wave_test::plain_declared")
OPERATORS = {"function": torch.ops.wave_test.add, "declared": torch.ops.wave_test.plain_declared}
OBJECTS = {"function": add, "declared": declared}


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("kind", OPERATORS)
def test_eager_and_opcheck(kind: str) -> None:
    a, b = torch.randn(500), torch.randn(500)
    for operator in (OPERATORS[kind], OPERATORS[kind].default):
        assert torch.equal(operator(a, b), a + b)
        assert torch.equal(operator(a, b=b), a + b)
        torch.library.opcheck(operator, (a, b))
    with torch.inference_mode():
        assert torch.equal(OPERATORS[kind](a, b), a + b)
    assert OPERATORS[kind](a.to("meta"), b.to("meta")).shape == a.shape


def nodes(graph: torch.fx.GraphModule, operator: wave_runtime.Operator) -> list[dict[str, Any]]:
    """The keywords of an operator's calls in a graph."""
    targets = (operator.overload, operator.overload.overloadpacket)
    return [node.kwargs for node in graph.graph.nodes if node.target in targets]


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("kind", OPERATORS)
def test_graphs_have_the_fingerprint(kind: str, mode: Callable[[], Any]) -> None:
    """Dynamo's graph and AOTAutograd's: caches keep what is compiled by their texts."""
    operator, expected = OPERATORS[kind], {"fingerprint": OBJECTS[kind].fingerprint}
    recorded = AotEagerAndRecordGraphs()

    @torch.compile(fullgraph=True, backend=recorded)
    def function(a: Tensor, b: Tensor) -> Tensor:
        return operator(operator(a, b), b) + operator.default(a, b)

    with mode():
        a, b = torch.randn(500), torch.randn(500)
        assert torch.equal(function(a, b), a + b + b + (a + b))
    for graph in (*recorded.graphs, *recorded.fw_graphs):
        assert nodes(graph, OBJECTS[kind]) == [expected] * 3
    traced = make_fx(lambda a, b: operator(a, b))(torch.randn(5), torch.randn(5))
    assert nodes(traced, OBJECTS[kind]) == [expected]


@pytest.mark.filterwarnings("ignore:Your compiler for AOTAutograd")  # torch's, about its own backend
def test_gradients_and_written_arguments() -> None:
    recorded = AotEagerAndRecordGraphs()

    @torch.compile(fullgraph=True, backend=recorded)
    def function(a: Tensor, b: Tensor) -> Tensor:
        product = torch.ops.wave_test.matmul(a, b)
        out = torch.empty_like(b)
        torch.ops.wave_test.add_out(b, b, out=out)
        return product + out

    a, b = torch.randn(16, 16, requires_grad=True), torch.randn(16, 16)
    result = function(a, b)
    result.sum().backward()
    torch.testing.assert_close(result, a @ b + 2 * b)
    torch.testing.assert_close(a.grad, torch.ones(16, 16) @ b.T)
    for graph in (recorded.graphs[0], recorded.fw_graphs[0], recorded.bw_graphs[0]):
        assert nodes(graph, matmul) == [{"fingerprint": matmul.fingerprint}]
    assert [keywords["fingerprint"] for keywords in nodes(recorded.graphs[0], add_out)] == [add_out.fingerprint]


def test_transforms() -> None:
    """torch.vmap and autocast, with the rules that the operator has; in compiled code, too."""

    @wave_runtime.define_op("wave_test::ruled_add")
    def ruled(a: Tensor, b: Tensor) -> Tensor:
        c = torch.empty_like(a)
        launch_add(a, b, c)
        return c

    ruled.register_vmap()
    ruled.register_autocast(torch.float32)
    a, b = torch.randn(10, 50), torch.randn(10, 50)
    batched = torch.vmap(lambda a, b: torch.ops.wave_test.ruled_add(a, b))
    assert torch.equal(batched(a, b), a + b)
    assert torch.equal(torch.compile(batched, fullgraph=True, backend="aot_eager")(a, b), a + b)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = torch.ops.wave_test.ruled_add(a.bfloat16(), b)
    assert torch.equal(result, a.bfloat16().float() + b)


def test_compiled_code_runs_what_is_defined_now() -> None:
    def define(value: float, rows: int) -> None:
        @wave_runtime.define_op("wave_test::defined_twice")
        def defined_twice(a: Tensor) -> Tensor:
            return a.new_full((rows,), value)

    compiled = torch.compile(lambda a: torch.ops.wave_test.defined_twice(a) * 2, fullgraph=True, backend="aot_eager")
    define(1.0, rows=2)
    assert compiled(torch.zeros(1)).tolist() == [2.0, 2.0]
    define(3.0, rows=3)
    assert compiled(torch.zeros(1)).tolist() == [6.0, 6.0, 6.0]


@pytest.mark.parametrize("strict", [False, True])
def test_export_keeps_the_operator(strict: bool) -> None:
    class Model(torch.nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            sum: Tensor = torch.ops.wave_test.add(a, b)
            return sum * 2

    a, b = torch.randn(500), torch.randn(500)
    program = torch.export.export(Model(), (a, b), strict=strict)
    assert len(nodes(program.graph_module, add)) == 1
    assert torch.equal(program.module()(a, b), (a + b) * 2)

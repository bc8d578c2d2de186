"""Graphs of torch.cuda where a GPU is emulated: nothing runs in a capture, everything at each replay."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from support import EXAMPLES

import wave_runtime
from wave_emulator import library

NOT_PERMITTED = "operation not permitted when stream is capturing"


@pytest.fixture(autouse=True)
def gpu() -> Iterator[wave_runtime.Emulation]:
    with wave_runtime.emulate("gfx942") as emulation:
        yield emulation


def captured(function: Callable[[], Any]) -> tuple[torch.cuda.CUDAGraph, Any]:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


def test_operators_run_at_replays_only() -> None:
    x, counter = torch.ones(4, device="cuda"), torch.zeros(4, device="cuda")

    def function() -> torch.Tensor:
        counter.add_(1)
        return (x * 2).view(2, 2)

    graph, y = captured(function)
    assert counter.sum() == 0
    for step in (1, 2):
        x.fill_(step)
        graph.replay()
        assert torch.equal(y, torch.full((2, 2), 2.0 * step))
        assert counter.sum() == 4 * step


def test_launches_run_at_replays_only(vector_add: wave_runtime.Kernel) -> None:
    """Whoever reads their arguments, and in their order among operators."""
    a, b = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    bound_to = torch.zeros(1000, device="cuda")
    bound = vector_add.bind(a, b, bound_to, 1000, grid=4, block=256)
    sequence = wave_runtime.sequence([bound, bound])
    seen: list[str] = []

    def function() -> tuple[torch.Tensor, ...]:
        c, d = torch.empty_like(a), torch.empty_like(a)
        vector_add(a, b, c, 1000, grid=4, block=256)
        doubled = c * 2
        vector_add._launch_addresses(doubled, c, d, 1000, grid=4, block=256, raw=True)
        bound()
        sequence()
        return c, doubled, d

    with wave_runtime.hooks.launch_hook(enter=lambda event: seen.append(event.kernel)):
        graph, results = captured(function)
        assert seen == []
        a.copy_(torch.randn(1000))
        graph.replay()
    assert len(seen) == 5
    for result, times in zip(results, (1, 2, 3), strict=True):
        torch.testing.assert_close(result, times * (a + b))
    assert torch.equal(bound_to, a + b)


def test_a_replay_is_looked_at_as_a_launch_is(vector_add: wave_runtime.Kernel) -> None:
    a, c = torch.ones(1000, device="cuda"), torch.ones(500, device="cuda")
    graph, _ = captured(lambda: vector_add(a, a, c, 1000, grid=4, block=256))
    with pytest.raises(wave_runtime.KernelFault, match=r"'vector_add'.*past the end of argument 2 'c'"):
        graph.replay()


def test_upstreams_launches() -> None:
    _, function = wave_runtime.load_binary(str(EXAMPLES / "binaries" / "basics.hsaco"), "vector_add")
    info = wave_runtime.KernelLaunchInfo(gpu_func=function, gridX=4, blockX=256)
    a, c = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")

    def function_of_both() -> None:
        wave_runtime.launch(info, [a, a, c], [], [1000])
        wave_runtime.launch(info, [c.data_ptr(), a.data_ptr(), c.data_ptr()], [], [1000])

    graph, _ = captured(function_of_both)
    assert c.sum() == 0
    graph.replay()
    assert c.eq(3).all()


def test_what_a_graph_uses_lives_as_long(vector_add: wave_runtime.Kernel) -> None:
    def function() -> torch.Tensor:
        a = torch.full((1000,), 3.0, device="cuda")
        c = torch.empty_like(a)
        vector_add(a, a, c, 1000, grid=4, block=256)
        return c[:2]

    graph, part = captured(function)
    for _ in range(3):
        torch.full((1000,), 9.0)
        graph.replay()
        assert part.eq(6).all()


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = (torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4))
    return torch.nn.Sequential(*layers).cuda()


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9),
        lambda parameters: torch.optim.Adam(parameters, 0.01, capturable=True),
    ],
    ids=["SGD", "Adam"],
)
def test_a_step_of_training(optimizer: Callable[[Any], torch.optim.Optimizer]) -> None:
    x, y = torch.randn(5, 8, device="cuda"), torch.randn(5, 4, device="cuda")
    models = [network(), network()]
    optimizers = [optimizer(model.parameters()) for model in models]

    def step(index: int) -> torch.Tensor:
        optimizers[index].zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(models[index](x), y)
        loss.backward()
        optimizers[index].step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for index in (0, 1):
            step(index)
    graph, loss = captured(lambda: step(0))
    for _ in range(3):
        x.copy_(torch.randn(5, 8))
        graph.replay()
        assert torch.equal(loss, step(1))


def test_adam_that_is_not_capturable_says_so() -> None:
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 8, device="cuda")).sum().backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match=f"{NOT_PERMITTED}|capturable is False"):
        captured(optimizer.step)


def test_graphed_callables() -> None:
    models = [network(), network()]
    sample = torch.randn(5, 8, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(models[0], (sample,))
    for _ in range(2):
        inputs = [torch.randn(5, 8, device="cuda").requires_grad_()]
        inputs.append(inputs[0].detach().clone().requires_grad_())
        for model, x in zip((graphed, models[1]), inputs, strict=True):
            model.zero_grad(set_to_none=True)
            model(x).square().sum().backward()
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad)
        for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad)


def test_views_and_inference_mode() -> None:
    with torch.inference_mode():
        a = torch.randn(4, 6, device="cuda")
        layer = torch.nn.Linear(6, 3).cuda()

        def function() -> list[torch.Tensor]:
            first = torch.zeros(3, device="cuda")
            first[0] = 5
            out = torch.empty(0, device="cuda")
            torch.add(a, 1, out=out)
            return [
                *(a.t().reshape(-1)[3:9], layer(a).relu_().transpose(0, 1).contiguous(), a.argmax(-1)),
                *(a[0].view(2, 3).clone(), first, a.masked_fill(a > 0, 0), out, *a.unbind(1), torch.stack([a, a])),
            ]

        graph, results = captured(function)
        a.copy_(torch.randn(4, 6))
        graph.replay()
        for result, expected in zip(results, function(), strict=True):
            torch.testing.assert_close(result, expected)


def test_random_numbers_differ_at_each_replay() -> None:
    x = torch.ones(1000, device="cuda")
    state = torch.cuda.get_rng_state()
    graph, y = captured(lambda: torch.nn.functional.dropout(x))
    assert torch.equal(torch.cuda.get_rng_state(), state)
    graph.replay()
    before = y.clone()
    graph.replay()
    assert not torch.equal(y, before)


def test_a_compiled_function_is_captured_as_it_was_written() -> None:
    compiled = torch.compile(lambda x: x.sin() + 1, backend="aot_eager")
    x = torch.randn(10, device="cuda")
    compiled(x)  # what it was compiled to is not seen by a capture
    graph, y = captured(lambda: compiled(x))
    x.copy_(torch.randn(10))
    graph.replay()
    torch.testing.assert_close(y, x.sin() + 1)


def test_an_operator_without_a_rule_for_shapes() -> None:
    library = torch.library.Library("wave_runtime_test_graphs", "FRAGMENT")
    library.define("shift_(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)")
    library.impl("shift_", lambda x, y: (x.add_(y), x * y), "CPU")
    x, y = torch.ones(3, device="cuda"), torch.ones(3, device="cuda")
    graph, (same, product) = captured(lambda: torch.ops.wave_runtime_test_graphs.shift_(x, y))
    assert same is x
    assert x.sum() == 3
    graph.replay()
    assert (x.sum(), product.sum()) == (6, 6)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: (x + 1).sum().item(),
        lambda x: (x + 1).nonzero(),
        lambda x: bool(x[0] > 0),
        lambda x: (x + 1).cpu(),
        lambda x: (x + 1).to("cpu"),
        lambda x: x.tolist(),
        lambda x: (x + 1).numpy(),
        lambda x: torch.equal(x, x + 1),
        lambda x: torch.cuda.synchronize(),
        lambda x: torch.cuda.current_stream().synchronize(),
        lambda x: captured(lambda: None)[0],
    ],
)
def test_what_would_have_to_wait(read: Callable[[torch.Tensor], object]) -> None:
    x = torch.ones(3, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match=f"{NOT_PERMITTED}|captured already"), torch.cuda.graph(graph):
        read(x)
    assert not torch.cuda.is_current_stream_capturing()
    assert x.tolist() == [1, 1, 1]
    assert (x + 1).sum().item() == 6


def test_a_tensor_of_the_host_may_be_read() -> None:
    host = torch.ones(3)
    graph, (total, moved) = captured(lambda: (host.sum, host.cuda()))
    assert total() == 3
    host.fill_(2)
    graph.replay()
    assert moved.tolist() == [2, 2, 2]


def test_errors_in_a_capture() -> None:
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="must match the size"), torch.cuda.graph(graph):
        x + torch.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    graph.capture_begin()
    with contextlib.suppress(RuntimeError):
        (x + 1).sum().item()
    with pytest.raises(RuntimeError, match=r"ended by an earlier error: .*_local_scalar_dense"):
        graph.capture_end()
    with pytest.raises(KeyError), torch.cuda.graph(graph):
        raise KeyError("the program's own")
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="none")
    with pytest.raises(RuntimeError, match="without capture_begin"):
        graph.capture_end()
    with torch.cuda.graph(graph):
        x += 1
    graph.replay()
    assert x.tolist() == [2, 2, 2]
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(NotImplementedError, match="no graph of HIP"):
        graph.raw_cuda_graph()


def test_other_threads_are_not_captured() -> None:
    seen: list[object] = []

    def other() -> None:
        seen.append((torch.ones(3, device="cuda") + 1).sum().item())
        seen.append(torch.cuda.is_current_stream_capturing())
        with pytest.raises(RuntimeError, match="a graph is being captured already"):
            torch.cuda.CUDAGraph().capture_begin()

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.current_stream().is_capturing()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [6.0, False]


def test_pools() -> None:
    pool = torch.cuda.graph_pool_handle()
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    x = torch.ones(3, device="cuda")
    with torch.cuda.graph(first, pool=pool):
        y = x + 1
    with torch.cuda.graph(second, pool=first.pool()):
        z = y + 1
    assert first.pool() == second.pool() == pool != torch.cuda.graph_pool_handle()
    first.replay()
    second.replay()
    assert z.tolist() == [3, 3, 3]


def test_launches_by_hip_itself_are_refused() -> None:
    """They would run in the capture, and at no replay. The library's own captures are another matter."""
    hip = ctypes.CDLL(str(library("wave_hip_emulator")))
    image = (EXAMPLES / "binaries" / "basics.hsaco").read_bytes()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0
    assert hip.hipModuleGetFunction(ctypes.byref(function), module, b"vector_add") == 0
    a, c = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    values = [*(ctypes.c_uint64(tensor.data_ptr()) for tensor in (a, a, c)), ctypes.c_int(1000)]
    arguments = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))

    def launch() -> int:
        code: int = hip.hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, arguments, None)
        hip.hipDeviceSynchronize()
        return code

    assert captured(launch)[1] == 900  # hipErrorStreamCaptureUnsupported
    assert not c.any()
    assert launch() == 0
    assert c.eq(2).all()
    assert hip.hipModuleUnload(module) == 0

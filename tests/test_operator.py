"""torch.ops.wave.launch in eager mode, and kernel(...) beside it: what PyTorch expects of an operator that writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support import LoadKernel, Watch

import wave_runtime

BASICS = Path(__file__).parent.parent / "examples/kernels/binaries/basics.hsaco"

Launch = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]


@pytest.fixture(params=["call", "operator"])
def add(request: pytest.FixtureRequest, vector_add: wave_runtime.Kernel) -> Launch:
    """out = a + b by the fast call or by the operator: both must behave alike."""
    if request.param == "call":
        return lambda a, b, out: vector_add(a, b, out, a.numel(), grid=-(-a.numel() // 256), block=256)
    return lambda a, b, out: torch.ops.wave.launch(
        vector_add.handle, [a, b], [out], [a.numel()], [], [-(-a.numel() // 256)], [256]
    )


def inputs(n: int = 500) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(n), torch.randn(n), torch.zeros(n)


def test_result(add: Launch) -> None:
    a, b, out = inputs()
    add(a, b, out)
    assert torch.equal(out, a + b)


def test_schema() -> None:
    assert str(torch.ops.wave.launch.default._schema) == (
        "wave::launch(str kernel, Tensor[] inputs, Tensor(a!)[] outputs, SymInt[] ints, float[] floats, SymInt[] grid, "
        "SymInt[] block, SymInt shared_memory=0, SymInt[]? cluster=None, bool cooperative=False, "
        "bool programmatic=False, int? priority=None) -> ()"
    )
    tags = torch.ops.wave.launch.default.tags
    assert torch.Tag.pt2_compliant_tag in tags
    assert torch.Tag.needs_exact_strides in tags


def test_opcheck(vector_add: wave_runtime.Kernel) -> None:
    a, b, out = inputs()
    torch.library.opcheck(torch.ops.wave.launch.default, (vector_add.handle, [a, b], [out], [500], [], [2], [256]))


def test_version_counter_is_bumped(add: Launch) -> None:
    a, b, out = inputs()
    versions = a._version, out._version
    add(a, b, out)
    assert (a._version, out._version) == (versions[0], versions[1] + 1)


def test_saved_tensor_that_is_written_raises_in_backward(add: Launch) -> None:
    """Without the bump the gradient would be wrong with no error."""
    a, b, out = inputs()
    weight = torch.randn(500, requires_grad=True)
    add(a, b, out)
    loss = (weight * out).sum()
    add(b, b, out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_views_share_the_version(add: Launch) -> None:
    a, b, base = inputs()
    version = base._version
    add(a[:64], b[:64], base[100:164])
    assert base._version == version + 1
    assert torch.equal(base[100:164], a[:64] + b[:64])


@pytest.mark.parametrize("position", [0, 1, 2])
def test_requires_grad_raises(add: Launch, position: int) -> None:
    tensors = list(inputs())
    tensors[position].requires_grad_()
    message = r"kernel 'vector_add': a tensor requires grad, but a launch has no derivative.*torch.no_grad"
    with pytest.raises(RuntimeError, match=message):
        add(*tensors)
    with torch.no_grad():
        add(*tensors)
    assert torch.equal(tensors[2].detach(), (tensors[0] + tensors[1]).detach())


def test_forward_mode_tangent_raises(add: Launch) -> None:
    a, b, out = inputs()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, torch.ones_like(a))
        with pytest.raises(RuntimeError, match="carries a forward-mode tangent"):
            add(dual, b, out)


def test_inside_an_autograd_function(add: Launch) -> None:
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(a)
            add(a, b, out)
            return out

        @staticmethod
        def backward(ctx: object, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return gradient, gradient

    a = torch.randn(500, requires_grad=True)
    b = torch.randn(500, requires_grad=True)
    Add.apply(a, b).sum().backward()
    assert torch.equal(a.grad, torch.ones(500))


def test_inference_mode(add: Launch) -> None:
    outside = torch.zeros(500)
    with torch.inference_mode():
        a, b, out = inputs()
        add(a, b, out)
        add(a, b, outside)
        assert torch.equal(out, a + b)
        assert torch.equal(outside, out)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        add(torch.ones(500), torch.ones(500), out)
    assert torch.equal(out, outside), "nothing may be written where the call raises"


def test_meta_tensors(add: Launch) -> None:
    a, b, out = (tensor.to("meta") for tensor in inputs())
    add(a, b, out)
    with pytest.raises(ValueError, match="different devices"):
        add(a, torch.zeros(500), out)


def test_parameters_are_tensors(add: Launch) -> None:
    weight = torch.nn.Parameter(torch.randn(500), requires_grad=False)
    _, b, out = inputs()
    add(weight, b, out)
    assert torch.equal(out, weight + b)


def test_empty_tensors(add: Launch) -> None:
    """A grid cannot be empty, so a launch over nothing still runs a workgroup, which finds nothing to do."""
    empty = torch.zeros(0)
    with pytest.raises(ValueError, match="has an extent below 1"):
        add(empty, empty, empty)


def test_modes_see_the_operator(vector_add: wave_runtime.Kernel) -> None:
    a, b, out = inputs()
    with Watch() as watch:
        vector_add(a, b, out, 500, grid=2, block=256)
    assert watch.seen == ["wave.launch.default"]
    assert torch.equal(out, a + b)


def test_subclasses_see_the_operator(vector_add: wave_runtime.Kernel) -> None:
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append(getattr(function, "__name__", str(function)))
            return super().__torch_function__(function, types, args, kwargs or {})

    a, b, out = inputs()
    vector_add(a.as_subclass(Watched), b, out, 500, grid=2, block=256)
    assert any("launch" in name for name in seen), seen
    assert torch.equal(out, a + b)


def test_jit_trace_raises(add: Launch) -> None:
    a, b, out = inputs()
    with pytest.raises(RuntimeError, match=r"torch\.jit\.trace is not supported"):
        torch.jit.trace(lambda a, b: add(a, b, out), (a, b), check_trace=False)


def test_vmap_raises(add: Launch) -> None:
    """A launch writes what it is given, so that nobody can guess what a batch of them is."""
    out = torch.zeros(500)
    message = r"kernel 'vector_add': a launch has no rule for torch\.vmap.*define_op.*register_vmap"
    with pytest.raises(RuntimeError, match=message):
        torch.vmap(lambda a: add(a, a, out))(torch.randn(3, 500))


def test_vmap_raises_for_operators_of_one_kernel(vector_add: wave_runtime.Kernel) -> None:
    operator = vector_add.as_operator("wave_test::unbatched", block=256)
    a, out = torch.randn(3, 500), torch.zeros(500)
    message = r"kernel 'vector_add': a launch has no rule for torch\.vmap.*define_op.*register_vmap"
    with pytest.raises(RuntimeError, match=message):
        torch.vmap(lambda a: operator(a, a, out, 500, 2))(a)
    torch.vmap(lambda a: (operator(out, out + 1, out.clone(), 500, 2), a)[1])(a)  # no batch among its tensors


def test_no_tensor_at_all(vector_add: wave_runtime.Kernel, probe: LoadKernel) -> None:
    kernel = probe("spin", "i64, i64, i32, i32")
    message = "kernel 'spin': no tensor among the arguments, so there is no device to launch on"
    with pytest.raises(ValueError, match=message):
        kernel(0, 0, 0, 0, grid=1, block=64)
    with pytest.raises(ValueError, match=message):
        torch.ops.wave.launch(kernel.handle, [], [], [0, 0, 0, 0], [], [1], [64])


def test_unknown_handle_says_how_to_load_it() -> None:
    message = (
        r"no kernel with the handle 'gemm@0123456789abcdef' is loaded in this process: "
        r"call wave_runtime.load\(\) on the code object whose SHA-256 begins with 0123456789abcdef"
    )
    with pytest.raises(ValueError, match=message):
        torch.ops.wave.launch("gemm@0123456789abcdef", [torch.zeros(1)], [], [], [], [1], [1])


def test_wrong_number_of_items_in_lists(vector_add: wave_runtime.Kernel) -> None:
    a, b, out = inputs()
    message = r"takes 2 inputs, 1 outputs, 1 ints and 0 floats, given 1, 2, 0 and 1"
    with pytest.raises(ValueError, match=message):
        torch.ops.wave.launch(vector_add.handle, [a], [b, out], [], [1.0], [2], [256])


def test_operator_with_every_kind_of_scalar(language: LoadKernel) -> None:
    """Lists hold words of 64 bits: unsigned 64-bit numbers as two's complement, bytes in little-endian words."""
    signature = "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, bytes[8]"
    kernel = language("argument_types", signature)
    call, operator, tensors = (torch.zeros(104, dtype=torch.uint8) for _ in range(3))
    kernel(call, -1, 2, -3, 4, -5, 6, -7, 2**64 - 8, True, 0.5, 1.5, 2.5, b"12345678", grid=1, block=1)
    ints = [-1, 2, -3, 4, -5, 6, -7, -8, 1, int.from_bytes(b"12345678", "little")]
    torch.ops.wave.launch(kernel.handle, [], [operator], ints, [0.5, 1.5, 2.5], [1], [1])
    floats = [torch.tensor(value, dtype=torch.float64) for value in (0.5, 1.5, 2.5)]
    torch.ops.wave.launch(kernel.handle, floats, [tensors], ints, [], [1], [1])
    assert torch.equal(call, operator)
    assert torch.equal(call, tensors)


def test_unknown_mutability_is_for_eager_mode_only() -> None:
    kernel = wave_runtime.load(BASICS)["vector_add"]
    a, b, out = inputs()
    kernel(a, b, out, 500, grid=2, block=256)
    assert torch.equal(out, a + b)
    assert (a._version, b._version, out._version) == (1, 1, 1), "every pointer counts as written"
    ready = r"Pass writes= to wave_runtime.load\(\) .* out of writes=\[0, 1, 2\]"
    with pytest.raises(RuntimeError, match=rf"kernel 'vector_add' cannot be used .*meta tensors.*{ready}"):
        kernel(a.to("meta"), b.to("meta"), out.to("meta"), 500, grid=2, block=256)
    with torch.inference_mode():
        made = torch.zeros(500)
        with pytest.raises(RuntimeError, match=rf"with tensors made in inference mode.*{ready}"):
            kernel(a, b, made, 500, grid=2, block=256)
    with pytest.raises(RuntimeError, match="requires grad"):
        kernel(a.requires_grad_(), b, out, 500, grid=2, block=256)


def test_several_threads_launch_one_kernel(add: Launch) -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for _ in range(20):
            a, b, out = (
                torch.randn(5000, generator=generator),
                torch.randn(5000, generator=generator),
                torch.zeros(5000),
            )
            add(a, b, out)
            if not torch.equal(out, a + b):
                failures.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

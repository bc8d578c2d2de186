"""What Inductor's code calls in an operator's place: past the dispatcher, where PyTorch has nothing to see."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from operators_support import add, add_out, twice
from support import EXAMPLES, Watch
from torch import Tensor
from torch._inductor import config as inductor_config
from torch._inductor.utils import fresh_cache, run_and_get_code

import wave_runtime
from wave_runtime import _C


class Calls:
    """An operator's stand-in, which notes what it is given."""

    def __init__(self) -> None:
        self.given: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any, **keywords: Any) -> str:
        self.given.append((*args, *keywords.items()))
        return "from the operator"


class Subclass(torch.Tensor):
    """A tensor that takes part in what it is given to."""


@pytest.fixture
def operator() -> Calls:
    return Calls()


def test_a_kernel_is_launched_without_the_operator(vector_add: wave_runtime.Kernel, operator: Calls) -> None:
    call = _C.kernel_inductor_call(vector_add.handle, operator, True)
    a, b, out = torch.randn(500), torch.randn(500), torch.zeros(500)
    version = out._version
    assert call(a, b, out, 500, 2, 1, 1, 256, 1, 1, 0) is None
    assert torch.equal(out, a + b)
    assert operator.given == []
    assert out._version > version


def test_a_block_that_the_binary_fixes_is_no_argument(operator: Calls) -> None:
    signature = "a: *f32 const, b: *f32, m: i64"
    kernel = wave_runtime.load(EXAMPLES / "binaries" / "row_sum_f32_256.hsaco", signature=signature)["reduce_rows"]
    a, out = torch.ones(32, 256), torch.zeros(32)
    _C.kernel_inductor_call(kernel.handle, operator, False)(a, out, 32, 1, 32, 1)
    assert torch.equal(out, torch.full((32,), 256.0))
    assert operator.given == []


def test_extents_and_shared_memory_have_their_places(vector_add: wave_runtime.Kernel, operator: Calls) -> None:
    seen: list[wave_runtime.hooks.LaunchEvent] = []
    out = torch.zeros(500)
    with wave_runtime.hooks.launch_hook(enter=seen.append):
        call = _C.kernel_inductor_call(vector_add.handle, operator, True)
        call(torch.zeros(500), torch.zeros(500), out, 0, 2, 3, 4, 5, 6, 7, 8)
    ((_, _, _, grid, block, shared_memory, _, _),) = seen
    assert (grid, block, shared_memory) == ((2, 3, 4), (5, 6, 7), 8)


def test_options_and_extents_that_an_operator_fixes(vector_add: wave_runtime.Kernel, operator: Calls) -> None:
    seen: list[tuple[object, ...]] = []
    out = torch.zeros(500)
    call = _C.kernel_inductor_call(vector_add.handle, operator, False, block=(32, 2), shared_memory=8)
    with wave_runtime.hooks.launch_hook(enter=lambda event: seen.append(event[3:6])):
        for extents in ((2,), (2, 3), (2, 3, 4)):
            call(torch.zeros(500), torch.zeros(500), out, 0, *extents)
    assert seen == [((2, 1, 1), (32, 2, 1), 8), ((2, 3, 1), (32, 2, 1), 8), ((2, 3, 4), (32, 2, 1), 8)]
    for extents in ((), (2, 3, 4, 5)):
        assert call(torch.zeros(500), torch.zeros(500), out, 0, *extents) == "from the operator"


def test_an_operator_of_a_kernel_is_called_so() -> None:
    """With its arguments by place, also those that have defaults and names that the fingerprint of others has."""
    signature = "a: *f32 const, b: *f32 const, c: *f32, fingerprint: i32"
    file = EXAMPLES / "binaries" / "basics.hsaco"
    kernel = wave_runtime.load(file, signature={"vector_add": signature})["vector_add"]
    own = kernel.as_operator("wave_test::called_by_inductor", block=256)

    def double(a: Tensor) -> Tensor:
        out = torch.empty_like(a)
        own(a, a, out, fingerprint=a.numel(), grid_x=2)
        return out

    a = torch.randn(500)
    with fresh_cache():
        result, (code, *_) = run_and_get_code(torch.compile(double, fullgraph=True), a)
    assert torch.equal(result, 2 * a)
    call = r"torch\.ops\.wave_test\.called_by_inductor\.default\.inductor_call\((\w+, ){3}500, 2, 1, 1\)"
    assert len(re.findall(call, code)) == 1


UNUSUAL: dict[str, Callable[[list[Any]], None]] = {
    "a number that is a bool": lambda arguments: arguments.__setitem__(3, True),
    "a subclass": lambda arguments: arguments.__setitem__(0, arguments[0].as_subclass(Subclass)),
    "a tensor on another kind of device": lambda arguments: arguments.__setitem__(0, arguments[0].to("meta")),
    "a number for a tensor": lambda arguments: arguments.__setitem__(0, 0),
    "a tensor for an extent": lambda arguments: arguments.__setitem__(4, torch.tensor(2)),
    "a float for an extent of the block": lambda arguments: arguments.__setitem__(8, 1.0),
    "a float for the shared memory": lambda arguments: arguments.__setitem__(10, 0.0),
    "a number that is too large": lambda arguments: arguments.__setitem__(3, 1 << 32),
    "one too few": lambda arguments: arguments.pop(),
    "one too many": lambda arguments: arguments.append(0),
    "none": lambda arguments: arguments.clear(),
}


@pytest.mark.parametrize("change", UNUSUAL.values(), ids=UNUSUAL)
def test_the_operator_takes_what_is_unusual(
    change: Callable[[list[Any]], None], vector_add: wave_runtime.Kernel, operator: Calls
) -> None:
    out = torch.zeros(500)
    arguments: list[Any] = [torch.randn(500), torch.randn(500), out, 500, 2, 1, 1, 256, 1, 1, 0]
    change(arguments)
    call: Any = _C.kernel_inductor_call(vector_add.handle, operator, True)
    assert call(*arguments) == "from the operator"
    ((*given,),) = operator.given
    assert all(a is b for a, b in zip(given, arguments, strict=True))
    assert not out.any()


def test_modes_see_the_operators(vector_add: wave_runtime.Kernel, operator: Calls) -> None:
    a, b, out = torch.randn(500), torch.randn(500), torch.zeros(500)
    call: Any = _C.kernel_inductor_call(vector_add.handle, operator, True)
    with Watch():
        assert call(a, b, out, 500, 2, 1, 1, 256, 1, 1, 0) == "from the operator"
    with Watch() as watch:
        add.overload.inductor_call(a, b)  # type: ignore[attr-defined]
    assert watch.seen == ["wave_test.add.default"]


def test_an_operator_runs_its_body(operator: Calls) -> None:
    a, b, out = torch.randn(20), torch.randn(20), torch.zeros(20)
    assert torch.equal(_C.operator_inductor_call(add, operator, lambda result: result)(a, b), a + b)
    assert _C.operator_inductor_call(add_out, operator, lambda result: result)(a, b, out=out) is None
    assert torch.equal(out, a + b)
    assert operator.given == []


def test_an_operator_that_autograd_must_see(operator: Calls) -> None:
    x = torch.ones(4, requires_grad=True)
    call = _C.operator_inductor_call(twice, operator, lambda result: result)
    assert call(x) == "from the operator"
    with torch.no_grad():
        assert torch.equal(call(x), torch.full((4,), 2.0))
    assert len(operator.given) == 1
    twice.overload.inductor_call(x).sum().backward()  # type: ignore[attr-defined]
    assert torch.equal(x.grad, torch.full((4,), 2.0))


@wave_runtime.define_op("wave_test::end")
def end(x: Tensor) -> Tensor:
    """X + 1, which lies behind a copy of x."""
    return torch.cat([x, x + 1])[x.numel() :]


@wave_runtime.define_op("wave_test::both_ends")
def both_ends(x: Tensor) -> tuple[Tensor, Tensor]:
    return x + 2, torch.cat([x, x + 1])[x.numel() :]


def test_results_begin_at_the_start_of_their_storage() -> None:
    x = torch.arange(4.0)
    one, (other, two) = (op.overload.inductor_call(x) for op in (end, both_ends))  # type: ignore[attr-defined]
    assert [(part.tolist(), part.storage_offset()) for part in (one, other, two)] == [
        ([1.0, 2.0, 3.0, 4.0], 0),
        ([2.0, 3.0, 4.0, 5.0], 0),
        ([1.0, 2.0, 3.0, 4.0], 0),
    ]


def test_a_result_that_is_an_input_is_an_error() -> None:
    @wave_runtime.define_op("wave_test::returns_its_input")
    def returns_its_input(x: Tensor) -> Tensor:
        return x[1:]

    with pytest.raises(ValueError, match="returned a tensor that shares memory with an argument"):
        returns_its_input.overload.inductor_call(torch.ones(4))  # type: ignore[attr-defined]


@pytest.mark.long
@inductor_config.patch(cpp_wrapper=True)
def test_code_in_cpp_calls_the_operator() -> None:
    a, b = torch.randn(20), torch.randn(20)
    with fresh_cache():
        result, (code, *_) = run_and_get_code(torch.compile(lambda a, b: add(a, b) * 2, fullgraph=True), a, b)
    torch.testing.assert_close(result, (a + b) * 2)
    assert "inductor_call" not in code
    assert add.fingerprint in code

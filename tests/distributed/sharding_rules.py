"""A process of two: operators on DTensors, with rules and without. Run by test_sharding.py."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor

import wave_runtime

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from training_operators import launch, matmul, rmsnorm, rmsnorm_backward

R, PLACEMENTS = Replicate(), (Shard(0), Shard(1), Replicate())

kernel = launch.load("basics", "a: *f32 const, b: *f32 const, c: *f32, n: i32", "vector_add")


def launch_add(a: Tensor, b: Tensor, c: Tensor) -> None:
    kernel(a, b, c, a.numel(), grid=-(-a.numel() // 256), block=256)


@wave_runtime.define_op("rules::add_into", mutates=["out"])
def add_into(a: Tensor, b: Tensor, out: Tensor) -> None:
    launch_add(a, b, out)


@wave_runtime.define_op("rules::scaled_add")
def add(a: Tensor, b: Tensor, scale: float = 1.0, *, shift: float = 0.0) -> Tensor:
    c = torch.empty_like(a)
    launch_add(a, b * scale + shift, c)
    return c


def rows_and_columns(a: Any, b: Any, layout: str) -> list[tuple[list[Placement], list[Placement | None]]]:
    """Of matrices."""
    a_row, b_column = int(layout[0] == "t"), int(layout[1] == "n")
    return [
        ([R], [R, R, None]),
        ([Shard(0)], [Shard(a_row), R, None]),
        ([Shard(1)], [R, Shard(b_column), None]),
        ([Partial()], [Shard(1 - a_row), Shard(1 - b_column), None]),
    ]


def raises(error: type[Exception], match: str, function: Callable[[], object]) -> None:
    with pytest.raises(error, match=f"(?s){match}"):
        function()


def integers(*shape: int) -> Tensor:
    """Small ones, whose products and sums are exact in bf16."""
    return torch.randint(-1, 2, shape).bfloat16()


def placed(mesh: DeviceMesh, tensors: tuple[Tensor, ...], placements: tuple[Placement, ...]) -> list[DTensor]:
    return [distribute_tensor(x, mesh, [place]) for x, place in zip(tensors, placements, strict=True)]


def check_values_of_other_arguments(mesh: DeviceMesh) -> None:
    """Each layout has shards of its own: what was found for one must not serve another, in the same process."""
    matmul.register_sharding(rows_and_columns)
    a, b = integers(32, 16), integers(16, 48)
    for places in itertools.product(PLACEMENTS, PLACEMENTS):
        for layout, left, right in (("nn", a, b), ("nt", a, b.T.contiguous()), ("tn", a.T.contiguous(), b)):
            c: Any = matmul(*placed(mesh, (left, right), places), layout)
            assert torch.equal(c.full_tensor(), a @ b), f"{layout}, {places}"


def check_gradients(mesh: DeviceMesh) -> None:
    """The backward's products take DTensors, too."""
    a, b, grad = integers(32, 16), integers(48, 16), integers(32, 48)
    for places in itertools.product(PLACEMENTS, PLACEMENTS):
        x, w = placed(mesh, (a, b), places)
        c = matmul(x.requires_grad_(), w.requires_grad_(), "nt")
        gradients: Any = torch.autograd.grad(c, (x, w), distribute_tensor(grad, mesh, [R]))
        assert torch.equal(gradients[0].full_tensor(), grad @ b)
        assert torch.equal(gradients[1].full_tensor(), grad.T @ a)


@wave_runtime.define_op("rules::product_and_sum")
def product_and_sum(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    total = torch.empty_like(a)
    launch_add(a, b, total)
    return a * b, total


product_and_sum.register_backward(lambda of_product, of_sum, a, b: (of_product * b + of_sum, of_product * a + of_sum))


def check_results_that_nobody_uses(mesh: DeviceMesh) -> None:
    """Their gradients are zeros, DTensors as the others."""
    spread = ([Shard(0)] * 2, [Shard(0)] * 2), ([Shard(1)] * 2, [Shard(1)] * 2), ([R, R], [R, R])
    product_and_sum.register_sharding(lambda a, b: list(spread))
    a, b = torch.randn(7, 4), torch.randn(7, 4)
    for place, used in itertools.product(PLACEMENTS, (0, 1)):
        x, y = (x.requires_grad_() for x in placed(mesh, (a, b), (place, place)))
        product_and_sum(x, y)[used].sum().backward()
        gradient: Any = x.grad
        assert gradient.placements == (place,)
        torch.testing.assert_close(gradient.full_tensor(), torch.ones(7, 4) if used else b)


def check_defaults(mesh: DeviceMesh) -> None:
    """The dispatcher leaves out arguments that equal their defaults; the rule gets them."""
    seen = []

    def rule(a: Any, b: Any, scale: float, *, shift: float) -> list[tuple[list[Placement], list[Placement | None]]]:
        seen.append((scale, shift))
        return [([Shard(0)], [Shard(0), Shard(0), None, None]), ([R], [R, R, None, None])]

    add.register_sharding(rule)
    a, b = torch.randn(8, 4), torch.randn(8, 4)
    x, y = (distribute_tensor(tensor, mesh, [Shard(0)]) for tensor in (a, b))
    for args, kwargs in (((), {}), ((3.0,), {}), ((), {"shift": 2.0})):
        torch.testing.assert_close(add(x, y, *args, **kwargs).full_tensor(), add(a, b, *args, **kwargs))
    assert seen == [(1.0, 0.0), (3.0, 0.0), (1.0, 2.0)]


def check_compiled(mesh: DeviceMesh) -> None:
    for call in (add, torch.ops.rules.scaled_add):
        compiled = torch.compile(lambda x, y, call=call: call(x, y) * 2, backend="aot_eager", fullgraph=True)
        a, b = torch.randn(8, 4), torch.randn(8, 4)
        c = compiled(distribute_tensor(a, mesh, [Shard(0)]), distribute_tensor(b, mesh, [R]))
        assert c.placements == (Shard(0),)
        assert torch.equal(c.full_tensor(), (a + b) * 2)


def check_written_tensors(mesh: DeviceMesh) -> None:
    """They stay where they are, and the others move; where that does not go, an error says so."""
    if torch.torch_version.TorchVersion(torch.__version__) < (2, 11):
        no_results = "'rules::add_into' has no results"
        raises(NotImplementedError, no_results, lambda: add_into.register_sharding(lambda *_: []))
        return
    add_into.register_sharding(lambda a, b, out: [([], [Shard(0)] * 3), ([], [R] * 3)])
    a, b = torch.randn(8, 4), torch.randn(8, 4)
    for inputs, output in itertools.product(PLACEMENTS, (Shard(0), R)):
        x, y = (distribute_tensor(tensor, mesh, [inputs]) for tensor in (a, b))
        out = distribute_tensor(torch.zeros(8, 4), mesh, [output])
        assert add_into(x, y, out) is None
        assert out.placements == (output,)
        assert torch.equal(out.full_tensor(), a + b)
    out = distribute_tensor(torch.zeros(8, 4), mesh, [Shard(1)])
    raises(RuntimeError, r"'rules::add_into': its sharding rule .* redistribute\(\)", lambda: add_into(x, y, out))


def check_errors(mesh: DeviceMesh) -> None:
    x, weight = distribute_tensor(torch.randn(8, 64), mesh, [Shard(0)]), distribute_tensor(torch.ones(64), mesh, [R])
    without = r"'tiny::rmsnorm': .* no sharding rule.*register_sharding\(\)"
    raises(NotImplementedError, without, lambda: rmsnorm(x, weight))
    raises(NotImplementedError, without, lambda: rmsnorm(x, weight.requires_grad_()))
    rmsnorm_backward.register_sharding(lambda *_: [([Shard(0)], [Shard(0)] * 3)])
    few = (
        "'tiny::rmsnorm_backward': its sharding rule returned placements of 1 results and 3 tensors.*there are 2 and 3"
    )
    raises(RuntimeError, few, lambda: rmsnorm_backward(x.detach().bfloat16(), x.detach(), weight.detach()))

    @wave_runtime.define_op("rules::many")
    def many(tensors: list[Tensor]) -> Tensor:
        return tensors[0].clone()

    raises(ValueError, "'rules::many'.*lists of tensors", lambda: many.register_sharding(lambda tensors: []))


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(minutes=2))
    torch.manual_seed(0)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for check in (
        check_values_of_other_arguments,
        check_gradients,
        check_results_that_nobody_uses,
        check_defaults,
        check_compiled,
        check_written_tensors,
        check_errors,
    ):
        check(mesh)
    if dist.get_rank() == 0:
        print("all rules hold")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

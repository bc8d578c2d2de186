"""examples/train_on_wave.py: run by test_wave_lang.py in a process of its own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from train_on_wave import TORCH, WAVE, Operations, Reverser, attend, matmul, train


def random(*shape: int) -> Tensor:
    return torch.randn(shape).bfloat16().requires_grad_()


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def test_product_and_its_gradients() -> None:
    operands = random(2, 70, 40), random(2, 33, 40)
    ours, expected = WAVE.matmul(*operands), TORCH.matmul(*operands)
    check(ours, expected, operands)


def test_attention_and_its_gradients() -> None:
    operands = random(3, 70, 32), random(3, 45, 32), random(3, 45, 32)
    check(WAVE.attention(*operands), TORCH.attention(*operands), operands)


def check(ours: Tensor, expected: Tensor, operands: tuple[Tensor, ...]) -> None:
    grad = torch.randn(ours.shape)
    results = [(result, *torch.autograd.grad(result, operands, grad)) for result in (ours, expected)]
    for got, right in zip(*results, strict=True):
        assert got.dtype == right.dtype
        assert (got - right).norm() < 0.01 * right.norm()  # a few bits of bf16


def test_operators_pass_torchs_checks() -> None:
    torch.library.opcheck(matmul.overload, (random(1, 20, 32), random(1, 20, 32)))
    qkv = random(1, 20, 32), random(1, 20, 32), random(1, 20, 32)
    torch.library.opcheck(attend.overload, qkv)


def test_losses_are_torchs() -> None:
    ours, expected = (train(operations, 15) for operations in (WAVE, TORCH))
    assert ours == pytest.approx(expected, rel=0.02)
    assert ours[-1] < 0.9 * ours[0]


def test_training_compiles_for_any_batch() -> None:
    model = Reverser(WAVE)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    compiled(torch.randint(10, (4, 32))).sum().backward()
    with torch.compiler.set_stance("fail_on_recompile"):
        sequences = torch.randint(10, (7, 32))
        compiled(sequences).sum().backward()
    torch.testing.assert_close(compiled(sequences), model(sequences))


def test_export() -> None:
    class Multiply(torch.nn.Module):
        def __init__(self, operations: Operations) -> None:
            super().__init__()
            self.do = operations

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return self.do.matmul(a, b)

    a, b = random(1, 20, 32).detach(), random(1, 24, 32).detach()
    program = torch.export.export(Multiply(WAVE), (a, b), dynamic_shapes=({1: torch.export.Dim("rows")}, None))
    longer = torch.randn(1, 50, 32).bfloat16()
    torch.testing.assert_close(program.module()(longer, b), WAVE.matmul(longer, b))

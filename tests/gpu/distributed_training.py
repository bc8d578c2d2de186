"""A process of a training job: a model on our kernels beside the same in torch, both in DistributedDataParallel."""

from __future__ import annotations

from datetime import timedelta

import torch
import torch.distributed as dist
from catalog.gemm import Product
from catalog.training import Functions, layer_by_torch, trainable_layer
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTHS = (48, 96, 32)
BATCH, STEPS, RATE = 40, 5, 0.2
TIMEOUT = timedelta(minutes=2)


class Model(nn.Module):
    """Layers of gelu(x @ w.T)."""

    def __init__(self, layer: Product) -> None:
        super().__init__()
        self.layer = layer
        shapes = zip(WIDTHS[1:], WIDTHS[:-1], strict=True)
        self.weights = nn.ParameterList(torch.randn(n, k) * 2 / k**0.5 for n, k in shapes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            x = self.layer(x, weight)
        return x


def make_model(layer: Product, device: torch.device) -> DistributedDataParallel:
    """With the same weights whatever the layer."""
    torch.manual_seed(0)
    model = Model(layer).to(device)
    return DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)


def step(model: DistributedDataParallel, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A step of gradient descent: the loss before it, and the gradients, which DDP averages over the processes."""
    model.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    gradients = []
    with torch.no_grad():
        for weight in model.parameters():
            assert weight.grad is not None
            gradients.append(weight.grad.clone())
            weight -= RATE * weight.grad
    return loss.detach(), gradients


def train(rank: int, processes: int, device_type: str, rendezvous: str) -> None:
    """Run a process. Raises an AssertionError where ours and torch's models, or the processes, differ."""
    device = torch.device(device_type, rank) if device_type == "cuda" else torch.device(device_type)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(
        backend, init_method=f"file://{rendezvous}", rank=rank, world_size=processes, timeout=TIMEOUT
    )
    ours, plain = make_model(trainable_layer(Functions(device)), device), make_model(layer_by_torch, device)
    torch.manual_seed(1 + rank)  # data of its own
    x, y = torch.randn(BATCH, WIDTHS[0]).to(device), torch.randn(BATCH, WIDTHS[-1]).to(device)

    losses = []
    for _ in range(STEPS):
        loss, gradients = step(ours, x, y)
        expected_loss, expected_gradients = step(plain, x, y)
        torch.testing.assert_close(loss, expected_loss, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(gradients, expected_gradients, rtol=1e-4, atol=1e-5)
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True), f"the loss did not fall: {losses}"

    for weight in ours.parameters():
        others = [torch.empty_like(weight) for _ in range(processes)]
        dist.all_gather(others, weight.detach())
        assert all(torch.equal(other, others[0]) for other in others), "the processes have different weights"
    (alone,) = torch.autograd.grad((ours.module(x) - y).square().mean(), list(ours.parameters())[:1])
    averaged = alone.clone()
    dist.all_reduce(averaged)
    assert not torch.allclose(averaged / processes, alone), "the processes had the same data: nothing was averaged"
    dist.destroy_process_group()

"""A training script for several GPUs as people write it; test_emulated_training.py runs it where they are emulated."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import wave_runtime  # noqa: F401  begins what WAVE_RUNTIME_EMULATE asks for


def main() -> None:
    """In a function, whose end lets go of the groups: gloo's threads may want the interpreter's lock, and while the
    interpreter itself ends that ends the process (https://github.com/pytorch/pytorch/issues/190489).
    """
    rank = int(os.environ["LOCAL_RANK"])
    assert dist.is_nccl_available()
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))

    torch.manual_seed(rank)
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)).to(rank)
    model = DistributedDataParallel(module, device_ids=[rank], output_device=rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(16, 4, device="cuda")
    for _ in range(3):
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    group = dist.new_group([0, 1], backend="nccl")
    weight = module[0].weight.detach()
    others = [torch.empty_like(weight) for _ in range(2)]
    dist.all_gather(others, weight, group=group)
    dist.all_reduce(loss.detach())
    dist.barrier(device_ids=[rank])
    assert torch.equal(others[0], others[1])
    # At once, since both ranks write to one pipe.
    print(f"rank {rank} on {torch.cuda.get_device_name()}: {dist.get_backend()}\n", end="", flush=True)
    dist.destroy_process_group()


main()

"""A matrix product over the tensors of several devices: our operator on DTensors, by the rule that it registers.

    torchrun --nproc-per-node=2 examples/sharded_gemm.py [--device cuda] [--size M N K]

On CPU tensors the processes talk through gloo, and the Wave kernel for an MI300X runs in the emulator of each; on
NVIDIA GPUs they talk through NCCL, and the kernel is that of kernels/sources/block.cu.
"""

from __future__ import annotations

import argparse
import os
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor

import wave_runtime

sys.path.insert(0, str(Path(__file__).parent / "kernels"))
from catalog import block
from catalog.base import load_source
from catalog.gemm import Product, gemm_reference
from catalog.gemm import gemm as wave_gemm

KERNELS: dict[str, Product] = {"cpu": wave_gemm("gemm_f16_32x32x8", dynamic=True)}  # by the type of the tensors' device

TOLERANCE = 1e-2  # of sums of K products in another order, where K is a few hundred


@wave_runtime.define_op("sharded::gemm")
def gemm(a: Tensor, b: Tensor) -> Tensor:
    """A @ B.T as f32, for f16 of shapes [M, K] and [N, K]."""
    return KERNELS[a.device.type](a, b)


@gemm.register_sharding
def gemm_sharding(a: object, b: object) -> list[tuple[list[Placement], list[Placement]]]:
    """How devices can share the work, each pair of lists as (result, [a, b])."""
    return [
        ([Shard(0)], [Shard(0), Replicate()]),  # rows of A give rows of C
        ([Shard(1)], [Replicate(), Shard(0)]),  # rows of B, columns of B.T, give columns of C
        ([Partial()], [Shard(1), Shard(1)]),  # a part of K gives a term of the sum
        ([Replicate()], [Replicate(), Replicate()]),
    ]


def check(mesh: DeviceMesh, a: Tensor, b: Tensor) -> None:
    """Compute A @ B.T with the matrices placed in several ways. Raises AssertionError where it differs from torch's."""
    expected = gemm_reference(a, b)
    print_once(f"{'A':<14} {'B':<14} {'A @ B.T':<16} largest error")
    for a_placement in (Shard(0), Shard(1), Replicate()):
        for b_placement in (Shard(0), Shard(1), Replicate()):
            c: DTensor = gemm(distribute_tensor(a, mesh, [a_placement]), distribute_tensor(b, mesh, [b_placement]))
            error = (c.full_tensor() - expected).abs().max().item()
            (placement,) = c.placements
            print_once(f"{a_placement!s:<14} {b_placement!s:<14} {placement!s:<16} {error:.1e}")
            assert error <= TOLERANCE, f"A @ B.T differs from torch's by {error}"


def print_once(line: str) -> None:
    """Print what one process has to say for all."""
    if dist.get_rank() == 0:
        print(line)


def main() -> None:
    """Check the product on the devices of all processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--size", type=int, nargs=3, default=(256, 192, 128), metavar=("M", "N", "K"))
    options = parser.parse_args()
    if "LOCAL_RANK" not in os.environ:
        raise SystemExit("Start the processes by torchrun --nproc-per-node=2 examples/sharded_gemm.py")

    device = torch.device(options.device)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
        KERNELS["cuda"] = KERNELS["cpu"]
        if torch.version.hip is None:
            KERNELS["cuda"] = block.gemm(load_source("block", block.SIGNATURES, device)["gemm"])
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timedelta(minutes=5))
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))

    torch.manual_seed(0)  # DTensors are made of the first process's tensors; all have the same here
    m, n, k = options.size
    check(mesh, torch.randn(m, k, device=device).half(), torch.randn(n, k, device=device).half())
    print_once("All results equal torch's, within the last bits of sums that are added in another order.")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

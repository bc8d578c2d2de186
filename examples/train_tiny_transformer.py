"""Trains a transformer for characters, whose matrix products and norms, forward and backward, are our operators.

    python examples/train_tiny_transformer.py [--compile] [--compare] [--device cuda] [--steps N] [--picture FILE]
    torchrun --nproc-per-node=2 examples/train_tiny_transformer.py [--fsdp] [...]

On the CPU the Wave kernels run in the emulator, at a size that takes a minute; an NVIDIA GPU takes the CUDA kernels of
kernels/sources/tiny_transformer.cu at a useful size. --compare trains the same model in torch after it, from the same
weights on the same text, and fails where a loss differs by more than the preset's tolerance. FILE, training.png by
default, shows the losses.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path

import torch
import torch.distributed as dist
from picture import draw_losses
from tiny_transformer import Operations, Size, TinyTransformer
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from training_operators import launch, load_kernels, matmul, rmsnorm

TEXT = Path(__file__).parent / "data" / "as_you_like_it.txt"
SEED = 0

OURS = Operations(matmul, rmsnorm)
TORCH = Operations(launch.matmul_by_torch, launch.rmsnorm_by_torch)


@dataclass(frozen=True)
class Preset:
    """What is trained on a type of device.

    Attributes:
        size: of the model.
        batch: sequences in a step, over all processes.
        steps: how many.
        rate: of learning, the largest of the schedule.
        tolerance: by how much a loss may differ from torch's. Sums in another order round to the other neighbour in
            bf16 here and there, which is 0.4% of a number, and each step starts from what that made of the weights. On
            the CPU losses differ by 0.001 after 200 steps; a larger model, and more steps, make more of it.
    """

    size: Size
    batch: int
    steps: int
    rate: float
    tolerance: float


PRESETS = {
    "cpu": Preset(Size(width=128, layers=2, heads=4, context=64), batch=8, steps=200, rate=3e-3, tolerance=0.01),
    "cuda": Preset(Size(width=384, layers=6, heads=6, context=256), batch=32, steps=300, rate=1e-3, tolerance=0.1),
}


@dataclass(frozen=True)
class Place:
    """Where this process runs, and what it is among the processes that torchrun started."""

    device: torch.device
    rank: int = 0
    processes: int = 1

    @property
    def is_first(self) -> bool:
        """Whether it is the one that reports."""
        return self.rank == 0


def find_place(device: torch.device) -> Place:
    """Join the other processes, if torchrun started this one; each has a GPU of its own."""
    if "LOCAL_RANK" in os.environ and device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    if device.type == "cuda":
        torch.cuda.set_device(device.index or 0)
    if "LOCAL_RANK" not in os.environ:
        return Place(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(minutes=5))
    return Place(device, dist.get_rank(), dist.get_world_size())


class Text:
    """A text as numbers of its characters."""

    def __init__(self, path: Path = TEXT) -> None:
        text = path.read_text()
        self.characters = sorted(set(text))
        numbers = {character: number for number, character in enumerate(self.characters)}
        self.numbers = torch.tensor([numbers[character] for character in text])

    def batches(self, preset: Preset, place: Place) -> Iterator[tuple[Tensor, Tensor]]:
        """Sequences from random places, and the characters that follow; of a batch, those of this process."""
        generator = torch.Generator().manual_seed(SEED)
        context = preset.size.context
        while True:
            starts = torch.randint(len(self.numbers) - context, (preset.batch,), generator=generator)
            own = starts.chunk(place.processes)[place.rank]
            sequences = torch.stack([self.numbers[start : start + context + 1] for start in own]).to(place.device)
            yield sequences[:, :-1], sequences[:, 1:]


def make_model(do: Operations, preset: Preset, text: Text, place: Place, options: argparse.Namespace) -> nn.Module:
    """The model with the same weights whatever it computes with, spread over the processes if there are several."""
    torch.manual_seed(SEED)
    model = TinyTransformer(do, preset.size, len(text.characters)).to(place.device)
    if options.compile and do is OURS:
        for block in model.blocks:  # All are one graph. Outside of it stay the hooks by which weights are gathered.
            block.forward = torch.compile(block.forward, fullgraph=True)
    if options.fsdp:
        mesh = init_device_mesh(place.device.type, (place.processes,))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model
    if place.processes > 1:
        return DistributedDataParallel(model, device_ids=[place.device] if place.device.type == "cuda" else None)
    return model


class Progress:
    """A bar with the loss and the speed: rewritten in place on a terminal, else a line now and then."""

    def __init__(self, name: str, steps: int, tokens: int, place: Place) -> None:
        self.name, self.steps, self.tokens = name, steps, tokens
        self.is_shown, self.in_place = place.is_first, sys.stderr.isatty()
        self.every = 1 if self.in_place else max(1, steps // 10)
        self.start = time.perf_counter()

    def show(self, step: int, loss: Tensor) -> None:
        """After a step, counted from one."""
        if not self.is_shown or (step % self.every and step != self.steps):
            return
        speed = step * self.tokens / (time.perf_counter() - self.start)
        bar = "#" * (20 * step // self.steps)
        line = f"{self.name:<12} [{bar:<20}] step {step}/{self.steps}  loss {loss.item():.3f}  {speed:,.0f} tokens/s"
        end = "\r" if self.in_place and step < self.steps else "\n"
        print(line, end=end, file=sys.stderr, flush=True)


def train(model: nn.Module, preset: Preset, text: Text, place: Place, name: str) -> list[float]:
    """Train, and return the loss of each step, over the batches of all processes."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=preset.rate, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, preset.rate, total_steps=preset.steps)
    progress = Progress(name, preset.steps, preset.batch * preset.size.context, place)
    losses = []
    for step, (characters, following) in enumerate(islice(text.batches(preset, place), preset.steps), 1):
        loss = functional.cross_entropy(model(characters), following.flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
        progress.show(step, losses[-1])
    curve = torch.stack(losses)
    if place.processes > 1:
        dist.all_reduce(curve)  # Each process has as many sequences, so the mean is that of the whole batch.
    numbers: list[float] = (curve / place.processes).tolist()
    return numbers


def report(curves: dict[str, list[float]], tolerance: float, options: argparse.Namespace) -> None:
    """Write the losses where the command line says. Raise SystemExit where two curves differ."""
    if options.json:
        options.json.write_text(json.dumps(curves))
    try:
        draw_losses(curves, options.picture)
        print(f"{options.picture} shows the losses.")
    except ImportError:
        print("There is no picture: matplotlib is not installed.")
    if len(curves) < 2:
        return
    difference = max(abs(a - b) for a, b in zip(*curves.values(), strict=True))
    print(f"The largest difference of a loss from torch's is {difference:.4f}; the tolerance is {tolerance}.")
    if not difference <= tolerance:
        raise SystemExit("The losses differ from torch's.")


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    steps = ", ".join(f"{preset.steps} on {device}" for device, preset in PRESETS.items())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"), help="cpu by default; or cuda")
    parser.add_argument("--steps", type=int, help=f"by default {steps}")
    parser.add_argument("--compile", action="store_true", help="compile the blocks by torch.compile")
    parser.add_argument("--compare", action="store_true", help="train the same model in torch, too")
    parser.add_argument("--fsdp", action="store_true", help="shard the weights by FSDP2, where DDP copies them")
    parser.add_argument("--picture", type=Path, default=Path("training.png"), metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the losses as numbers")
    return parser.parse_args(arguments)


def main() -> None:
    """Train as the command line asks."""
    options = parse_options()
    if options.fsdp and "LOCAL_RANK" not in os.environ:
        raise SystemExit("--fsdp shards over processes: start them by torchrun --nproc-per-node=2")
    place = find_place(options.device)
    load_kernels(place.device)
    preset = PRESETS[place.device.type]
    preset = replace(preset, steps=options.steps or preset.steps)
    if preset.batch % place.processes:
        raise SystemExit(f"{place.processes} processes cannot share {preset.batch} sequences equally")

    ours = "CUDA kernels" if place.device.type == "cuda" and torch.version.cuda else "Wave kernels"
    text, curves = Text(), dict[str, list[float]]()
    for name, do in ((ours, OURS), ("torch", TORCH))[: 1 + options.compare]:
        curves[name] = train(make_model(do, preset, text, place, options), preset, text, place, name)
    if dist.is_initialized():
        # DDP must let go of the process group first: were it the last to hold it, it would wait, with the interpreter's
        # lock, for a thread of the group that may be waiting for that lock to free a tensor.
        gc.collect()
        dist.destroy_process_group()
    if place.is_first:
        report(curves, preset.tolerance, options)


if __name__ == "__main__":
    main()

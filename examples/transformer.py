"""A transformer block whose matrix products, norms and attention are our kernels, beside the same block in torch.

    python examples/transformer.py [--device cpu|cuda|cuda:1] [--target gfx950|gfx1100|...] [--picture FILE] [--quick]

On the CPU, and on an AMD GPU that they fit, the kernels are those of the Wave DSL, compiled for an MI300X (gfx942): on
CPU tensors the same binaries run in the emulator. On an NVIDIA GPU they are those of kernels/sources/block.cu, compiled
for it here and now, and so they are for another AMD processor that --target names, which the emulator runs on CPU
tensors. The table has every kernel of the catalog that runs on the device, the block's first (with --target those
alone), and then the block itself, eager and under torch.compile, and on a GPU in CUDA graphs. FILE, demo.png by
default, shows the same. With --quick each is called twice: its time is that of a call, else the least of many calls.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import torch
from picture import Row, draw
from torch import nn

sys.path.insert(0, str(Path(__file__).parent / "kernels"))
from catalog import CATALOG, Example, Size, Tensors, as_tuple
from catalog.attention import attention_by_torch
from catalog.block import examples as block_examples
from catalog.tiny_transformer import examples as tiny_examples
from catalog.training import examples as training_examples

T = TypeVar("T")
Operation = Callable[..., torch.Tensor]

BATCH, SEQUENCE = 2, 128
HEADS, HEAD_DIM = 4, 64
WIDTH, HIDDEN = HEADS * HEAD_DIM, 1024
TOKENS = BATCH * SEQUENCE

NEXT = """
What to try next, in this folder:
  make train
      trains a small transformer on these kernels, and the same in torch
  {python} -m wave_runtime info examples/kernels/binaries/basics.hsaco
      shows what a binary has: kernels, arguments, registers, occupancy
  {python} -m wave_runtime profile -- {python} examples/train_tiny_transformer.py --steps 1
      counts what kernels do, line by line; with sanitize instead of profile it lists their mistakes
  docs/tutorial.md
      takes ten minutes, from a source text to an operator in a package"""

# Sums in another order round to the other neighbour in f16 here and there, between one kernel and the next.
TOLERANCE = 5 * torch.finfo(torch.float16).eps


@dataclass(frozen=True)
class Operations:
    """What a block computes with. Operands are f16, sums f32; M is the number of tokens.

    Attributes:
        norm: RMSNorm of the rows of [M, WIDTH] with weights [WIDTH], as f16.
        linear: A @ B.T + bias as f16, for an f32 bias.
        linear_gelu: GELU of the same.
        product: A @ B.T as f32.
        attention: causal, of Q, K and V of shape [batch, HEADS, sequence, HEAD_DIM], as f32.
    """

    norm: Operation
    linear: Operation
    linear_gelu: Operation
    product: Operation
    attention: Operation


ROLES = ("norm", "linear", "linear_gelu", "product", "attention")

Kernels = Mapping[str, Example]  # those of a block, by role

# The block's launches in their order, but for the second norm, which is as the first.
LAUNCHES: tuple[tuple[str, Size], ...] = (
    ("norm", (TOKENS,)),
    ("linear", (TOKENS, 3 * WIDTH, WIDTH)),
    ("attention", (BATCH, HEADS, SEQUENCE, SEQUENCE)),
    ("product", (TOKENS, WIDTH, WIDTH)),
    ("linear_gelu", (TOKENS, HIDDEN, WIDTH)),
    ("product", (TOKENS, WIDTH, HIDDEN)),
)


def kernels(examples: Iterable[Example], *names: str) -> Kernels:
    """The examples of these names, which are in the order of ROLES."""
    by_name = {example.name: example for example in examples}
    return dict(zip(ROLES, (by_name[name] for name in names), strict=True))


WAVE_KERNELS = kernels(
    CATALOG, "rmsnorm_f16_256", "linear_f16", "linear_gelu_f16", "gemm_f16_32x32x8", "attention_f16_causal"
)


def cuda_kernels(device: torch.device | str, target: str | None = None) -> Kernels:
    """Those of block.cu for a device or a processor; on the CPU, clang's binary of the same source for gfx942."""
    return kernels(block_examples(device, target), "rmsnorm", "linear", "linear_gelu", "gemm", "attention_causal")


def first(function: Callable[..., torch.Tensor | Tensors]) -> Operation:
    """The function without the results that only a backward pass needs."""
    return lambda *tensors: as_tuple(function(*tensors))[0]


def operations(of_block: Kernels) -> Operations:
    """What launches these kernels."""
    return Operations(**{role: first(example.run) for role, example in of_block.items()})


WAVE = operations(WAVE_KERNELS)
TORCH = replace(
    Operations(**{role: first(example.reference) for role, example in WAVE_KERNELS.items()}),
    attention=attention_by_torch(causal=True),  # The reference has results for a backward pass.
)


def random_parameter(*shape: int, dtype: torch.dtype = torch.float16) -> nn.Parameter:
    """A weight or bias that keeps the variance of what it multiplies."""
    return nn.Parameter((torch.randn(shape) / shape[-1] ** 0.5).to(dtype), requires_grad=False)


class Block(nn.Module):
    """A pre-norm block: x + attention(norm(x)), and to that mlp(norm(...)). Between kernels tokens stand in f32."""

    def __init__(self, operations: Operations) -> None:
        super().__init__()
        self.operations = operations
        self.attention_norm = nn.Parameter(1 + random_parameter(WIDTH), requires_grad=False)
        self.qkv = random_parameter(3 * WIDTH, WIDTH)
        self.qkv_bias = random_parameter(3 * WIDTH, dtype=torch.float32)
        self.projection = random_parameter(WIDTH, WIDTH)
        self.mlp_norm = nn.Parameter(1 + random_parameter(WIDTH), requires_grad=False)
        self.up = random_parameter(HIDDEN, WIDTH)
        self.up_bias = random_parameter(HIDDEN, dtype=torch.float32)
        self.down = random_parameter(WIDTH, HIDDEN)

    def attention(self, tokens: torch.Tensor, batch: int) -> torch.Tensor:
        """Map [M, WIDTH] to what attention adds."""
        do = self.operations
        qkv = do.linear(do.norm(tokens.half(), self.attention_norm), self.qkv, self.qkv_bias)
        q, k, v = qkv.view(batch, -1, 3, HEADS, HEAD_DIM).permute(2, 0, 3, 1, 4).contiguous()
        heads = do.attention(q, k, v).half().transpose(1, 2)
        return do.product(heads.reshape(-1, WIDTH), self.projection)

    def mlp(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map [M, WIDTH] to what the MLP adds."""
        do = self.operations
        hidden = do.linear_gelu(do.norm(tokens.half(), self.mlp_norm), self.up, self.up_bias)
        return do.product(hidden, self.down)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, sequence, WIDTH] in f32 to the same."""
        tokens = x.flatten(0, 1)
        tokens = tokens + self.attention(tokens, len(x))
        tokens = tokens + self.mlp(tokens)
        return tokens.view_as(x)


def default_device() -> torch.device:
    """A GPU that the Wave kernels were compiled for, or the CPU."""
    is_rocm = torch.version.hip is not None and torch.cuda.is_available()
    fits = is_rocm and torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")
    return torch.device("cuda" if fits else "cpu")


def is_nvidia(device: torch.device) -> bool:
    """Whether it is a GPU that runs CUDA kernels. ROCm's torch calls its devices cuda, too."""
    return device.type == "cuda" and torch.version.hip is None


def captured(function: Callable[[torch.Tensor], T], example: torch.Tensor) -> Callable[[torch.Tensor], T]:
    """The function as a CUDA graph that is replayed, for inputs like the example."""
    given = example.clone()
    side = torch.cuda.Stream(example.device)  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream(example.device))
    with torch.cuda.stream(side):  # Kernels are loaded, and libraries initialised, before the capture.
        function(given)
    torch.cuda.current_stream(example.device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(given)

    def replay(x: torch.Tensor) -> T:
        given.copy_(x)
        graph.replay()
        return result

    return replay


def timed(function: Callable[..., T], *inputs: torch.Tensor, quick: bool) -> tuple[T, float]:
    """The result of a call and the least milliseconds, after a call to warm up, over three and a tenth of a second.

    quick: over one.
    """
    result, best = function(*inputs), float("inf")
    calls, start = 0, time.perf_counter()
    while calls < 1 or (not quick and (calls < 3 or time.perf_counter() - start < 0.1)):
        calls, begin = calls + 1, time.perf_counter()
        result = function(*inputs)
        if inputs[0].is_cuda:
            torch.cuda.synchronize(inputs[0].device)
        best = min(best, time.perf_counter() - begin)
    return result, best * 1e3


def largest_error(results: Tensors, expected: Tensors) -> float:
    """The largest absolute difference; NaN where a result is."""
    return max((a.double() - b.double()).abs().max().item() for a, b in zip(results, expected, strict=True))


def measure_kernel(example: Example, size: Size, where: torch.device, group: str, quick: bool) -> Row:
    """A kernel beside its reference."""
    inputs = tuple(tensor.to(where) for tensor in example.inputs(*size))
    output, milliseconds = timed(example.run, *inputs, quick=quick)
    error = largest_error(as_tuple(output), as_tuple(example.reference(*inputs)))
    return Row(group, example.name, where.type, size, error, example.tolerance, milliseconds)


def measure_block(do: Operations, kind: str, where: torch.device, group: str, quick: bool) -> list[Row]:
    """The block in torch, and on kernels of a kind with the same weights."""
    plain, ours = Block(TORCH).to(where), Block(do).to(where)
    ours.load_state_dict(plain.state_dict())
    x = torch.randn(BATCH, SEQUENCE, WIDTH, device=where)
    expected = plain(x)
    blocks: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "block in torch, eager": plain,
        f"block on {kind} kernels, eager": ours,
        f"block on {kind} kernels, torch.compile": torch.compile(ours, fullgraph=True),
    }
    if where.type == "cuda":
        name = f"block on {kind} kernels, reduce-overhead"
        blocks[name] = torch.compile(ours, fullgraph=True, mode="reduce-overhead")
        blocks[f"block on {kind} kernels, CUDA graph"] = captured(ours, x)
    rows = []
    for name, block in blocks.items():
        result, milliseconds = timed(block, x, quick=quick)
        error = largest_error((result,), (expected,))
        rows.append(Row(group, name, where.type, tuple(x.shape), error, TOLERANCE, milliseconds))
        print(rows[-1])
    return rows


def measure_all(where: torch.device, target: str | None = None, quick: bool = False) -> list[Row]:
    """The rows of the table, printed as they come."""
    catalog: tuple[Example, ...]
    if target is not None:
        kind, of_block, catalog = target, cuda_kernels(where, target), ()
    elif is_nvidia(where):
        kind, of_block = "CUDA", cuda_kernels(where)
        catalog = (*block_examples(where), *training_examples(where), *tiny_examples(where))
    else:
        kind, of_block, catalog = "Wave", WAVE_KERNELS, CATALOG
    in_block = {example.name for example in of_block.values()}
    launches = [(of_block[role], size) for role, size in LAUNCHES]
    others = [(example, example.sizes[0]) for example in catalog if example.name not in in_block]
    rows = []
    for group, chosen in (("kernels of the block", launches), ("other kernels", others)):
        for example, size in chosen:
            rows.append(measure_kernel(example, size, where, group, quick))
            print(rows[-1])
        if chosen:
            print()
    return rows + measure_block(operations(of_block), kind, where, "the block", quick)


def main() -> None:
    """Print the table and draw it; exit with an error where a result differs from torch's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", type=torch.device, default=default_device(), help="cpu, cuda, cuda:1, ...")
    parser.add_argument("--target", metavar="PROCESSOR", help="gfx950, gfx1100, gfx1151, gfx1201, ...: needs clang")
    parser.add_argument("--picture", type=Path, default=Path("demo.png"), metavar="FILE", help="demo.png by default")
    parser.add_argument("--quick", action="store_true", help="call each twice only: times are of one call")
    options = parser.parse_args()

    torch.manual_seed(0)
    where: torch.device = options.device if options.target is None else torch.device("cpu")
    if where.type == "cuda":
        torch.cuda.set_device(where.index or 0)
        place = f"on {torch.cuda.get_device_name(where)}"
    else:
        place = f"in the emulator, on the CPU with {torch.get_num_threads()} threads"
    print(f"The kernels run {place}.\n")
    print(f"{'kernel':<38} {'device':<6} {'shape':<20} {'largest error':>13} {'allowed':>8} {'time (ms)':>10}")

    rows = measure_all(where, options.target, options.quick)
    try:
        compiled = "compiled by nvcc or NVRTC" if is_nvidia(where) else f"for {options.target or 'an MI300X'}"
        draw(rows, f"Kernels {compiled}, {place}, beside torch", options.picture)
        print(f"\n{options.picture} shows the same.")
    except ImportError:
        print("\nThere is no picture: matplotlib is not installed.")
    if failures := [row.name for row in rows if not row.error <= row.tolerance]:
        raise SystemExit(f"Results differ from torch's: {', '.join(failures)}")
    print(
        f"All results equal torch's, within what is allowed: {len(rows)} comparisons. Sums are added in another order."
    )
    print(NEXT.format(python=os.path.relpath(sys.executable)))


if __name__ == "__main__":
    main()

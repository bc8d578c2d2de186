"""A transformer block whose matrix products, norms and attention are Wave kernels, beside the same block in torch.

    python examples/transformer.py [--picture FILE]

The kernels were compiled for an MI300X (gfx942). On such a GPU they run there; anywhere else the same binaries run on
CPU tensors, in the emulator. The table has every kernel of the catalog, the block's first, and then the block itself,
eager and under torch.compile. FILE, demo.png by default, shows the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from picture import Row, draw
from torch import nn

sys.path.insert(0, str(Path(__file__).parent / "kernels"))
from catalog import CATALOG, Example, Size, Tensors, as_tuple
from catalog.attention import attention_by_torch

T = TypeVar("T")
Operation = Callable[..., torch.Tensor]

BATCH, SEQUENCE = 2, 128
HEADS, HEAD_DIM = 4, 64
WIDTH, HIDDEN = HEADS * HEAD_DIM, 1024
TOKENS = BATCH * SEQUENCE

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


NORM, LINEAR, LINEAR_GELU, PRODUCT, ATTENTION = (
    next(example for example in CATALOG if example.name == name)
    for name in ("rmsnorm_f16_256", "linear_f16", "linear_gelu_f16", "gemm_f16_32x32x8", "attention_f16_causal")
)

# The block's launches in their order, but for the second norm, which is as the first.
LAUNCHES: tuple[tuple[Example, Size], ...] = (
    (NORM, (TOKENS,)),
    (LINEAR, (TOKENS, 3 * WIDTH, WIDTH)),
    (ATTENTION, (BATCH, HEADS, SEQUENCE, SEQUENCE)),
    (PRODUCT, (TOKENS, WIDTH, WIDTH)),
    (LINEAR_GELU, (TOKENS, HIDDEN, WIDTH)),
    (PRODUCT, (TOKENS, WIDTH, HIDDEN)),
)


def first(function: Callable[..., torch.Tensor | Tensors]) -> Operation:
    """The function without the results that only a backward pass needs."""
    return lambda *tensors: as_tuple(function(*tensors))[0]


TORCH = Operations(
    norm=first(NORM.reference),
    linear=first(LINEAR.reference),
    linear_gelu=first(LINEAR_GELU.reference),
    product=first(PRODUCT.reference),
    attention=attention_by_torch(causal=True),
)

WAVE = Operations(
    norm=first(NORM.run),
    linear=first(LINEAR.run),
    linear_gelu=first(LINEAR_GELU.run),
    product=first(PRODUCT.run),
    attention=first(ATTENTION.run),
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


def device() -> torch.device:
    """A GPU that the kernels were compiled for, or the CPU."""
    is_rocm = torch.version.hip is not None and torch.cuda.is_available()
    fits = is_rocm and torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")
    return torch.device("cuda" if fits else "cpu")


def timed(function: Callable[..., T], *inputs: torch.Tensor) -> tuple[T, float]:
    """The result of a call and the least milliseconds, after a call to warm up, over three and a tenth of a second."""
    result, best = function(*inputs), float("inf")
    calls, start = 0, time.perf_counter()
    while calls < 3 or time.perf_counter() - start < 0.1:
        calls, begin = calls + 1, time.perf_counter()
        result = function(*inputs)
        if inputs[0].is_cuda:
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return result, best * 1e3


def largest_error(results: Tensors, expected: Tensors) -> float:
    """The largest absolute difference; NaN where a result is."""
    return max((a.double() - b.double()).abs().max().item() for a, b in zip(results, expected, strict=True))


def measure_kernel(example: Example, size: Size, where: torch.device, group: str) -> Row:
    """A kernel beside its reference."""
    inputs = tuple(tensor.to(where) for tensor in example.inputs(*size))
    output, milliseconds = timed(example.run, *inputs)
    error = largest_error(as_tuple(output), as_tuple(example.reference(*inputs)))
    return Row(group, example.name, where.type, size, error, example.tolerance, milliseconds)


def measure_block(where: torch.device, group: str) -> list[Row]:
    """The block in torch, and on kernels with the same weights."""
    plain, wave = Block(TORCH).to(where), Block(WAVE).to(where)
    wave.load_state_dict(plain.state_dict())
    x = torch.randn(BATCH, SEQUENCE, WIDTH, device=where)
    expected = plain(x)
    blocks: dict[str, Callable[..., torch.Tensor]] = {
        "block in torch, eager": plain,
        "block on Wave kernels, eager": wave,
        "block on Wave kernels, torch.compile": torch.compile(wave, fullgraph=True),
    }
    rows = []
    for name, block in blocks.items():
        result, milliseconds = timed(block, x)
        error = largest_error((result,), (expected,))
        rows.append(Row(group, name, where.type, tuple(x.shape), error, TOLERANCE, milliseconds))
    return rows


def main() -> None:
    """Print the table and draw it; exit with an error where a result differs from torch's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, default=Path("demo.png"), metavar="FILE", help="demo.png by default")
    options = parser.parse_args()

    torch.manual_seed(0)
    where = device()
    if where.type == "cuda":
        place = f"on {torch.cuda.get_device_name()}"
    else:
        place = f"in the emulator, on the CPU with {torch.get_num_threads()} threads"
    print(f"The kernels run {place}.\n")
    print(f"{'kernel':<38} {'device':<6} {'shape':<20} {'largest error':>13} {'time (ms)':>10}")

    rows = []
    in_block = {example.name for example, _ in LAUNCHES}
    others = [(example, example.sizes[0]) for example in CATALOG if example.name not in in_block]
    for group, launches in (("kernels of the block", LAUNCHES), ("other kernels", others)):
        for example, size in launches:
            rows.append(measure_kernel(example, size, where, group))
            print(rows[-1])
        print()
    rows += measure_block(where, "the block")
    print(*rows[-3:], sep="\n")

    try:
        draw(rows, f"Kernels for an MI300X, {place}, beside torch", options.picture)
        print(f"\n{options.picture} shows the same.")
    except ImportError:
        print("\nThere is no picture: matplotlib is not installed.")
    if failures := [row.name for row in rows if not row.error <= row.tolerance]:
        raise SystemExit(f"Results differ from torch's: {', '.join(failures)}")
    print("All results equal torch's, within the last bits of sums that are added in another order.")


if __name__ == "__main__":
    main()

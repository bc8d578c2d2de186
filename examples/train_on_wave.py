"""Writes a matrix product and an attention in the Wave DSL, compiles them here, and trains a model with them.

    python examples/train_on_wave.py [--steps N] [--torch] [--compile]

The model learns to turn sequences of digits round: a layer of attention finds the place to copy from. Its products and
its attention are kernels, compiled for an MI300X when this file is imported. They run there where torch has one, else
on CPU tensors, on the emulator. --torch does the same with torch's operators. Needs wave-lang: `make wave`.
"""

import argparse  # no annotations from __future__: the DSL reads them as objects
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from torch import Tensor, nn
from torch.nn import functional
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.compile import WaveCompileOptions
from wave_lang.kernel.wave.constraints import MMAType

from wave_runtime import from_wave
from wave_runtime.wave_lang import WaveFunction

B, M, N, K = tkl.sym.B, tkl.sym.M, tkl.sym.N, tkl.sym.K
D, D_V = tkl.sym.D, tkl.sym.D_V  # the dimension of a head: in Q and K, and in V
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
HEAD_DIM = 32
HIDDEN = -1e6  # added to scores of columns that do not exist
LOG2E = math.log2(math.e)  # the hardware's exponential is that of 2


# The kernels. A workgroup has four waves. Sizes that are not fixed need not be multiples of the tiles.


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.WorkgroupConstraint(N, 32, 1),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.TilingConstraint(K, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(N, 16),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={B: 0}),
    ]
)
def gemm(
    a: tkl.Memory[B, M, K, ADDRESS_SPACE, tkl.bf16],
    b: tkl.Memory[B, N, K, ADDRESS_SPACE, tkl.bf16],
    c: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
) -> None:
    """A tile of 32 by 32 of C = A @ B.T goes through K in steps of 32, by way of LDS."""

    @tkw.iterate(K, init_args=[tkl.Register[B, M, N, tkl.f32](0.0)])
    def product(total: tkl.Register[B, M, N, tkl.f32]) -> tkl.Register[B, M, N, tkl.f32]:
        return tkw.mma(tkw.read(a), tkw.read(b), total)

    tkw.write(product, c)


def view(memory: tuple[Any, ...], tile: tuple[Any, ...]) -> Any:
    """How three dimensions of memory lie in a tile of registers."""
    iterators = {dimension: tkw.IndexMapping.iterator(n) for n, dimension in enumerate(memory)}
    in_memory, in_tile = ({dimension: iterators[dimension] for dimension in order} for order in (memory, tile))
    return tkw.IndexMapping(num_iterators=3, inputs=in_memory, outputs=in_tile)


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 64, 0),
        tkw.WorkgroupConstraint(D_V, HEAD_DIM, 1),
        tkw.WorkgroupConstraint(B, 1, 2),
        tkw.TilingConstraint(N, 32),
        tkw.WaveConstraint(M, 16),
        tkw.WaveConstraint(D_V, HEAD_DIM),
        tkw.HardwareConstraint(
            threads_per_wave=64, mma_type=MMAType.F32_16x16x16_F16, vector_shapes={B: 0, M: 16, D_V: 16}
        ),
    ]
)
def attention(
    q: tkl.Memory[B, M, D, GLOBAL_ADDRESS_SPACE, tkl.bf16],
    k: tkl.Memory[B, N, D, ADDRESS_SPACE, tkl.bf16],
    v: tkl.Memory[B, N, D_V, ADDRESS_SPACE, tkl.bf16],
    out: tkl.Memory[B, M, D_V, GLOBAL_ADDRESS_SPACE, tkl.f32],
) -> None:
    """64 rows of Q go through K and V in steps of 32, as in FlashAttention: scores are not stored.

    They are computed transposed, which leaves each row's scores in the lanes that the second product wants them in.
    """
    row_max = tkl.Register[B, M, tkl.f32](HIDDEN)
    row_sum = tkl.Register[B, M, tkl.f32](0.0)
    total = tkl.Register[B, D_V, M, tkl.f32](0.0)

    @tkw.iterate(N, init_args=[row_max, row_sum, total])
    def loop(
        old_max: tkl.Register[B, M, tkl.f32],
        old_sum: tkl.Register[B, M, tkl.f32],
        old_total: tkl.Register[B, D_V, M, tkl.f32],
    ) -> Any:
        products = tkw.mma(tkw.read(k), tkw.read(q), tkl.Register[B, N, M, tkl.f32](0.0))
        scores = tkw.permute(products, target_shape=[B, M, N])
        scores = scores * tkl.Register[B, M, N, tkl.f32](HEAD_DIM**-0.5 * LOG2E)
        exists = tkw.apply_expr(tkw.self_index(N, tkl.i32), lambda column: column < N)
        exists = tkw.cast(tkw.broadcast(exists, target_shape=[M, N]), tkw.i1)
        zero, hidden = (tkl.Register[M, N, tkl.f32](value) for value in (0.0, HIDDEN))
        scores = scores + tkw.select(exists, zero, hidden)
        new_max = tkw.max(scores, old_max, dim=N)
        shrink = tkw.exp2(old_max - new_max)
        weights = tkw.exp2(scores - new_max)
        new_sum = tkw.sum(weights, old_sum * shrink, dim=N)
        values = tkw.read(v, mapping=view((B, D_V, N), (B, D_V, N)))
        return new_max, new_sum, tkw.mma(values, tkw.cast(weights, tkl.bf16), old_total * shrink)

    _, row_sum, total = loop
    tkw.write(total * tkw.reciprocal(row_sum), out, mapping=view((B, D_V, M), (B, M, D_V)))


def compiled(kernel: Any, dynamic: list[Any], fixed: dict[Any, int]) -> WaveFunction:
    """The kernel for an MI300X; dynamic sizes are those of the tensors of each call."""
    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, **fixed}
    return from_wave(kernel, WaveCompileOptions(subs=subs, dynamic_symbols=dynamic, target="gfx942", canonicalize=True))


# The operators, and their gradients.

matmul = compiled(gemm, [B, M, N, K], {}).define_op("train_on_wave::matmul")
attend = compiled(attention, [B, M, N], {D: HEAD_DIM, D_V: HEAD_DIM}).define_op("train_on_wave::attention")


def product(a: Tensor, b: Tensor) -> Tensor:
    """A @ B.T of any f32 or bf16 matrices, as the kernel takes them."""
    result: Tensor = matmul(a.bfloat16().contiguous(), b.bfloat16().contiguous())
    return result


@matmul.register_backward
def matmul_gradients(grad: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Products again."""
    return product(grad, b.mT).to(a.dtype), product(grad.mT, a.mT).to(b.dtype)


@attend.register_backward
def attention_gradients(grad: Tensor, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    """With the weights, which are computed again."""
    weights = torch.softmax(product(q, k) * HEAD_DIM**-0.5, -1)
    of_weights = product(grad, v)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * HEAD_DIM**-0.5
    gradients = product(of_scores, k.mT), product(of_scores.mT, q.mT), product(weights.mT, grad.mT)
    return tuple(gradient.to(q.dtype) for gradient in gradients)


# The model.


@dataclass
class Operations:
    """What the model computes with: on bf16, with results in f32."""

    matmul: Callable[[Tensor, Tensor], Tensor]  # [B, M, K], [B, N, K] -> [B, M, N]
    attention: Callable[[Tensor, Tensor, Tensor], Tensor]  # [B, T, D] each


WAVE = Operations(matmul, attend)
TORCH = Operations(
    lambda a, b: (a @ b.mT).float(), lambda q, k, v: functional.scaled_dot_product_attention(q, k, v).float()
)


class Reverser(nn.Module):
    """A layer of attention over digits and their places. Takes int64 [batch, LENGTH], returns logits of each place."""

    def __init__(self, operations: Operations, *, digits: int = 10, length: int = 32, heads: int = 2) -> None:
        super().__init__()
        self.do, self.heads, width = operations, heads, heads * HEAD_DIM
        self.digits = nn.Parameter(torch.randn(digits, width))
        self.places = nn.Parameter(torch.randn(length, width))
        self.qkv = nn.Parameter(torch.randn(3 * width, width) * width**-0.5)
        self.logits = nn.Parameter(torch.randn(digits, width) * width**-0.5)

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        """x @ weight.T for x of shape [batch, length, width]."""
        flat = x.flatten(0, 1)[None].bfloat16()
        return self.do.matmul(flat, weight[None].bfloat16()).view(*x.shape[:2], -1)

    def forward(self, sequences: Tensor) -> Tensor:
        """Digits to logits."""
        batch, length = sequences.shape
        x = self.digits[sequences] + self.places
        heads = self.linear(x, self.qkv).view(batch, length, 3, self.heads, HEAD_DIM).permute(2, 0, 3, 1, 4)
        q, k, v = heads.flatten(1, 2).bfloat16().contiguous()
        out = self.do.attention(q, k, v).view(batch, self.heads, length, HEAD_DIM).transpose(1, 2).flatten(2)
        return self.linear(out, self.logits)


def train(operations: Operations, steps: int, *, compile_it: bool = False, device: str = "cpu") -> list[float]:
    """The losses of that many steps, which begin alike whatever computes them."""
    torch.manual_seed(0)
    model: Any = Reverser(operations).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    if compile_it:
        model = torch.compile(model, fullgraph=True)
    losses = []
    for step in range(steps):
        sequences = torch.randint(10, (16, 32)).to(device)
        loss = functional.cross_entropy(model(sequences).flatten(0, 1), sequences.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1:4}  loss {losses[-1]:.4f}")
    return losses


def main() -> None:
    """Train as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--torch", action="store_true", help="compute with torch's operators")
    parser.add_argument("--compile", action="store_true", help="under torch.compile")
    given = parser.parse_args()
    device = "cuda" if torch.version.hip and torch.cuda.is_available() else "cpu"
    train(TORCH if given.torch else WAVE, given.steps, compile_it=given.compile, device=device)


if __name__ == "__main__":
    main()

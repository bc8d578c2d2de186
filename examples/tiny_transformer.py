"""A transformer for characters, whose matrix products and norms are given from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Operations:
    """What the model computes with.

    Attributes:
        matmul: A @ B of bf16 [..., M, K] and [..., K, N], as bf16; for layout "nt" B is given as [..., N, K].
        rmsnorm: RMSNorm of the rows of f32 [M, N] with f32 weights [N], as bf16.
    """

    matmul: Callable[[Tensor, Tensor, str], Tensor]
    rmsnorm: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Size:
    """Of a model.

    Attributes:
        width: numbers of a token, a multiple of the heads.
        layers: blocks.
        heads: of attention in each block.
        context: the most characters that the model sees.
    """

    width: int
    layers: int
    heads: int
    context: int


class Linear(nn.Module):
    """Maps bf16 [M, inputs] to bf16 [M, outputs]. The weight is f32, for the optimizer's small steps."""

    def __init__(self, do: Operations, inputs: int, outputs: int, gain: float = 1.0) -> None:
        super().__init__()
        self.do = do
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * gain / inputs**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        return self.do.matmul(x, self.weight.bfloat16(), "nt")


class Norm(nn.Module):
    """RMSNorm of f32 [M, width], as bf16."""

    def __init__(self, do: Operations, width: int) -> None:
        super().__init__()
        self.do = do
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """See the class."""
        return self.do.rmsnorm(x, self.weight)


class Block(nn.Module):
    """Causal attention and an MLP, which add to tokens in f32 [batch * sequence, width]."""

    def __init__(self, do: Operations, size: Size) -> None:
        super().__init__()
        self.do = do
        self.size = size
        width, gain = size.width, (2 * size.layers) ** -0.5  # so that the sum over all blocks stays of the order of one
        self.attention_norm = Norm(do, width)
        self.qkv = Linear(do, width, 3 * width)
        self.projection = Linear(do, width, width, gain)
        self.mlp_norm = Norm(do, width)
        self.up = Linear(do, width, 4 * width)
        self.down = Linear(do, 4 * width, width, gain)

    def attention(self, x: Tensor, sequence: int) -> Tensor:
        """Causal attention over bf16 [batch * sequence, width]."""
        heads, head_dim = self.size.heads, self.size.width // self.size.heads
        q, k, v = self.qkv(x).view(-1, sequence, 3, heads, head_dim).permute(2, 0, 3, 1, 4).contiguous()
        scores = self.do.matmul(q, k, "nt").float() * head_dim**-0.5
        future = torch.ones(sequence, sequence, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1).bfloat16()
        result: Tensor = self.projection(self.do.matmul(weights, v, "nn").transpose(1, 2).reshape(x.shape))
        return result

    def forward(self, tokens: Tensor, sequence: int) -> Tensor:
        """See the class."""
        tokens = tokens + self.attention(self.attention_norm(tokens), sequence)
        hidden = functional.gelu(self.up(self.mlp_norm(tokens)), approximate="tanh")
        result: Tensor = tokens + self.down(hidden)
        return result


class TinyTransformer(nn.Module):
    """Predicts the next character.

    Args:
        do: what to compute with.
        size: of the model.
        characters: how many there are.
    """

    def __init__(self, do: Operations, size: Size, characters: int) -> None:
        super().__init__()
        self.character = nn.Embedding(characters, size.width)
        self.place = nn.Embedding(size.context, size.width)
        self.blocks = nn.ModuleList(Block(do, size) for _ in range(size.layers))
        self.norm = Norm(do, size.width)
        self.head = Linear(do, size.width, characters)

    def forward(self, text: Tensor) -> Tensor:
        """Map characters, i64 [batch, sequence], to logits of those that follow, f32 [batch * sequence, characters]."""
        sequence = text.shape[1]
        tokens = (self.character(text) + self.place.weight[:sequence]).flatten(0, 1)
        for block in self.blocks:
            tokens = block(tokens, sequence)
        logits: Tensor = self.head(self.norm(tokens)).float()
        return logits

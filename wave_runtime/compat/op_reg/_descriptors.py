"""What a selected kernel knows of each argument and result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

MLIR_TYPES = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "i8",
    torch.uint16: "i16",
    torch.uint32: "i32",
    torch.uint64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex32: "complex<f16>",
    torch.complex64: "complex<f32>",
    torch.complex128: "complex<f64>",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
    torch.float8_e8m0fnu: "f8E8M0FNU",
}

Dims = list[int | None]


class AttrArg:
    """A value for which the kernel is specialised, not an operand: each value has a kernel of its own.

    Attributes:
        v: the value.
        spec_value: what the kernel is specialised for, the same.
    """

    ir_arity: int = 0
    is_list: bool = False
    maybe_tensor_value: torch.Tensor | None = None

    __slots__ = ("spec_value", "v")

    def __init__(self, v: object) -> None:
        self.v = v
        self.spec_value: Any | None = v

    def generate_meta(self) -> object:
        """The value."""
        return self.v

    @property
    def spec_key(self) -> str:
        """The same for all calls that share a kernel."""
        return f"attr<{self.spec_value}>"

    @property
    def mlir_type_asm(self) -> str:
        """An attribute has no type. Raises AssertionError."""
        raise AssertionError("Cannot resolve `mlir_type_asm` for an AttrArg")

    def __repr__(self) -> str:
        return f"AttrArg(<{self.spec_value}>)"


class IntArg:
    """An integer operand of 64 bits.

    Attributes:
        v: the value.
        spec_value: what the kernel is specialised for; None for any value.
        ir_arity: 1; 0 to leave it out of the operands, which needs a ``spec_value``.
    """

    is_list: bool = False
    maybe_tensor_value: torch.Tensor | None = None

    __slots__ = ("ir_arity", "spec_value", "v")

    def __init__(self, v: int) -> None:
        self.v = v
        self.spec_value: Any | None = None
        self.ir_arity: int = 1

    def generate_meta(self) -> int:
        """The value."""
        return self.v

    @property
    def spec_key(self) -> str:
        """The same for all calls that share a kernel."""
        return f"int<{self.spec_value}>"

    @property
    def mlir_type_asm(self) -> str:
        """Its type in MLIR."""
        return "i64"

    def __repr__(self) -> str:
        return f"IntArg({self.v}, spec_value={self.spec_value}, ir_arity={self.ir_arity})"


class TensorArg:
    """A tensor. A kernel is made for its rank, its dtype, and those of its extents that are specialised.

    Attributes:
        t: the tensor; of a result any tensor of its shape and dtype.
        spec_dims: an extent, or None for any, of each dimension.
    """

    ir_arity: int = 1
    is_list: bool = False

    __slots__ = ("maybe_tensor_value", "spec_dims", "t")

    def __init__(self, t: torch.Tensor) -> None:
        self.t = t
        self.spec_dims: Dims = [None] * t.dim()
        self.maybe_tensor_value: torch.Tensor = t

    def specialize_all_dims(self) -> None:
        """Have a kernel for exactly these extents."""
        self.spec_dims = list(self.t.shape)

    def specialize_dims(self, *indices: int) -> None:
        """Have a kernel for exactly these dimensions' extents. Negative indices count from the last."""
        for index in indices:
            self.spec_dims[index] = self.t.size(index)

    def generate_meta(self) -> torch.Tensor:
        """A contiguous tensor of its shape and dtype without data."""
        return torch.empty(self.t.shape, dtype=self.t.dtype, device="meta")

    @property
    def spec_key(self) -> str:
        """The same for all calls that share a kernel."""
        return f"tensor[{self.t.dim()}:{self.t.dtype}]<{self.spec_dims}>"

    @property
    def mlir_type_asm(self) -> str:
        """Its type in MLIR: ``tensor<?x4xf32>``. Raises KeyError where MLIR lacks the dtype."""
        return _tensor_type(self.t, self.spec_dims)

    def __repr__(self) -> str:
        return f"TensorArg(shape={self.t.shape}, dtype={self.t.dtype}, spec_dims={self.spec_dims})"


class TensorListArg:
    """A list of tensors. A kernel is made for its length and, as with :class:`TensorArg`, for each tensor.

    Attributes:
        ts: the tensors.
        spec_dims: for each of them, as in :class:`TensorArg`.
        ir_arity: how many there are.
    """

    is_list: bool = True

    __slots__ = ("ir_arity", "maybe_tensor_value", "spec_dims", "ts")

    def __init__(self, ts: Sequence[torch.Tensor]) -> None:
        self.ts = list(ts)
        self.ir_arity = len(ts)
        self.spec_dims: list[Dims] = [[None] * t.dim() for t in ts]
        self.maybe_tensor_value: list[torch.Tensor] = self.ts

    def generate_meta(self) -> list[torch.Tensor]:
        """Contiguous tensors of their shapes and dtypes without data."""
        return [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in self.ts]

    @property
    def spec_key(self) -> str:
        """The same for all calls that share a kernel."""
        return f"tensor[{[t.dim() for t in self.ts]}:{[str(t.dtype) for t in self.ts]}]<{self.spec_dims}>"

    @property
    def mlir_type_asm(self) -> list[str]:
        """Their types in MLIR. Raises KeyError where MLIR lacks a dtype."""
        return [_tensor_type(t, dims) for t, dims in zip(self.ts, self.spec_dims, strict=True)]

    def __repr__(self) -> str:
        return (
            f"TensorListArg(shape={[t.shape for t in self.ts]}, dtype={[t.dtype for t in self.ts]}, "
            f"spec_dims={self.spec_dims})"
        )


class EmptyOptionalTensorArg:
    """An optional tensor that was not given, or is not returned. The kernel has no operand or result for it."""

    ir_arity: int = 0
    is_list: bool = False
    maybe_tensor_value: torch.Tensor | None = None

    def generate_meta(self) -> None:
        """None."""

    def specialize_all_dims(self) -> None:
        """Nothing is specialised."""

    def specialize_dims(self, *indices: int) -> None:
        """Nothing is specialised."""

    @property
    def spec_key(self) -> str:
        """The same for all calls that share a kernel."""
        return "TensorArg(None)"

    @property
    def mlir_type_asm(self) -> str:
        """What is not there has no type. Raises AssertionError."""
        raise AssertionError("EmptyOptionalTensorArg has no mlir_type_asm")

    def __repr__(self) -> str:
        return "TensorArg(None)"


ArgDescriptor = AttrArg | IntArg | TensorArg | TensorListArg | EmptyOptionalTensorArg


def _tensor_type(tensor: torch.Tensor, dims: Dims) -> str:
    if tensor.dtype not in MLIR_TYPES:
        raise KeyError(f"MLIR has no type for {tensor.dtype}")
    extents = ["?" if extent is None else str(extent) for extent in dims]
    return f"tensor<{'x'.join([*extents, MLIR_TYPES[tensor.dtype]])}>"

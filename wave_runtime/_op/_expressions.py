"""Recording expressions over an operator's inputs, so that C++ can evaluate them: see ``csrc/op/expression.h``.

A function such as ``lambda a, b: (cdiv(a.shape[0], 64), b.shape[1])`` is called with stand-ins, whose arithmetic notes
instructions. Number of dimensions and dtype of a tensor are known by then, its sizes and strides and the values of
scalars are not: a function that branches on those cannot be recorded.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import torch

Instruction = tuple[str, int | float, int, int]  # name, value, input, dim


class Number:
    """An int or a float that is not known yet: the instructions that compute it."""

    __slots__ = ("code", "is_real")

    def __init__(self, code: tuple[Instruction, ...], is_real: bool = False) -> None:
        self.code = code
        self.is_real = is_real

    @staticmethod
    def of(value: Any) -> Number:
        """What an expression gives, as a number. Raises TypeError where it is none."""
        if isinstance(value, Number):
            return value
        if isinstance(value, float):
            return Number((("real", value, 0, 0),), is_real=True)
        if isinstance(value, int):
            return Number((("integer", int(value), 0, 0),))
        raise TypeError(f"expected a number, given {type(value).__name__}")

    def to_real(self) -> Number:
        """The same number as a float."""
        return self if self.is_real else Number((*self.code, ("to_real", 0, 0, 0)), is_real=True)

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Number:
        if function in (torch.sym_min, torch.sym_max) and not kwargs:
            return binary("min" if function is torch.sym_min else "max", *args)
        raise TypeError(f"expressions over sizes cannot use {getattr(function, '__name__', function)}()")

    def __truediv__(self, other: Any) -> Number:
        return binary("div", self, other, real=True)

    def __rtruediv__(self, other: Any) -> Number:
        return binary("div", other, self, real=True)

    def __pow__(self, exponent: Any) -> Number:
        if isinstance(exponent, int) and exponent > 0 and not self.is_real:
            return functools.reduce(operator.mul, [self] * exponent)
        return binary("pow", self, exponent, real=True)

    def __rpow__(self, base: Any) -> Number:
        return binary("pow", base, self, real=True)

    def __neg__(self) -> Number:
        return binary("sub", 0, self)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(
            "an expression needs the value of a size or scalar, which is not known yet: it may use arithmetic, "
            "torch.sym_min, torch.sym_max and cdiv, but no comparisons. Define the operator by a decorated function"
        )

    __bool__ = __int__ = __float__ = __index__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def binary(name: str, a: Any, b: Any, real: bool = False) -> Number:
    """The instruction ``name`` on two numbers; on floats where one of them is a float, or ``real`` says so."""
    x, y = Number.of(a), Number.of(b)
    if real or x.is_real or y.is_real:
        if name in ("floordiv", "mod"):
            raise TypeError("expressions over sizes have // and % of ints only")
        return Number((*x.to_real().code, *y.to_real().code, (f"real_{name}", 0, 0, 0)), is_real=True)
    return Number((*x.code, *y.code, (name, 0, 0, 0)))


def _add_operators() -> None:
    def forward(name: str) -> Callable[[Number, Any], Number]:
        return lambda self, other: binary(name, self, other)

    def reflected(name: str) -> Callable[[Number, Any], Number]:
        return lambda self, other: binary(name, other, self)

    for name in ("add", "sub", "mul", "floordiv", "mod"):
        setattr(Number, f"__{name}__", forward(name))
        setattr(Number, f"__r{name}__", reflected(name))


_add_operators()


class NewTensor(NamedTuple):
    """What an expression for a result gives: a contiguous tensor to allocate."""

    sizes: tuple[Number, ...]
    dtype: torch.dtype
    zeroed: bool


class Tensor:
    """The stand-in for a tensor. It has the attributes and methods that expressions may use, with torch's names."""

    def __init__(self, index: int, rank: int, dtype: torch.dtype) -> None:
        self._index = index
        self.ndim = rank
        self.dtype = dtype
        self.itemsize = dtype.itemsize
        self.shape = tuple(Number((("size", 0, index, dim),)) for dim in range(rank))

    def dim(self) -> int:
        return self.ndim

    def element_size(self) -> int:
        return self.itemsize

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        strides = tuple(Number((("stride", 0, self._index, dim),)) for dim in range(self.ndim))
        return strides if dim is None else strides[dim]

    def numel(self) -> Number:
        return Number((("elements", 0, self._index, 0),))

    def new_empty(self, *size: Any, dtype: torch.dtype | None = None) -> NewTensor:
        return self._new(size, dtype, zeroed=False)

    def new_zeros(self, *size: Any, dtype: torch.dtype | None = None) -> NewTensor:
        return self._new(size, dtype, zeroed=True)

    def _new(self, size: Sequence[Any], dtype: torch.dtype | None, zeroed: bool) -> NewTensor:
        sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        return NewTensor(tuple(map(Number.of, sizes)), dtype or self.dtype, zeroed)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"expressions know no .{name} of a tensor: they have shape, size(), stride(), numel(), dim(), ndim, dtype, "
            "itemsize, new_empty() and new_zeros()"
        )

    @classmethod
    def __torch_function__(cls, function: Any, types: object, args: object = (), kwargs: object = None) -> NoReturn:
        name = getattr(function, "__name__", function)
        raise TypeError(
            f"expressions cannot use {name}() of a tensor: results are made by a.new_empty() or a.new_zeros()"
        )


def scalar(index: int, is_real: bool) -> Number:
    """The stand-in for a scalar."""
    return Number((("scalar", 0, index, 0),), is_real)

"""Writes the Python code that launches a Wave kernel: sizes from shapes, their checks, the grid, the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from sympy.printing.pycode import PythonCodePrinter  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Buffer:
    """A tensor parameter: its symbolic shape, what it holds, and whether the kernel writes it."""

    name: str
    shape: tuple[sympy.Expr, ...]
    dtype: torch.dtype | None  # None: one that torch lacks
    is_written: bool


@dataclass(frozen=True)
class Scalar:
    """A number that is passed by value; one that is bound to a symbol is a size as well."""

    name: str
    is_float: bool
    symbol: sympy.Symbol | None


Parameter = Buffer | Scalar


class _Integers(PythonCodePrinter):  # type: ignore[misc, unused-ignore]
    """Prints expressions of sizes without a float in between, so that they serve symbolic sizes, too."""

    def _print_ceiling(self, expression: sympy.Expr) -> str:
        numerator, denominator = expression.args[0].as_numer_denom()
        return f"-(-({self._print(numerator)}) // ({self._print(denominator)}))"

    def _print_floor(self, expression: sympy.Expr) -> str:
        numerator, denominator = expression.args[0].as_numer_denom()
        return f"(({self._print(numerator)}) // ({self._print(denominator)}))"

    def _print_Rational(self, expression: sympy.Expr) -> str:
        raise ValueError(f"{expression} is no whole number")


def code_of(expression: Any) -> str:
    """An expression of sizes as Python code. Raises ValueError where a division does not end in a rounding."""
    code: str = _Integers().doprint(sympy.sympify(expression))
    return code


def grid_expressions(text: str) -> list[sympy.Expr]:
    """The extents in wave-lang's text of its grid function.

    Raises:
        ValueError: it is not of the form that is known: a lambda within a lambda, that returns a list.
    """
    lists = [node for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.List)]
    if len(lists) != 1:
        raise ValueError(f"the grid of this Wave kernel is written in a form that is not known: {text}")
    names = {"ceil": sympy.ceiling, "floor": sympy.floor, "max": sympy.Max, "min": sympy.Min}
    symbols = {node.id: sympy.Symbol(node.id) for node in ast.walk(lists[0]) if isinstance(node, ast.Name)}
    extents = [ast.unparse(item).replace("math.", "") for item in lists[0].elts]
    return [sympy.sympify(extent, locals={**symbols, **names}) for extent in extents]


class Code:
    """The code of two functions of a kernel: its launch, and its results as new tensors.

    Args:
        name: the kernel's.
        parameters: in the order of the Wave function.
        sizes: symbols whose value was fixed when the kernel was compiled.
        dynamic: those that the kernel takes as arguments.
        grid: its extents.
    """

    def __init__(
        self,
        name: str,
        parameters: Sequence[Parameter],
        sizes: Mapping[sympy.Symbol, int],
        dynamic: Sequence[sympy.Symbol],
        grid: Sequence[sympy.Expr],
    ) -> None:
        self.name = name
        self.parameters = list(parameters)
        self.dynamic = list(dynamic)
        self._values = {sympy.Symbol(self.variable(symbol)): value for symbol, value in sizes.items()}
        self._grid = [self._expression(extent) for extent in grid]

    def variable(self, symbol: Any) -> str:
        """The variable that holds a size: a tensor may have the same name."""
        return f"{symbol}_size" if str(symbol) in {buffer.name for buffer in self.buffers} else str(symbol)

    def _expression(self, expression: Any) -> sympy.Expr:
        """With plain symbols, and numbers where the size is fixed."""
        expression = sympy.sympify(expression)
        plain = {symbol: sympy.Symbol(self.variable(symbol)) for symbol in expression.free_symbols}
        return expression.subs(plain).subs(self._values)

    def _shape(self, buffer: Buffer) -> list[str]:
        return [code_of(self._expression(extent)) for extent in buffer.shape]

    def _tuple(self, items: Sequence[str]) -> str:
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    def _sizes(self, buffers: Sequence[Buffer]) -> Iterator[str]:
        """Give the symbols values: of scalars that are bound to them, and of the tensors that have them first."""
        known = set()
        for scalar in self.parameters:
            if isinstance(scalar, Scalar) and scalar.symbol is not None:
                variable = self.variable(scalar.symbol)
                known.add(variable)
                if variable != scalar.name:
                    yield f"{variable} = {scalar.name}"
        for buffer in buffers:
            for dimension, extent in enumerate(self._shape(buffer)):
                if extent.isidentifier() and extent not in known:
                    known.add(extent)
                    yield f"{extent} = {buffer.name}.shape[{dimension}]"
        needed = {self.variable(symbol) for symbol in self.dynamic}
        for expression in [*self._grid, *(self._expression(extent) for item in self.buffers for extent in item.shape)]:
            needed |= {str(symbol) for symbol in expression.free_symbols}
        if unknown := sorted(needed - known):
            raise ValueError(f"Wave kernel '{self.name}': no argument tells the size {', '.join(unknown)}")

    def _checks(self, buffers: Sequence[Buffer]) -> Iterator[str]:
        for buffer in buffers:
            shape = self._tuple(self._shape(buffer))
            yield f"if {buffer.name}.shape != {shape}:"
            names = "[" + ", ".join(str(extent) for extent in buffer.shape) + "]"
            yield f"    refuse({buffer.name!r}, {names!r}, {shape}, {buffer.name})"

    @property
    def buffers(self) -> list[Buffer]:
        """The tensors, in the order of the Wave function."""
        return [parameter for parameter in self.parameters if isinstance(parameter, Buffer)]

    @property
    def scalars(self) -> list[Scalar]:
        """The numbers, in the order of the Wave function."""
        return [parameter for parameter in self.parameters if isinstance(parameter, Scalar)]

    def _ranks(self, buffers: Sequence[Buffer]) -> Iterator[str]:
        for buffer in buffers:
            names = "[" + ", ".join(str(extent) for extent in buffer.shape) + "]"
            yield f"if {buffer.name}.dim() != {len(buffer.shape)}:"
            yield f"    refuse({buffer.name!r}, {names!r}, None, {buffer.name})"

    def _call(self, order: Sequence[str]) -> str:
        arguments = [*order, *(scalar.name for scalar in self.scalars), *map(self.variable, self.dynamic)]
        return f"launch({', '.join(arguments)}, grid={self._tuple([code_of(extent) for extent in self._grid])})"

    def launch(self, order: Sequence[str]) -> str:
        """The launch with all tensors given; ``order`` names them as the binary takes them."""
        names = ", ".join(parameter.name for parameter in self.parameters)
        lines = [*self._ranks(self.buffers), *self._sizes(self.buffers), *self._checks(self.buffers), self._call(order)]
        return "\n    ".join([f"def {self.name}({names}):", *lines]) + "\n"

    def functional(self, order: Sequence[str]) -> str:
        """The same with new tensors for those that the kernel writes, which are returned."""
        inputs = [buffer for buffer in self.buffers if not buffer.is_written]
        outputs = [buffer for buffer in self.buffers if buffer.is_written]
        if not inputs or not outputs:
            raise ValueError(f"Wave kernel '{self.name}' needs a tensor that it only reads, and one that it writes")
        taken = [parameter for parameter in self.parameters if parameter not in outputs]
        types = [
            "Tensor" if isinstance(parameter, Buffer) else "float" if parameter.is_float else "int"
            for parameter in taken
        ]
        arguments = ", ".join(f"{parameter.name}: {kind}" for parameter, kind in zip(taken, types, strict=True))
        result = "Tensor" if len(outputs) == 1 else f"tuple[{', '.join(['Tensor'] * len(outputs))}]"
        makes = [
            f"{out.name} = {inputs[0].name}.new_empty({self._tuple(self._shape(out))}, dtype={out.dtype})"
            for out in outputs
        ]
        results = ", ".join(out.name for out in outputs)
        lines = [*self._ranks(inputs), *self._sizes(inputs), *self._checks(inputs), *makes, self._call(order)]
        return "\n    ".join([f"def {self.name}({arguments}) -> {result}:", *lines, f"return {results}"]) + "\n"

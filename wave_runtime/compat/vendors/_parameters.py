"""What a kernel takes where only its signature says so: on vendors whose code this package does not read."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wave_runtime._dtypes import COMMON
from wave_runtime._signature import Parameter, parse


@dataclass(frozen=True)
class Signature:
    """What a kernel takes."""

    kernel: str
    text: str
    parameters: tuple[Parameter, ...]

    @staticmethod
    def parse(kernel: str, text: str) -> Signature:
        """A signature as ``load`` takes it, of tensors and numbers. Raises ValueError."""
        try:
            parameters = parse(text)
        except ValueError as error:
            raise ValueError(f"kernel '{kernel}': {error}") from error
        for parameter in parameters:
            if parameter.type not in COMMON:
                raise ValueError(
                    f"kernel '{kernel}': signature '{text}': '{parameter.text}' is for AMD and NVIDIA alone; those of "
                    f"Intel and Apple take *TYPE, *TYPE const and TYPE, with TYPE one of {', '.join(COMMON)}"
                )
        return Signature(kernel, text, tuple(parameters))

    def check(self, arguments: Sequence[Any], device: torch.device) -> list[Any]:
        """The arguments, with numbers as ints and floats.

        Raises:
            TypeError, ValueError: their number, a type, a range, a dtype, strides or a device does not fit.
        """
        if len(arguments) != len(self.parameters):
            raise TypeError(
                f"kernel '{self.kernel}' takes {len(self.parameters)} arguments ({self.text}), given {len(arguments)}"
            )
        return [self._check(index, argument, device) for index, argument in enumerate(arguments)]

    def _check(self, index: int, argument: Any, device: torch.device) -> Any:
        parameter = self.parameters[index]
        name = f" '{parameter.name}'" if parameter.name else ""
        where = f"kernel '{self.kernel}', argument {index}{name}"
        if parameter.is_pointer:
            return _tensor(where, parameter, argument, device)
        if parameter.type.startswith(("f", "bf")):
            if isinstance(argument, (int, float)):
                return float(argument)
            raise TypeError(f"{where}: expected {parameter.type}, given {type(argument).__name__}")
        try:
            number = operator.index(argument)
        except TypeError:
            raise TypeError(f"{where}: expected {parameter.type}, given {type(argument).__name__}") from None
        low, high = _range(parameter.type)
        if not low <= number <= high:
            raise ValueError(f"{where}: expected {parameter.type}, an integer from {low} to {high}, given {number}")
        return number


def _tensor(where: str, parameter: Parameter, argument: Any, device: torch.device) -> torch.Tensor:
    if not isinstance(argument, torch.Tensor):
        raise TypeError(f"{where}: expected a tensor (*{parameter.type}), given {type(argument).__name__}")
    if argument.dtype != COMMON[parameter.type]:
        raise TypeError(f"{where}: expected a tensor for *{parameter.type}, given one of dtype {argument.dtype}")
    if argument.device != device:
        raise ValueError(f"{where}: expected a tensor on {device}, given one on {argument.device}")
    if not argument.is_contiguous():
        raise ValueError(f"{where}: expected a contiguous tensor, given strides {tuple(argument.stride())}")
    if argument.is_neg():
        raise ValueError(
            f"{where}: the tensor is a lazy negative whose storage holds other values: call .resolve_neg() first"
        )
    if argument.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(f"{where}: the tensor requires grad, and a launch has no derivative: use torch.no_grad()")
    return argument


def _range(type: str) -> tuple[int, int]:
    if type == "bool":
        return 0, 1
    bits = int(type[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type[0] == "i" else (0, (1 << bits) - 1)


def mark_written(signature: Signature, arguments: Sequence[Any]) -> None:
    """Tell autograd that the tensors that the kernel may write are changed."""
    for parameter, argument in zip(signature.parameters, arguments, strict=True):
        if parameter.is_pointer and not parameter.is_const:
            torch.autograd.graph.increment_version(argument)

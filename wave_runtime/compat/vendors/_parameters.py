"""What a kernel takes where only its signature says so: on vendors whose code this package does not read."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wave_runtime._dtypes import COMMON

_PARAMETER = re.compile(r"^(?:(?P<name>\w+)\s*:\s*)?(?P<pointer>\*)?\s*(?P<type>\w*?)\s*(?P<const>\bconst)?$")


@dataclass(frozen=True)
class Parameter:
    """One of a kernel's.

    Attributes:
        name: "" where the signature has none.
        type: "f32", of what a pointer points to, too.
    """

    name: str
    type: str
    is_pointer: bool
    is_const: bool


@dataclass(frozen=True)
class Signature:
    """What a kernel takes."""

    kernel: str
    text: str
    parameters: tuple[Parameter, ...]

    @staticmethod
    def parse(kernel: str, text: str) -> Signature:
        """A signature as ``load`` takes it, of tensors and numbers. Raises ValueError."""
        parameters = []
        for part in filter(None, map(str.strip, text.split(","))):
            found = _PARAMETER.match(part)
            if found is None or found["type"] not in COMMON or (found["const"] and not found["pointer"]):
                raise ValueError(
                    f"kernel '{kernel}': signature '{text}': '{part}' is none of *TYPE, *TYPE const and TYPE, with "
                    f"TYPE one of {', '.join(COMMON)}"
                )
            parameters.append(
                Parameter(found["name"] or "", found["type"], bool(found["pointer"]), bool(found["const"]))
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

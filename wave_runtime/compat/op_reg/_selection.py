"""KernelSelection: which kernel a call needs, and what it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from wave_runtime.compat.op_reg._descriptors import (
    ArgDescriptor,
    AttrArg,
    EmptyOptionalTensorArg,
    IntArg,
    TensorArg,
    TensorListArg,
)

if TYPE_CHECKING:
    from wave_runtime.compat.op_reg._custom_op import CustomOp


class KernelSelection(ABC):
    """The descriptors of arguments and results, which ``CustomOp.select`` fills in at every call.

    Each argument is declared once, by its index in the operator's signature. Calls whose ``spec_key`` is the same share
    a kernel.

    Attributes:
        op: the operator.
        arg_descs: a descriptor for each argument; None for those that are not declared yet.
        inplace_tied_arg_descs: those that the kernel writes, in the order in which they were declared.
        result_descs: of the results, in their order.
        variant: a name for anything else that the kernel depends on. By default "default".
    """

    __slots__ = ("arg_descs", "inplace_tied_arg_descs", "op", "result_descs", "variant")

    def __init__(self, op: CustomOp, arg_arity: int) -> None:
        self.op = op
        self.arg_descs: list[ArgDescriptor | None] = [None] * arg_arity
        self.inplace_tied_arg_descs: list[ArgDescriptor] = []
        self.result_descs: list[TensorArg | EmptyOptionalTensorArg] = []
        self.variant: str = "default"

    def generate_meta_returns(self) -> Any:
        """The results without data: one, None, or a tuple of several."""
        results = tuple(desc.generate_meta() for desc in self.result_descs)
        return results[0] if len(results) == 1 else results or None

    def get_provided_arg_descs(self) -> list[ArgDescriptor | None]:
        """The arguments' descriptors without those of optional tensors that were not given."""
        return [desc for desc in self.arg_descs if not isinstance(desc, EmptyOptionalTensorArg)]

    @property
    def spec_key(self) -> str:
        """``namespace.kind::name::variant(arguments)->(results)``: what tells kernels apart."""
        arguments = ",".join("None" if desc is None else desc.spec_key for desc in self.arg_descs)
        results = ",".join(desc.spec_key for desc in self.result_descs)
        return f"{self.op.cache_key_base}::{self.variant}({arguments})->({results})"

    @abstractmethod
    def arg_tensor(self, arg: int, *, inplace_tied: bool = False) -> TensorArg:
        """Declare a tensor, of any extents unless they are specialised.

        Args:
            arg: its index in the signature.
            inplace_tied: whether the kernel writes it. In MLIR the new value is yielded, behind the results.

        Raises:
            AssertionError: it is declared already, or no tensor.
        """

    @abstractmethod
    def arg_optional_tensor(self, arg: int) -> TensorArg | None:
        """Declare a tensor that may be missing; returns None if it is. Errors are those of :meth:`arg_tensor`."""

    @abstractmethod
    def arg_tensor_list(self, arg: int) -> TensorListArg:
        """Declare a list of tensors. Raises AssertionError."""

    @abstractmethod
    def arg_int(self, arg: int) -> IntArg:
        """Declare an integer of any value. Raises AssertionError."""

    @abstractmethod
    def attr_str(self, arg: int) -> AttrArg:
        """Declare a string, each value of which has a kernel of its own. Raises AssertionError."""

    @abstractmethod
    def attr_int(self, arg: int) -> AttrArg:
        """Declare an integer, each value of which has a kernel of its own. Raises AssertionError."""

    @abstractmethod
    def attr_float(self, arg: int) -> AttrArg:
        """Declare a float, each value of which has a kernel of its own. Raises AssertionError."""

    @abstractmethod
    def attr_list_int(self, arg: int) -> AttrArg:
        """Declare a list of integers, each value of which has a kernel of its own. Raises AssertionError."""

    @abstractmethod
    def attr_list_float(self, arg: int) -> AttrArg:
        """Declare a list of floats, each value of which has a kernel of its own. Raises AssertionError."""

    @abstractmethod
    def attr_list_bool(self, arg: int) -> AttrArg:
        """Declare a list of bools, each value of which has a kernel of its own. Raises AssertionError."""

    @abstractmethod
    def return_tensor(self, t: torch.Tensor) -> TensorArg:
        """Declare the next result: a new tensor with the shape and dtype of ``t``."""

    @abstractmethod
    def maybe_return_tensor(self, t: torch.Tensor | None) -> TensorArg | EmptyOptionalTensorArg:
        """Declare the next result, which is None where ``t`` is."""

    def return_new_tensor(self, size: Sequence[int], dtype: torch.dtype) -> TensorArg:
        """Declare the next result by its shape and dtype."""
        return self.return_tensor(torch.empty(tuple(size), dtype=dtype, device="meta"))


class EagerKernelSelection(KernelSelection):
    """A selection of the arguments of a call.

    Args:
        op: the operator.
        args: one for each parameter of its signature.
    """

    __slots__ = ("args",)

    def __init__(self, op: CustomOp, args: Sequence[Any]) -> None:
        super().__init__(op, len(args))
        self.args = args

    def _value(self, arg: int, kind: type | tuple[type, ...], name: str) -> Any:
        """An argument that is declared now."""
        value = self.args[arg]
        if self.arg_descs[arg] is not None:
            raise AssertionError(f"Already constrained argument {arg}")
        if not isinstance(value, kind):
            raise AssertionError(f"Argument type mismatch from Torch for {arg}: Expected {name}, got {type(value)}")
        return value

    def _attribute(self, arg: int, kind: type) -> AttrArg:
        desc = self.arg_descs[arg] = AttrArg(self._value(arg, kind, kind.__name__))
        return desc

    def _list_attribute(self, arg: int, kind: type) -> AttrArg:
        values = [_constant(value) for value in self._value(arg, list, "list")]
        for value in values:
            if not isinstance(value, kind):
                raise AssertionError(
                    f"Argument type mismatch from Torch for {arg}: Expected list of {kind.__name__}, got element type "
                    f"of {type(value)}"
                )
        desc = self.arg_descs[arg] = AttrArg(values)
        return desc

    def arg_tensor(self, arg: int, *, inplace_tied: bool = False) -> TensorArg:
        desc = self.arg_descs[arg] = TensorArg(self._value(arg, torch.Tensor, "tensor"))
        if inplace_tied:
            self.inplace_tied_arg_descs.append(desc)
        return desc

    def arg_optional_tensor(self, arg: int) -> TensorArg | None:
        if self.args[arg] is not None:
            return self.arg_tensor(arg)
        if self.arg_descs[arg] is not None:
            raise AssertionError(f"Already constrained argument {arg}")
        self.arg_descs[arg] = EmptyOptionalTensorArg()
        return None

    def arg_tensor_list(self, arg: int) -> TensorListArg:
        desc = self.arg_descs[arg] = TensorListArg(self._value(arg, list, "list"))
        return desc

    def arg_int(self, arg: int) -> IntArg:
        desc = self.arg_descs[arg] = IntArg(self._value(arg, (int, torch.SymInt), "int"))
        return desc

    def attr_str(self, arg: int) -> AttrArg:
        return self._attribute(arg, str)

    def attr_int(self, arg: int) -> AttrArg:
        desc = self.arg_descs[arg] = AttrArg(_constant(self._value(arg, (int, torch.SymInt), "int")))
        return desc

    def attr_float(self, arg: int) -> AttrArg:
        return self._attribute(arg, float)

    def attr_list_int(self, arg: int) -> AttrArg:
        return self._list_attribute(arg, int)

    def attr_list_float(self, arg: int) -> AttrArg:
        return self._list_attribute(arg, float)

    def attr_list_bool(self, arg: int) -> AttrArg:
        return self._list_attribute(arg, bool)

    def return_tensor(self, t: torch.Tensor) -> TensorArg:
        desc = TensorArg(t)
        self.result_descs.append(desc)
        return desc

    def maybe_return_tensor(self, t: torch.Tensor | None) -> TensorArg | EmptyOptionalTensorArg:
        desc: TensorArg | EmptyOptionalTensorArg = EmptyOptionalTensorArg() if t is None else TensorArg(t)
        self.result_descs.append(desc)
        return desc


def _constant(value: Any) -> Any:
    """A value that a kernel is specialised for: of a symbolic integer what it is now, which guards compiled code."""
    return int(value) if isinstance(value, torch.SymInt) else value

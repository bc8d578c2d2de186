"""Operators whose kernels are generated, with the names of wave_lang.runtime.op_reg. See docs/launchable.md."""

from wave_runtime.compat.launchable._kernel_launch import KernelLaunch
from wave_runtime.compat.op_reg._builder import FreeFuncKernelBuilder, KernelBuilder
from wave_runtime.compat.op_reg._custom_op import ALL_CUSTOM_OP_REGS, CustomOp, def_library
from wave_runtime.compat.op_reg._descriptors import (
    ArgDescriptor,
    AttrArg,
    EmptyOptionalTensorArg,
    IntArg,
    TensorArg,
    TensorListArg,
)
from wave_runtime.compat.op_reg._selection import KernelSelection

__all__ = [
    "ALL_CUSTOM_OP_REGS",
    "ArgDescriptor",
    "AttrArg",
    "CustomOp",
    "EmptyOptionalTensorArg",
    "FreeFuncKernelBuilder",
    "IntArg",
    "KernelBuilder",
    "KernelLaunch",
    "KernelSelection",
    "TensorArg",
    "TensorListArg",
    "def_library",
]

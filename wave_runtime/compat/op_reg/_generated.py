"""Generated kernels: kept by what they are specialised for, and run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from wave_runtime._device import target_for
from wave_runtime._fork import Lock
from wave_runtime.compat.launchable import Launchable
from wave_runtime.compat.launchable._program import jit_loader
from wave_runtime.compat.op_reg._builder import EagerKernelBuilder
from wave_runtime.compat.op_reg._descriptors import (
    ArgDescriptor,
    EmptyOptionalTensorArg,
    IntArg,
    TensorArg,
    TensorListArg,
)
from wave_runtime.compat.op_reg._selection import EagerKernelSelection

logger = logging.getLogger("wave_runtime.compat.op_reg")

Launch = Callable[..., object]

_Key = tuple[object, str]  # an operator, and what a kernel of it is specialised for

_kernels: dict[_Key, Launch | Launchable] = {}
_locks: dict[_Key, Lock] = {}


def kernel_count() -> int:
    """How many kernels were generated in this process."""
    return len(_kernels)


def run(selection: EagerKernelSelection) -> list[Any]:
    """The results of a selected kernel, which is generated where there is none. Arguments tied in place are written."""
    device = _device_of(selection)
    kernel = _kernel_for(selection, device)
    if isinstance(kernel, Launchable):
        return _run_program(kernel, selection, device)
    return _run_launch(kernel, selection, device)


def _tensors(desc: ArgDescriptor | None) -> Sequence[torch.Tensor]:
    if isinstance(desc, TensorListArg):
        return desc.ts
    return [desc.t] if isinstance(desc, TensorArg) else []


def _device_of(selection: EagerKernelSelection) -> torch.device:
    """The device of the tensors; the CPU where there are none."""
    if None in selection.arg_descs:
        raise AssertionError(
            f"Uninitialized argument descriptor: select() of '{selection.op.name}' declares no argument "
            f"{selection.arg_descs.index(None)}"
        )
    devices = dict.fromkeys(tensor.device for desc in selection.arg_descs for tensor in _tensors(desc))
    if len(devices) > 1:
        first, second, *_ = devices
        raise RuntimeError(f"Cannot launch with tensors from multiple devices: {second} vs {first}")
    return next(iter(devices), torch.device("cpu"))


def _kernel_for(selection: EagerKernelSelection, device: torch.device) -> Launch | Launchable:
    target = target_for(device)
    key = selection.op, f"{selection.spec_key}::{device.type}:{target}"
    if key in _kernels:
        return _kernels[key]
    with _locks.setdefault(key, Lock()):
        if key not in _kernels:
            logger.debug("Generating %s", key[1])
            builder = EagerKernelBuilder(selection, device, target)
            with builder.generating():
                launch = selection.op.generate(selection, builder)
                source = builder.finish() if launch is None else b""
            _kernels[key] = Launchable(jit_loader(source, "main$async", None)) if launch is None else launch
        return _kernels[key]


def _run_launch(launch: Launch, selection: EagerKernelSelection, device: torch.device) -> list[Any]:
    """Call what launches kernels, with contiguous tensors that autograd knows nothing of."""
    values: list[Any] = []
    for desc, value in zip(selection.arg_descs, selection.args, strict=True):
        tensors = [tensor.detach().contiguous() for tensor in _tensors(desc)]
        values.append(tensors if isinstance(desc, TensorListArg) else tensors[0] if tensors else value)
    results = [
        torch.empty(desc.t.shape, dtype=desc.t.dtype, device=device) if isinstance(desc, TensorArg) else None
        for desc in selection.result_descs
    ]
    launch(*values, *results)
    for desc, value in zip(selection.arg_descs, values, strict=True):
        if desc in selection.inplace_tied_arg_descs and isinstance(desc, TensorArg) and not desc.t.is_contiguous():
            desc.t.detach().copy_(value)  # the kernel has written to a copy
    return results


def _run_program(program: Launchable, selection: EagerKernelSelection, device: torch.device) -> list[Any]:
    """Call a function in MLIR, whose results are new."""
    operands: list[Any] = []
    for desc in selection.get_provided_arg_descs():
        operands.extend(_tensors(desc))
        if isinstance(desc, IntArg) and desc.ir_arity:
            operands.append(desc.v)
    returned = program(*operands, device=device)
    found = iter(returned if isinstance(returned, list) else [returned])
    results = [None if isinstance(desc, EmptyOptionalTensorArg) else next(found) for desc in selection.result_descs]
    for desc in selection.inplace_tied_arg_descs:
        for tensor in _tensors(desc):
            tensor.detach().copy_(next(found))
    return results

"""Processes that train together, each on an emulated GPU: gloo, which takes CPU tensors, stands in for NCCL."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed

from wave_runtime._emulate._patches import Patches


def _by_gloo(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    """A function that is told a backend, perhaps as one of its arguments by place, and perhaps a device."""

    def replaced(backend: Any) -> Any:
        return backend.replace("nccl", "gloo") if isinstance(backend, str) else backend

    @functools.wraps(original)
    def make(*args: Any, **options: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], replaced(args[position]), *args[position + 1 :])
        elif "backend" in options:
            options["backend"] = replaced(options["backend"])
        options.pop("device_id", None)  # for gloo there is none
        return original(*args, **options)

    return make


def _without_devices(original: Callable[..., None]) -> Callable[..., None]:
    """DistributedDataParallel's __init__, which allows no devices for a module of CPU tensors."""

    @functools.wraps(original)
    def init(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **rest: Any
    ) -> None:
        original(self, module, None, None, *args, **rest)

    return init


def _without_device_ids(original: Callable[..., Any]) -> Callable[..., Any]:
    """barrier(), which would take a tensor of the machine's own GPU for gloo, where it has one."""

    @functools.wraps(original)
    def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
        return original(group, async_op)

    return barrier


def replace(patches: Patches) -> None:
    """Replace torch.distributed's functions, under the names that its modules have for them, too."""
    distributed = torch.distributed
    if not distributed.is_available():
        return
    homes = (distributed, distributed.distributed_c10d)
    for name, position in (("init_process_group", 0), ("new_group", 2)):
        made = _by_gloo(getattr(distributed, name), position)
        for home in homes:
            patches.set(home, name, made)
    barrier = _without_device_ids(distributed.barrier)
    for home in homes:
        patches.set(home, "barrier", barrier)
        patches.set(home, "is_nccl_available", lambda: True)
    parallel = torch.nn.parallel.DistributedDataParallel
    patches.set(parallel, "__init__", _without_devices(parallel.__init__))

"""Makes launches again that failed on the emulator and were written to disk (``WAVE_RUNTIME_DUMP``)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._module import load
from wave_runtime._old_addresses import map_memory, tensor_at
from wave_runtime._run import Result, environment, parameters
from wave_runtime._signature import Parameter

_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}


class _Memory:
    """The memory that the launch was given.

    It lies at its old addresses, so that pointers in it lead there, unless this process has something else there.
    """

    def __init__(self, folder: Path, launch: dict[str, Any]) -> None:
        self._ranges = [tuple(item) for item in launch["ranges"]]
        contents = [(folder / f"memory-{index}.bin").read_bytes() for index in range(len(launch["blocks"]))]
        spans = [(address, len(data)) for address, data in zip(launch["blocks"], contents, strict=True)]
        self.is_in_place = map_memory(spans)
        self._blocks: list[tuple[int, torch.Tensor]] = []
        for (address, size), data in zip(spans, contents, strict=True):
            block = tensor_at(address, size) if self.is_in_place else torch.empty(size, dtype=torch.uint8)
            if data:
                block.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
            self._blocks.append((address, block))

    def at(self, address: int, dtype: torch.dtype) -> torch.Tensor | None:
        """What an argument pointed to: the smallest range that begins there, else all behind it; None for nothing."""
        ends = [end for begin, end in self._ranges if begin == address]
        for begin, block in self._blocks:
            if begin <= address < begin + max(1, block.numel()):
                size = (min(ends) if ends else begin + block.numel()) - address
                part = block[address - begin : address - begin + size // dtype.itemsize * dtype.itemsize]
                return part.view(dtype)
        return None

    def besides(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """All of it, or nothing if each range begins where one of the arguments does."""
        known = {argument.data_ptr() for argument in arguments if isinstance(argument, torch.Tensor)}
        if all(begin in known for begin, _ in self._ranges):
            return []
        return [tensor for begin, _ in self._ranges if (tensor := self.at(begin, torch.uint8)) is not None]


def _value(parameter: Parameter, data: bytes, memory: _Memory) -> Any:
    """A packed argument as the kernel's call takes it."""
    number = int.from_bytes(data, "little")
    if parameter.is_pointer or parameter.text == "b64":
        tensor = memory.at(number, parameter.dtype or torch.uint8)
        if tensor is not None:
            return tensor
    if parameter.type == "bytes":
        return data
    if parameter.text in _FLOATS:
        return struct.unpack(_FLOATS[parameter.text], data)[0]
    if parameter.text == "bf16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    return int.from_bytes(data, "little", signed=parameter.text.startswith("i"))


def replay(folder: str, variables: Mapping[str, str]) -> Result:
    """Make the launch of a dump again, with environment variables for it.

    Raises:
        OSError, ValueError: the folder is incomplete.
        KernelFault: as the launch did, if nothing that it depends on has changed.
    """
    path = Path(folder)
    launch = json.loads((path / "launch.json").read_text(encoding="utf-8"))
    name = launch["kernel"]
    signature, strict = {name: launch["signature"]}, launch["strict"]
    kernel = load(path / "kernel.hsaco", signature=signature, strict=strict)[name]
    memory, packed = _Memory(path, launch), bytes.fromhex(launch["arguments"])
    items = parameters(launch["signature"])
    values = [
        _value(item, packed[layout["offset"] : layout["offset"] + layout["size"]], memory)
        for item, layout in zip(items, launch["parameters"], strict=True)
    ]
    options = {name: launch[name] for name in ("grid", "block", "shared_memory", "cooperative")}
    with environment(variables):
        if memory.is_in_place and (whole := memory.besides(values)):
            kernel.launch_raw(packed, memory=whole, **options)
        else:
            kernel(*values, **options)
    tensors = {item.name: value for item, value in zip(items, values, strict=True) if isinstance(value, torch.Tensor)}
    return Result(tensors, _C.emulator_statistics())

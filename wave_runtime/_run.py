"""Launching a kernel from the command line: behind ``python -m wave_runtime run``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._device import has_gpu
from wave_runtime._dtypes import DTYPES
from wave_runtime._files import write_file
from wave_runtime._module import load
from wave_runtime._signature import Parameter, parse


def _random(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random numbers: floats are normally distributed; integers, and floats of four bits, take all values."""
    if dtype.is_floating_point and dtype is not torch.float4_e2m1fn_x2:
        return torch.randn(shape).to(dtype)
    if dtype is torch.bool:
        return torch.randint(2, shape).to(dtype)
    size = math.prod(shape) * dtype.itemsize
    return torch.randint(256, (size,), dtype=torch.uint8).view(dtype).reshape(shape)


def _iota(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(math.prod(shape)).to(dtype).reshape(shape)


MAKERS: dict[str, Callable[[tuple[int, ...], torch.dtype], torch.Tensor]] = {
    "zeros": lambda shape, dtype: torch.zeros(shape, dtype=dtype),
    "ones": lambda shape, dtype: torch.ones(shape).to(dtype),
    "iota": _iota,
    "random": _random,
}


@dataclass
class Request:
    """A launch: what the options of ``run`` say.

    Attributes:
        arguments: a text for each parameter: see :func:`parse_argument`.
        environment: variables for the launch (``WAVE_RUNTIME_TRACE``, ...).
    """

    file: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...] | None = None
    shared_memory: int = 0
    arguments: Sequence[str] = ()
    signature: str | None = None
    target: str | None = None
    device: str = "cpu"
    seed: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)


def parameters(signature: str) -> list[Parameter]:
    """The parameters of a kernel's signature, those without a name under their index."""
    return [item._replace(name=item.name or str(index)) for index, item in enumerate(parse(signature))]


def parse_argument(text: str, parameter: Parameter) -> Any:
    """The value of an argument given as text.

    The text may be ``3``, ``0x10``, ``2.5``, ``true``; ``file.npy`` or ``file.pt``; or ``zeros:``, ``ones:``, ``iota:``
    or ``random:`` with a shape, ``zeros:64,128``, and with a dtype before it where the signature does not say one:
    ``random:f16:64,128``.

    Raises:
        ValueError: it is none of these, with what would be.
        OSError: the file cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind in MAKERS and rest:
        return _made(text, parameter)
    if text.endswith((".npy", ".pt")):
        return _loaded(text)
    if text in ("true", "false"):
        return text == "true"
    for number in (lambda value: int(value, 0), float):
        try:
            return number(text)
        except ValueError:
            continue
    raise ValueError(
        f"argument {parameter.name} ({parameter.text}): {text!r} is no number, no .npy or .pt file, and not of the "
        f"form zeros:[DTYPE:]SHAPE with {', '.join(MAKERS)}"
    )


def _made(text: str, parameter: Parameter) -> torch.Tensor:
    kind, *dtype_name, shape = text.split(":")
    dtype = DTYPES.get(dtype_name[0]) if dtype_name else parameter.dtype
    if dtype is None or len(dtype_name) > 1:
        raise ValueError(
            f"argument {parameter.name} ({parameter.text}): {text!r} needs a dtype before the shape: "
            f"{', '.join(DTYPES)}"
        )
    try:
        extents = tuple(int(extent) for extent in shape.split(","))
    except ValueError:
        raise ValueError(f"argument {parameter.name}: {shape!r} is no shape such as 64,128") from None
    try:
        return MAKERS[kind](extents, dtype)
    except NotImplementedError:
        raise ValueError(
            f"argument {parameter.name}: torch makes no {dtype} of other numbers: use zeros:, random: or a file"
        ) from None


def _loaded(path: str) -> torch.Tensor:
    if path.endswith(".npy"):
        import numpy as np

        return torch.from_numpy(np.load(path))
    value = torch.load(path, weights_only=True)
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"{path} holds no tensor, but {type(value).__name__}")
    return value


def save(tensor: torch.Tensor, path: str) -> None:
    """Write a tensor as .npy or .pt. Raises ValueError for other names, or where NumPy lacks the dtype; OSError."""
    contents = BytesIO()
    if path.endswith(".pt"):
        torch.save(tensor.cpu(), contents)
    elif path.endswith(".npy"):
        import numpy as np

        try:
            np.save(contents, tensor.cpu().numpy())
        except TypeError:
            raise ValueError(f"{path}: NumPy has no {tensor.dtype}; save it as .pt") from None
    else:
        raise ValueError(f"{path}: tensors are saved as .npy or .pt")
    write_file(path, contents.getvalue())


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@dataclass
class Result:
    """What a launch left: the tensors that it may have written, by name, and the emulator's statistics."""

    tensors: dict[str, torch.Tensor]
    statistics: dict[str, Any]

    def save(self, paths: Mapping[str, str]) -> None:
        """Write tensors to files, by name or index: ``{"c": "c.npy"}``. Raises ValueError for unknown names."""
        for name, path in paths.items():
            if name not in self.tensors:
                raise ValueError(f"--save {name}: the kernel writes {', '.join(self.tensors) or 'no tensor'}")
            save(self.tensors[name], path)


def run(request: Request) -> Result:
    """Launch a kernel with arguments given as text.

    Raises:
        ValueError, TypeError, KeyError: the file or an argument does not fit.
        OSError: a file cannot be read.
        RuntimeError: there is no such device.
        KernelFault: the kernel did what it must not, or a check found something.
    """
    signature = None if request.signature is None else {request.kernel: request.signature}
    kernel = load(request.file, target=request.target, signature=signature)[request.kernel]
    expected = parameters(kernel.signature)
    if len(expected) != len(request.arguments):
        raise ValueError(
            f"kernel '{kernel.name}' takes {len(expected)} arguments ({kernel.signature}), given "
            f"{len(request.arguments)}: pass --arg for each"
        )
    if torch.device(request.device).type == "cuda" and not has_gpu():
        raise RuntimeError("torch finds no GPU here")
    torch.manual_seed(request.seed)
    values = [parse_argument(text, item) for text, item in zip(request.arguments, expected, strict=True)]
    values = [value.to(request.device) if isinstance(value, torch.Tensor) else value for value in values]
    with environment(request.environment):
        kernel(*values, grid=request.grid, block=request.block, shared_memory=request.shared_memory)
    written = range(len(values)) if kernel.writes is None else kernel.writes
    named = {expected[i].name: values[i] for i in written if isinstance(values[i], torch.Tensor)}
    return Result(named, _C.emulator_statistics() if request.device == "cpu" else {})


def render_statistics(statistics: Mapping[str, Any]) -> str:
    """The statistics of a launch on the emulator as text."""
    instructions = statistics["instructions"]
    lines = [
        f"{instructions:,} instructions of {statistics['waves']:,} waves in {statistics['workgroups']:,} workgroups"
    ]
    for kind, count in sorted(statistics["kinds"].items(), key=lambda item: -item[1]):
        lines.append(f"  {count:14,}  {100 * count / instructions:5.1f}%  {kind}")
    lines += [f"  {count:14,}  bytes {what}" for what, count in statistics["bytes"].items()]
    if cycles := statistics["lds_cycles"]:
        conflicts = statistics["lds_conflict_cycles"]
        lines.append(f"  {cycles:14,}  LDS cycles, {100 * conflicts / cycles:.1f}% of them for bank conflicts")
    if operations := statistics["matrix_operations"]:
        lines.append(f"  {operations:14,}  operations of matrix instructions")
    if vectors := statistics["vector_instructions"]:
        lanes = statistics["lanes"] / vectors
        lines.append(f"  {lanes:14.1f}  of {statistics['wave_lanes']} lanes enabled in vector instructions")
    return "\n".join(lines)


def render(result: Result) -> str:
    """The written tensors as text."""
    return "\n".join(f"{name}: {tensor}" for name, tensor in result.tensors.items())


def is_dump(path: str) -> bool:
    """Whether a path is a folder that ``WAVE_RUNTIME_DUMP`` made."""
    return (Path(path) / "launch.json").is_file()

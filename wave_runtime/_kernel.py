"""The Python half of Kernel: the call as an operator, which compilers trace, and what the binary says of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypedDict

import torch
from typing_extensions import Unpack

from wave_runtime import _C, _torch
from wave_runtime._export import embed_in_packages, launch_embedded
from wave_runtime._file import Image
from wave_runtime._foreign import tensor_over
from wave_runtime._inductor import keep_order
from wave_runtime._torch import constant_result
from wave_runtime._tracing import is_exporting

Dims = int | Sequence[int]


class Attributes(TypedDict, total=False):
    """The keywords of a launch that are seldom given. See ``Kernel.__call__`` in ``_C.pyi``."""

    cluster: Dims | None
    cooperative: bool
    programmatic: bool
    priority: int | None


class Options(Attributes, total=False):
    """The keywords of a launch but the grid."""

    block: Dims | None
    shared_memory: int


class LaunchOptions(Options):
    """The keywords of a launch."""

    grid: Dims


class CallOptions(LaunchOptions, total=False):
    """The keywords of a launch that is no operator, which may be without tensors."""

    device: torch.device | str | int | None
    stream: Any


def call_operator(
    self: _C.Kernel,
    *args: Any,
    device: torch.device | str | int | None = None,
    stream: Any = None,
    **options: Unpack[LaunchOptions],
) -> None:
    """Call an operator with the arguments of ``kernel(...)``: ``torch.ops.wave.launch``, or the kernel's own.

    This is what ``kernel(...)`` does where the call must be an operator: with modes, tracers or tensor subclasses, and
    under torch.compile, which finds this function as ``Kernel.__call__`` and traces it. Compiled code gets an operator
    of the kernel alone, since torch parses lists slowly; an exported program one that brings the kernel's code, since
    it may run where the kernel was never loaded. The operator checks the rest.
    """
    if device is not None:
        raise ValueError(
            f"{self._text}: device= is for plain calls: under torch.compile and torch.export, with modes and "
            "tensor subclasses the tensors alone say the device"
        )
    if stream is not None:
        raise ValueError(
            f"{self._text}: stream= is for plain calls: under torch.compile and torch.export, with modes and "
            "tensor subclasses a launch goes to the current stream (with torch.cuda.stream(stream): ...)"
        )
    exporting = is_exporting()
    if torch.compiler.is_dynamo_compiling() and not exporting and _call_own_operator(self, *args, **options):
        return
    # The overload, whose schema tells torch.fx that the call writes, so that it is no dead code.
    launch = launch_embedded if exporting else torch.ops.wave.launch.default
    launch(*_operator_arguments(self, *args, **options))


def _call_own_operator(
    self: _C.Kernel,
    *args: Any,
    grid: Dims,
    block: Dims | None = None,
    shared_memory: int = 0,
    cluster: Dims | None = None,
    cooperative: bool = False,
    programmatic: bool = False,
    priority: int | None = None,
) -> bool:
    """Call the operator of the kernel alone, where it has one that takes these arguments and options."""
    is_plain = cluster is None and not cooperative and not programmatic and priority is None
    if not is_plain or not self._has_operator or any(_float_tensors(self, args)):
        return False
    values, grid_extents, block_extents = _values(self, args), _extents(self, "grid", grid), _block(self, block)
    operator = getattr(torch.ops.wave_kernel, _operator_name(self.handle))
    if block is None and shared_memory == 0:
        operator.default(*values, *grid_extents)
    else:
        operator.block(*values, *grid_extents, *block_extents, shared_memory)
    return True


def _operator_arguments(
    self: _C.Kernel,
    *args: Any,
    grid: Dims,
    block: Dims | None = None,
    shared_memory: int = 0,
    cluster: Dims | None = None,
    cooperative: bool = False,
    programmatic: bool = False,
    priority: int | None = None,
) -> tuple[Any, ...]:
    """What ``torch.ops.wave.launch`` takes for the arguments of ``kernel(...)``."""
    return (
        self.handle,
        *_lists(self._plan, _values(self, args), any(_float_tensors(self, args))),
        _extents(self, "grid", grid),
        _block(self, block),
        shared_memory,
        None if cluster is None else _extents(self, "cluster", cluster),
        cooperative,
        programmatic,
        priority,
    )


def _float_tensors(self: _C.Kernel, args: Sequence[Any]) -> list[bool]:
    """Which floats are given as tensors: a float recompiles for each value, a zero-dimensional tensor does not."""
    return [kind == "float" and isinstance(value, torch.Tensor) for kind, value in zip(self._plan, args, strict=False)]


def _values(self: _C.Kernel, args: Sequence[Any]) -> list[Any]:
    """The arguments as operators take them."""
    plan = self._plan
    if len(args) != len(plan):
        raise TypeError(f"{self._text} takes {len(plan)} arguments ({self.signature}), given {len(args)}")
    return [_operand(self, index, kind, args[index]) for index, kind in enumerate(plan)]


def _block(self: _C.Kernel, block: Dims | None) -> list[int]:
    """The extents of the block: those given, else those that the binary requires."""
    dims = self.block if block is None else block
    if dims is None:
        raise TypeError(f"{self._text}: block= is missing: the binary fixes no workgroup size")
    return _extents(self, "block", dims)


@constant_result
def _operator_name(handle: str) -> str:
    """Runs while torch.compile traces, so that the operator is there before a compiled graph, of a cache even, runs."""
    name = _C.define_traced_operator(handle)
    packet = getattr(torch.ops.wave_kernel, name)
    for kind in packet.overloads():
        overload = getattr(packet, kind)
        _torch.set_inductor_call(overload, _C.kernel_inductor_call(handle, overload, kind == "block"))
        keep_order(overload)
    return name


def _operand(self: _C.Kernel, index: int, kind: str, value: Any) -> Any:
    """An argument as operators take it."""
    if not torch.compiler.is_compiling() and _torch.is_stand_in(value):
        return value
    if kind in ("input", "output"):
        if not isinstance(value, torch.Tensor) and not torch.compiler.is_compiling():
            value = tensor_over(value, f"{self._text}, argument {index}", kind == "input")
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{self._text}, argument {index}: expected a tensor, given {type(value).__name__}")
        if not torch.compiler.is_compiling() and value.is_nested:
            raise TypeError(
                f"{self._text}, argument {index}: expected a strided tensor, given a nested one: pass its values()"
            )
    elif kind == "bytes":
        return value if isinstance(value, bytes) else bytes(value)
    elif kind == "float":
        pass
    elif kind in ("bits", "b64", "u64") and isinstance(value, torch.Tensor):
        raise TypeError(
            f"{self._text}, argument {index}: given a tensor where the binary does not say that there is a "
            f"pointer ({self.signature}): pass signature= to wave_runtime.load()"
        )
    elif isinstance(value, float):
        raise TypeError(
            f"{self._text}, argument {index}: given a float where the signature ({self.signature}) "
            "does not say f32: pass signature= to wave_runtime.load()"
        )
    elif kind in ("u64", "b64"):
        return _word(self, index, kind, value)
    return value


def _word(self: _C.Kernel, index: int, kind: str, value: Any) -> Any:
    """An integer of 64 bits as operators take it, which have signed ones only.

    Then -1 is 2**64 - 1 to them. So what a u64 does not take is refused here.
    """
    if kind == "u64":
        if _torch.is_known(value < 0):
            raise ValueError(
                f"{self._text}, argument {index}: expected u64, an integer from 0 to {(1 << 64) - 1}, given {value}"
            )
        _torch.demand(value >= 0)  # of a number that a tensor holds, as the compiled program runs
    if _torch.is_known(value >= 1 << 63):
        if value >= 1 << 64:
            raise ValueError(f"{self._text}, argument {index}: expected 64 bits, given {value}")
        return value - (1 << 64)
    return value


def _lists(
    plan: Sequence[str], values: Sequence[Any], with_tensors: bool
) -> tuple[list[torch.Tensor], list[torch.Tensor], list[int], list[float]]:
    """The lists that wave::launch takes. ``with_tensors``: all floats travel among the inputs."""
    inputs: list[torch.Tensor] = []
    outputs: list[torch.Tensor] = []
    ints: list[int] = []
    floats: list[float] = []
    for kind, value in zip(plan, values, strict=True):
        if kind in ("input", "output"):
            (inputs if kind == "input" else outputs).append(value)
        elif kind == "float" and with_tensors:
            inputs.append(value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64))
        elif kind == "float":
            floats.append(value)
        elif kind == "bytes":
            ints.extend(_words(value))
        else:
            ints.append(int(value) if isinstance(value, bool) else value)  # no bool stands beside symbolic integers
    return inputs, outputs, ints, floats


def _extents(self: _C.Kernel, what: str, dims: Dims) -> list[int]:
    """The three extents that operators take; missing ones are 1."""
    extents: list[int] = list(dims) if isinstance(dims, (tuple, list)) else [dims]  # type: ignore[list-item]
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"{self._text}: {what} must be an int or 1 to 3 ints, given {len(extents)}")
    return extents + [1] * (3 - len(extents))


def _words(value: bytes) -> list[int]:
    """Bytes as signed 64-bit words. Not int.from_bytes, which torch.compile traces from torch 2.12 on only."""
    words = [0] * ((len(value) + 7) // 8)
    for i in range(len(value)):
        words[i // 8] |= value[i] << i % 8 * 8
    return [word - (1 << 64) if word >> 63 else word for word in words]


def rebuild(images: list[bytes], name: str, signature: str | None, strides: str, strict: bool) -> _C.Kernel:
    """Make a kernel again from what pickling keeps of it."""
    return _C.make_kernel([_C.CodeObject(image) for image in images], name, signature, None, strides, strict)


def reduce(self: _C.Kernel) -> tuple[Any, ...]:
    """What a kernel is pickled and copied as: unpickling registers it again under its handle."""
    signature = self.signature if self._overridden else None
    return rebuild, ([code.data for code in self._codes], self.name, signature, self.strides, self.strict)


def info(self: _C.Kernel) -> dict[str, Any]:
    """What the binary says of a kernel. See ``_C.pyi``."""
    from wave_runtime import _info  # not needed to launch

    described = _info.describe_images([Image(self._codes[0])])
    return next(kernel for kernel in described["kernels"] if kernel["name"] == self.name)


class ByTarget(dict[str, Any]):
    """What is said of each build of a kernel. Asked for another target, it raises a KeyError that names them."""

    def __init__(self, kernel: _C.Kernel, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._kernel = kernel._text

    def __missing__(self, target: object) -> NoReturn:
        raise KeyError(f"{self._kernel}: nothing for the target {target!r}; its targets are {list(self)}")


def asm(self: _C.Kernel) -> dict[str, str]:
    """A kernel's code as text, by target. See ``_C.pyi``."""
    from wave_runtime import _disasm

    texts = {code.target: _disasm.text_of(Image(code), self.name) for code in self._codes}
    return ByTarget(self, {target: text for target, text in texts.items() if text is not None})


def coverage(self: _C.Kernel) -> dict[str, dict[str, Any]]:
    """What the emulator does not run of a kernel. See ``_C.pyi``."""
    from wave_runtime import _coverage

    images = (image for image in map(Image, self._codes) if image.is_amd)
    return ByTarget(self, {image.code_object.target: _coverage.of_image(image, self.name) for image in images})


class Accesses(NamedTuple):
    """Which pointer arguments a launch wrote and read: by name where the name is unique, else by index.

    ``writes`` is what ``wave_runtime.load(..., writes=)`` takes.
    """

    writes: tuple[int | str, ...]
    reads: tuple[int | str, ...]


def infer_writes(self: _C.Kernel, *args: Any, **options: Any) -> Accesses:
    """Run a launch on the emulator and say which pointer arguments it wrote and read. See ``_C.pyi``."""
    copies: dict[int, torch.UntypedStorage] = {}

    def copy(index: int, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            tensor: torch.Tensor | None = value
        else:
            tensor = tensor_over(value, f"{self._text}, argument {index}", True)
        if tensor is None or tensor.layout is not torch.strided:
            return value
        value = tensor
        storage = value.untyped_storage()
        if storage.data_ptr() not in copies:
            copies[storage.data_ptr()] = value.new_empty(0).set_(storage).cpu().clone().untyped_storage()
        same = torch.empty(0, dtype=value.dtype)
        return same.set_(copies[storage.data_ptr()], value.storage_offset(), value.size(), value.stride())

    accesses = self._trace(*map(copy, range(len(args)), args), **options)
    names = self._names

    def reference(index: int) -> int | str:
        return names[index] if names[index] and names.count(names[index]) == 1 else index

    return Accesses(
        writes=tuple(reference(index) for index, (_, written) in accesses.items() if written),
        reads=tuple(reference(index) for index, (read, _) in accesses.items() if read),
    )


def as_operator(self: _C.Kernel, name: str, **options: Any) -> _torch.OpOverload:
    """Define an operator of this kernel alone. See ``_C.pyi``."""
    self._define_operator(name, **options)
    namespace, _, short_name = name.partition("::")
    overload: _torch.OpOverload = getattr(getattr(torch.ops, namespace), short_name).default
    names = [argument.name for argument in _torch.schema(overload).arguments]

    def launch(*args: Any, **keywords: Any) -> None:
        given = {"grid_y": 1, "grid_z": 1, **dict(zip(names, args, strict=False)), **keywords}
        *arguments, x, y, z = (given[name] for name in names)
        launch_embedded(*_operator_arguments(self, *arguments, grid=(x, y, z), **options))

    embed_in_packages(overload, launch)
    _torch.set_inductor_call(overload, _C.kernel_inductor_call(self.handle, overload, False, **options))
    floats = [name for name, kind in zip(names, self._plan, strict=False) if kind == "float"]
    _torch.watch_numbers(overload, floats, lambda _, value: self._check_number(value))
    return overload


def _refuse_script(self: Any) -> None:
    what = self._text if isinstance(self, _C.Kernel) else "a bound launch"
    raise RuntimeError(f"{what}: torch.jit.script is not supported; use torch.compile or torch.export")


call_operator.__doc__ = _C.doc("Kernel.__call__")  # what help() says is for users
for _function in (as_operator, asm, coverage, infer_writes, info):
    _function.__doc__ = _C.doc(f"Kernel.{_function.__name__}")
_C.Kernel = _C.make_kernel_type(call_operator)  # type: ignore[misc]
_C.Kernel.as_operator = as_operator  # type: ignore[method-assign]
_C.Kernel.asm = property(asm)  # type: ignore[method-assign, assignment]
_C.Kernel.coverage = coverage  # type: ignore[method-assign]
_C.Kernel.infer_writes = infer_writes  # type: ignore[method-assign]
_C.Kernel.info = property(info)  # type: ignore[method-assign, assignment]
_C.Kernel.__reduce__ = reduce  # type: ignore[method-assign, assignment]
for _type in (_C.Kernel, _C.BoundLaunch, _C.Sequence):
    _torch.set_script_rule(_type, _refuse_script)

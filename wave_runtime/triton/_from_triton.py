"""Triton's functions as kernels of this package."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import torch
import triton
from triton.backends.amd.compiler import HIPOptions
from triton.backends.compiler import GPUTarget

from wave_runtime import _C, _device, _signature
from wave_runtime._kernel import Dims
from wave_runtime._module import load
from wave_runtime.triton._driver import MAKES_POINTERS
from wave_runtime.triton._program import SCRATCH, check_count

# What Triton calls the types of signatures (triton.language.str_to_ty). Integers have the same names.
TYPES = {
    **{f"{sign}{bits}": f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)},
    **{"bool": "i1", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"},
    **{"f8e4m3fn": "fp8e4nv", "f8e4m3fnuz": "fp8e4b8", "f8e5m2": "fp8e5", "f8e5m2fnuz": "fp8e5b16"},
}
CHOSEN = {"arch", "backend_name", "num_ctas"}  # options that the target decides; a launch here has no clusters


class TritonFunction:
    """A compiled Triton function, called with all of its parameters except the constants. Made by :func:`from_triton`.

    A call checks the arguments' types and launches on the tensors' device. Compilers trace it.

    Attributes:
        kernel: the kernel itself. It takes two more arguments, null pointers to Triton's scratch memory.
        parameters: the names of the parameters that a call takes.
        constants: the values of all other parameters.
        target: the processor that it was compiled for.
    """

    def __init__(
        self, kernel: _C.Kernel, parameters: Sequence[str], constants: Mapping[str, Any], metadata: Any
    ) -> None:
        self.kernel = kernel
        self.parameters = tuple(parameters)
        self.constants = dict(constants)
        self.target: str = metadata.target.arch
        self._block: int = metadata.num_warps * metadata.warp_size
        self._shared_memory: int = metadata.shared
        self._cooperative = bool(metadata.launch_cooperative_grid)
        # What fingerprints of operators cover.
        self._definition = kernel, self._block, self._shared_memory, self._cooperative

    def __getitem__(self, grid: object) -> NoReturn:
        raise TypeError(
            f"{self!r} was compiled by from_triton, and takes its grid as other kernels do: "
            f"{self.kernel.name}({', '.join(self.parameters)}, grid=...)"
        )

    def __call__(self, *args: Any, grid: Dims, **keywords: Any) -> None:
        """Launch on the tensors' device, as ``kernel(...)`` does.

        Args:
            args: what the signature has, in the order of the function's parameters.
            grid: programs, in one to three dimensions.

        Raises:
            TypeError: there are not as many arguments, or one does not fit its type.
            ValueError: a number is out of its type's range, or the tensors are on several devices.
            KernelFault: on the emulator, the kernel did what it must not.
        """
        if keywords:
            raise TypeError(
                f"Triton kernel '{self.kernel.name}' got an unexpected keyword '{next(iter(keywords))}': it takes "
                "grid= alone; constants and num_warps, which sets the block, are given to from_triton()"
            )
        check_count(self.kernel, self.parameters, args)
        self.kernel(
            *args,
            *(0 for _ in SCRATCH),
            grid=grid,
            block=self._block,
            shared_memory=self._shared_memory,
            cooperative=self._cooperative,
        )

    @property
    def code(self) -> bytes:
        """The code object."""
        return bytes(_C.embedded_code(self.kernel.handle).numpy())

    def __repr__(self) -> str:
        return f"<wave_runtime.triton.TritonFunction {self.kernel.name}({', '.join(self.parameters)})>"


def from_triton(
    kernel: Any,
    signature: str,
    *,
    constants: Mapping[str, Any] | None = None,
    target: str | None = None,
    **options: Any,
) -> TritonFunction:
    """Compile a Triton function once, for one set of types and constants, as a kernel of this package.

        add = wave_runtime.from_triton(add_in_triton, "x: *f32 const, out: *f32, n: i32", constants={"BLOCK": 64})
        add(x, out, 1000, grid=wave_runtime.cdiv(1000, 64))

    Unlike a launch by Triton, it assumes nothing about the values: pointers may have any alignment.

    Args:
        kernel: a function decorated with ``triton.jit``.
        signature: the names and types of the parameters, as ``wave_runtime.load`` takes them. Triton refuses stores to
            a pointer that is const; all other pointers count as written.
        constants: the values of all other parameters, by name. Those that have a default may be left out. Any parameter
            may be a constant, for instance None for an optional tensor.
        target: an AMD processor: "gfx942". By default that of torch's GPU or, if there is none, the one that is
            emulated.
        options: Triton's for HIP: ``num_warps``, ``num_stages``, ``waves_per_eu``, ...

    Raises:
        TypeError: ``kernel`` is not such a function, ``signature`` or ``constants`` is of another type, or there is no
            such option.
        ValueError: the signature and the constants do not fit the function, the target is not an AMD processor, or the
            kernel needs something that only Triton's own launches provide.
        triton.CompilationError: the compiler refuses it.
    """
    if not isinstance(kernel, triton.JITFunction):
        hint = "; choose one of its configurations, and pass .fn" if hasattr(kernel, "fn") else ""
        raise TypeError(f"from_triton: expected a @triton.jit function, given {type(kernel).__name__}{hint}")
    name = kernel.__name__
    known = {field.name for field in dataclasses.fields(HIPOptions)} - CHOSEN
    if not known.issuperset(options):
        unknown = ", ".join(sorted(set(options) - known))
        raise TypeError(f"Triton kernel '{name}': no option {unknown}; there are {', '.join(sorted(known))}")
    if not isinstance(signature, str):
        raise TypeError(
            f"Triton kernel '{name}': signature= must be a str, as \"x: *f32 const, n: i32\", given "
            f"{type(signature).__name__}"
        )
    if not isinstance(constants or {}, Mapping):
        raise TypeError(
            f"Triton kernel '{name}': constants= must be a dict, as in {{\"BLOCK\": 64}}, given "
            f"{type(constants).__name__}"
        )
    types, fixed = _parameters(name, kernel, signature, dict(constants or {}))
    triton_types = {
        parameter: _triton_type(name, types[parameter]) if parameter in types else "constexpr"
        for parameter in kernel.arg_names
    }
    source = triton.compiler.ASTSource(kernel, triton_types, fixed)
    compiled = triton.compile(source, target=_target(name, target), options=options)
    _check_launchable(name, compiled)
    order = [parameter for parameter in kernel.arg_names if parameter in types]
    texts = [f"{parameter}: {types[parameter].text}" for parameter in order]
    texts += [f"{scratch}: i64" for scratch in SCRATCH]  # the address 0: there is none
    module = load(compiled.asm["hsaco"], signature=", ".join(texts), strides="any")
    return TritonFunction(module[compiled.metadata.name], order, fixed, compiled.metadata)


def _parameters(
    name: str, kernel: Any, signature: str, constants: dict[str, Any]
) -> tuple[dict[str, _signature.Parameter], dict[str, Any]]:
    """The types of the parameters that are passed, and the values of the others, by name."""
    parsed = _signature.parse(signature)
    types = {parameter.name: parameter for parameter in parsed}
    if "" in types or len(types) < len(parsed):
        raise ValueError(f"Triton kernel '{name}': each parameter in signature={signature!r} needs a name of its own")
    for what, given in (("signature", types), ("constants", constants)):
        unknown = [parameter for parameter in given if parameter not in kernel.arg_names]
        if unknown:
            raise ValueError(
                f"Triton kernel '{name}': {what}= names '{unknown[0]}', which is none of its parameters: "
                + ", ".join(kernel.arg_names)
            )
    for parameter in kernel.params:
        is_fixed = parameter.name in constants
        if parameter.name in types and (is_fixed or parameter.is_constexpr):
            why = "is in constants=, too" if is_fixed else "is tl.constexpr: give its value in constants="
            raise ValueError(f"Triton kernel '{name}': '{parameter.name}' is in signature=, but {why}")
        if parameter.name in types or is_fixed:
            continue
        if not parameter.has_default:
            where = "constants= lacks its value" if parameter.is_constexpr else "signature= lacks its type"
            raise ValueError(f"Triton kernel '{name}': {where}: '{parameter.name}'")
        constants[parameter.name] = parameter.default
    return types, constants


def _triton_type(name: str, parameter: _signature.Parameter) -> str:
    """What Triton calls a parameter's type. Raises ValueError where it has no such type."""
    kind = TYPES.get(parameter.type)
    if kind is None:
        stars = "*" if parameter.is_pointer else ""
        raise ValueError(
            f"Triton kernel '{name}', '{parameter.name}': expected one of the types "
            f"{', '.join(stars + known for known in TYPES)}, given {parameter.text}"
        )
    if not parameter.is_pointer:
        return kind
    return f"*k{kind}" if parameter.is_const else f"*{kind}"


def _target(name: str, target: str | None) -> GPUTarget:
    """What to compile for, with the lanes that the processor's waves have by default."""
    if target is None:
        target = _device.target_for(torch.device("cuda" if _device.has_gpu() else "cpu"))
    processor = target.partition(":")[0]
    if (facts := _C.processor_facts(processor)) is None:
        raise ValueError(f"Triton kernel '{name}': target={target!r}: expected an AMD processor, as 'gfx942'")
    return GPUTarget("hip", processor, facts["lanes"])


def _check_launchable(name: str, compiled: Any) -> None:
    """Raises ValueError for what a launch that is not Triton's does not give a kernel."""
    if any(getattr(compiled.metadata, f"{scratch}_size") > 0 for scratch in SCRATCH):
        raise ValueError(f"Triton kernel '{name}' needs scratch memory: launch it as Triton does ({name}[grid](...))")
    if MAKES_POINTERS.search(str(compiled.asm["ttir"])):
        raise ValueError(
            f"Triton kernel '{name}' makes pointers of numbers, so that no argument says what it may access: "
            f"launch it as Triton does ({name}[grid](...))"
        )

"""Launchable: a compiled program, or a kernel, as a function of tensors."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from wave_runtime import _C
from wave_runtime._cache import write_atomically
from wave_runtime._compile._unit import Compiled
from wave_runtime._fork import Lock
from wave_runtime._module import Module
from wave_runtime._torch import constant_result, not_traced
from wave_runtime.compat.launchable import _elements, _program
from wave_runtime.compat.launchable._device import Device, get_device_from_torch, sha1
from wave_runtime.compat.launchable._errors import require
from wave_runtime.compat.launchable._invoke import invoke_vm_function
from wave_runtime.compat.launchable._kernel_launch import Code, CodeFor, KernelLaunch

_ENTRY_POINT = "main$async"
_Results = Callable[..., torch.Tensor | Sequence[torch.Tensor] | None]


class Launchable:
    """A program or kernel that is called with tensors, and runs on their device.

    It is either a program for IREE's VM (a VMFB, which needs iree-base-runtime), or a kernel of a code object or a
    source, which needs no IREE. It is loaded at the first call on a device, or by :meth:`preload`. Tensors that are not
    contiguous are copied.

        add = Launchable.from_code_object(
            "basics.hsaco", "vector_add", signature="a: *f32 const, b: *f32 const, c: *f32, n: i32",
            grid=lambda a, b, c: cdiv(a.numel(), 256), block=256,
            arguments=lambda a, b, c: (a, b, c, a.numel()), results=lambda a, b: torch.empty_like(a),
        )
        c = add(a, b)

    Args:
        loader: called once for each type of device. It returns the name of the function to call and the ``VmModule``
            that it is in, or None if there is none for that device.
        parameter_providers: ``iree.runtime.ParameterProvider`` that the program takes its parameters of.
        is_async: whether the function takes two fences behind its arguments.
    """

    def __init__(
        self,
        loader: _program.Loader | None,
        parameter_providers: Sequence[Any] = (),
        is_async: bool = True,
    ) -> None:
        self._loader = loader
        self._providers = parameter_providers
        self._is_async = is_async
        self._lock = Lock()  # programs have a state of their own, which one thread at a time may use
        self._target_binaries: dict[str, tuple[Any, Any]] = {}  # by instance_cache_key: VmContext, VmFunction
        self._target_vm_modules: dict[str, _program.NamedModule] = {}  # by type_cache_key

    @staticmethod
    def from_code_object(
        code: Code,
        name: str | None = None,
        *,
        results: _Results | None = None,
        **launch: Any,
    ) -> Launchable:
        """A kernel of a code object.

        Args:
            code: a path, bytes, ``{target: path or bytes}``, a module or a kernel.
            name: of the kernel; by default the only one.
            results: a function of the arguments that returns the tensor or tensors for the kernel to write. Without it
                the kernel writes to its arguments.
            launch: ``grid``, ``block``, ``shared_memory``, ``arguments``, ``signature`` and ``writes`` of
                ``wave_runtime.compat.op_reg.KernelLaunch``.

        Raises:
            OSError, ValueError: the code cannot be read, or the kernel is not in it.
        """
        return _KernelLaunchable(KernelLaunch(code, name, **launch), results)

    @staticmethod
    def jit_compile(
        source: Any,
        *,
        parameter_providers: Sequence[Any] = (),
        entry_point: str = _ENTRY_POINT,
        file_cache_dir: str | Path | None = None,
        results: _Results | None = None,
        **launch: Any,
    ) -> Launchable:
        """A source that is compiled for the device of each call.

        Args:
            source: MLIR (text, bytecode, path, module), which iree-base-compiler compiles; with ``grid=`` the text or
                path of a kernel in HIP or CUDA C++, assembly or LLVM IR, for ``wave_runtime.compile``.
            parameter_providers: see the class.
            entry_point: the function to call, which is asynchronous where the name ends in ``$async``; or the kernel's
                name, by default the only one.
            file_cache_dir: a folder that is made, and keeps what was compiled, one file for each type of device. What
                was compiled of another source is replaced.
            results, launch: as for :meth:`from_code_object`, and the options of ``wave_runtime.compile``.

        Raises:
            ModuleNotFoundError: at the first call on a device or :meth:`preload`: iree-base-compiler is not installed.
            RuntimeError: then, too: ``JIT compilation failed. See diagnostics.`` and the compiler's messages.
            CompileError: then, too: a kernel does not compile.
        """
        folder = None if file_cache_dir is None else Path(file_cache_dir)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        if "grid" in launch:
            kernel = KernelLaunch(source, _kernel_name(entry_point), **launch)
            if folder is not None:
                kernel.code_for = _kept_in(folder, kernel.code_for)
            return _KernelLaunchable(kernel, results)
        _check_no_kernel(results, launch)
        loader = _program.jit_loader(_program.source_of(source), entry_point, folder)
        return Launchable(loader, parameter_providers, entry_point.endswith("$async"))

    @staticmethod
    def from_file_cache_only(
        file_cache_dir: str | Path,
        *,
        parameter_providers: Sequence[Any] = (),
        entry_point: str = _ENTRY_POINT,
        results: _Results | None = None,
        **launch: Any,
    ) -> Launchable:
        """Use what :meth:`jit_compile` has left in a folder; nothing is compiled. The arguments are those of that
        method.

        Raises:
            ValueError: there is no such folder.
            RuntimeError: at the first call on a device or :meth:`preload`, it has nothing for it.
        """
        folder = Path(file_cache_dir)
        if not folder.is_dir():
            raise ValueError(f"Specified cache_dir, {folder}, does not exist.")
        if "grid" in launch:
            return _KernelLaunchable(KernelLaunch(_from(folder), _kernel_name(entry_point), **launch), results)
        _check_no_kernel(results, launch)
        loader = _program.file_loader(entry_point, folder)
        return Launchable(loader, parameter_providers, entry_point.endswith("$async"))

    @staticmethod
    def from_vm_module(
        vm_module_callback: Callable[[Device], Any],
        *,
        parameter_providers: Sequence[Any] = (),
        entry_point: str = _ENTRY_POINT,
    ) -> Launchable:
        """A program whose ``VmModule`` a function makes, once for each type of device."""

        def load(device: Device) -> _program.NamedModule:
            return entry_point, vm_module_callback(device)

        return Launchable(load, parameter_providers, entry_point.endswith("$async"))

    def preload(self, device: torch.device) -> None:
        """Compile and load for a device of torch now, rather than at the first call. Errors are those of a call."""
        with self._lock:
            self._resolve_target_binary(get_device_from_torch(torch.device(device)))

    def __call__(self, *args: Any, device: torch.device | None = None, outputs: Sequence[torch.Tensor] = ()) -> Any:
        """Run on the tensors' device.

        Args:
            args: tensors, ints and floats.
            device: where to run if no argument is a tensor.
            outputs: contiguous tensors that take the results.

        Returns:
            The result, a list of several results, or None if there is none. If ``outputs`` are given, they are
            returned.

        Raises:
            RuntimeError: the tensors are on several devices, there are neither tensors nor ``device``, or the program
                fails.
            NotImplementedError: there is no code for the device.
            TypeError, ValueError: an argument or output does not fit.
        """
        place = self._place(args, device, outputs)
        inputs = [_elements.dense(value) if isinstance(value, torch.Tensor) else value for value in args]
        found = self._run(place, inputs)
        if outputs:
            found = _copied(found, outputs)
        return found[0] if len(found) == 1 else found or None

    def __deepcopy__(self, memo: object) -> Launchable:
        """Returns the object itself: it has nothing that a copy of a model would own."""
        return self

    def _place(self, args: Sequence[Any], device: torch.device | None, outputs: Sequence[Any]) -> torch.device:
        """The device to run on. Checks outputs, too."""
        for output in outputs:
            if not isinstance(output, torch.Tensor):
                raise ValueError(f"Unsupported output type: {type(output)}")
            if not output.is_contiguous():
                raise AssertionError("Outputs must be contiguous")
        place = None if device is None else torch.empty(0, device=device).device  # with its index
        for value in (*args, *outputs):
            if not isinstance(value, torch.Tensor):
                continue
            if place is not None and value.device != place:
                raise RuntimeError(f"Cannot launch with tensors from multiple devices: {value.device} vs {place}")
            place = value.device
        if place is None:
            raise RuntimeError(f"Cannot invoke Launchable {self} without any Tensor args or an explicit device=")
        return place

    @not_traced
    def _run(self, place: torch.device, inputs: Sequence[Any]) -> list[Any]:
        device = get_device_from_torch(place)
        arguments = _program.as_variants(device, inputs)
        returned = require("iree.runtime").VmVariantList(1)
        with self._lock:
            context, function = self._resolve_target_binary(device)
            if function is None:
                entry_point, module = self._target_vm_modules[device.type_cache_key]
                raise ValueError(f"the program has no function '{entry_point}'; it has {module.function_names}")
            invoke_vm_function(device, self._is_async, context, function, arguments, returned)
        return _program.as_results(device, returned, inputs)

    def _resolve_target_binary(self, device: Device) -> tuple[Any, Any]:
        """The program on a device."""
        found = self._target_binaries.get(device.instance_cache_key)
        if found is not None:
            return found
        named = self._target_vm_modules.get(device.type_cache_key)
        if named is None and self._loader is not None:
            named = self._loader(device)
        if named is None:
            raise NotImplementedError(f"Could not load a target binary for device {device}")
        self._target_vm_modules[device.type_cache_key] = named
        entry_point, module = named
        runtime = require("iree.runtime")
        modules = [device.create_hal_module()]
        if self._providers:
            modules.append(runtime.create_io_parameters_module(device.vm_instance, *self._providers))
        context = runtime.VmContext(device.vm_instance, [*modules, module])
        found = context, module.lookup_function(entry_point)
        self._target_binaries[device.instance_cache_key] = found
        return found


_kernel_launchables: weakref.WeakValueDictionary[int, _KernelLaunchable] = weakref.WeakValueDictionary()
_numbers = itertools.count()


@constant_result
def _make_ready(number: int, device: torch.device) -> None:
    """Preload one of them, also while torch.compile traces a call: it takes no objects as constants, but numbers."""
    launchable = _kernel_launchables[number]
    if device not in launchable._loaded:
        launchable.preload(device)


class _KernelLaunchable(Launchable):
    """A kernel, and what makes its results."""

    def __init__(self, launch: KernelLaunch, results: _Results | None) -> None:
        super().__init__(None)
        self._launch = launch
        self._results = results
        self._loaded: set[torch.device] = set()
        self._number = next(_numbers)
        _kernel_launchables[self._number] = self

    def preload(self, device: torch.device) -> None:
        place = torch.empty(0, device=device).device  # with its index
        kernel = self._launch.kernel_for(place)
        try:
            kernel.preload(place)
        except ValueError as error:
            raise NotImplementedError(f"Could not load a target binary for device {place}: {error}") from error
        self._loaded.add(place)

    def __call__(self, *args: Any, device: torch.device | None = None, outputs: Sequence[torch.Tensor] = ()) -> Any:
        place = self._place(args, device, outputs)
        _make_ready(self._number, place)
        made = outputs or (None if self._results is None else self._results(*args))
        results = [made] if isinstance(made, torch.Tensor) else list(made or ())
        self._launch(*args, *results)
        return results[0] if len(results) == 1 else results or None


def _kernel_name(entry_point: str) -> str | None:
    return None if entry_point == _ENTRY_POINT else entry_point


def _check_no_kernel(results: object, launch: Mapping[str, object]) -> None:
    given = [*(["results"] if results is not None else []), *launch]
    if given:
        raise TypeError(f"{', '.join(given)}: for kernels, which need grid=, too; a program in MLIR takes none of them")


def _copied(found: Sequence[Any], outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs, with what was found in them."""
    shapes = [(tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else value for value in found]
    wanted = [(tuple(output.shape), output.dtype) for output in outputs]
    if shapes != wanted:
        raise ValueError(f"the program returned {shapes}, but outputs= has {wanted}")
    for value, output in zip(found, outputs, strict=True):
        output.copy_(value)
    return list(outputs)


def _path_in(folder: Path, target: str) -> Path:
    return folder / f"{sha1(f'kernel:{target}')}.kernel"


def _kept_in(folder: Path, compiled: CodeFor) -> CodeFor:
    """The modules, which leave a file in a folder."""

    def code_for(target: str) -> Module:
        module = compiled(target)
        assert isinstance(module, Module)
        signatures = {name: module[name].signature for name in module.kernels if module[name].writes is not None}
        kept = Compiled(next(iter(module.images.values())), signatures, module._symbols).pack()
        path = _path_in(folder, target)
        if not path.is_file() or path.read_bytes() != kept:
            write_atomically(path, kept)
        return module

    return code_for


def _from(folder: Path) -> CodeFor:
    """The modules that lie in a folder."""

    def code_for(target: str) -> Module:
        kept = Compiled.unpack(_program.read_kept(_path_in(folder, target), "kernel"))
        return Module([_C.CodeObject(kept.image)], kept.signatures or None, None, "contiguous", False, kept.symbols)

    return code_for

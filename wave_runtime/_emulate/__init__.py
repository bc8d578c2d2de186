"""A machine with an AMD GPU, as far as programs can tell: see docs/emulate.md."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any

import torch

from wave_emulator import _hip
from wave_runtime import _C, _device, _environment, _torch
from wave_runtime._emulate import (
    _cuda,
    _distributed,
    _extensions,
    _gpu,
    _graphs,
    _inductor,
    _operators,
    _tensor_types,
    _tensors,
)
from wave_runtime._emulate._patches import Patches
from wave_runtime._fork import Lock

__all__ = ["Emulation", "emulate", "environment", "from_environment"]

SITE = Path(__file__).with_name("site")  # on PYTHONPATH, where its sitecustomize.py emulates in child processes
VARIABLE, PATH = "WAVE_RUNTIME_EMULATE", "PYTHONPATH"
INDUCTOR = "WAVE_RUNTIME_EMULATE_INDUCTOR"
TRITON = "3.9"  # whose interface to drivers the emulator's has

_lock = Lock()
_patches, _inductor_patches = Patches(), Patches()
_stack: list[Emulation] = []


def environment(
    target: str, *, devices: int = 1, time_limit: float | None = None, inductor: bool = False
) -> dict[str, str]:
    """The variables with which a process begins as within emulate(): see docs/environment.md."""
    folders = [str(SITE), *filter(None, os.environ.get(PATH, "").split(os.pathsep))]
    return {
        **_hip.devices(target, devices, time_limit),
        VARIABLE: target,
        "WAVE_RUNTIME_SYNC": "1",  # tensors are read without a wait for the HIP library's streams
        PATH: os.pathsep.join(dict.fromkeys(folders)),
        INDUCTOR: str(int(inductor)),
    }


class Emulation:
    """An emulation that :func:`emulate` has begun. It ends when its context is left, or with :meth:`stop`.

    Attributes:
        target: the name of the processor: "gfx942".
    """

    def __init__(self, gpu: _gpu.Gpu, variables: dict[str, str], inductor: bool) -> None:
        self.target = gpu.name
        self._gpu = gpu
        self._variables = variables
        self._inductor = inductor

    def _start(self) -> None:
        with _lock:
            self._before = {name: os.environ.get(name) for name in self._variables}
            self._processor = _C.emulator_processor()
            if not _stack:
                _replace(_patches)
            os.environ.update(self._variables)
            _C.choose_emulator_processor(self.target)
            _gpu.active.append(self._gpu)
            _device.emulations.append(self.target)
            _stack.append(self)
            self._driver = _set_triton_driver(self._gpu)
            _torch.forget_answers()
            _set_inductor()

    def stop(self) -> None:
        """End the emulation, and put everything back as it was. A second call does nothing.

        Raises:
            RuntimeError: an emulation that began later has not ended yet.
        """
        with _lock:
            if self not in _stack:
                return
            if _stack[-1] is not self:
                raise RuntimeError(
                    f"emulate({self.target!r}) ends before emulate({_stack[-1].target!r}), which is within it"
                )
            if self._driver is not None:
                self._driver.undo()
            _stack.pop()
            _device.emulations.pop()
            _gpu.active.pop()
            _C.choose_emulator_processor(self._processor)
            for name, value in self._before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            if not _stack:
                _patches.undo()
            _torch.forget_answers()
            _set_inductor()

    def __enter__(self) -> Emulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<wave_runtime.emulate {self.target}{'' if self in _stack else ', ended'}>"


def emulate(
    target: str = "gfx942", *, devices: int = 1, time_limit: float | None = None, inductor: bool = False
) -> Emulation:
    """Let programs find an AMD GPU, which is emulated: tensors that they ask for on "cuda" are CPU tensors.

        with wave_runtime.emulate("gfx942"):
            x = torch.randn(1000, device="cuda")
            triton_kernel[grid](x, 1000)

    It begins at the call, for all threads of the process and the processes that they start. It lasts until the context
    is left, or otherwise as long as the process. Within another emulation the inner one holds. docs/emulate.md says
    what is emulated.

    Args:
        target: the name of a processor that the emulator has. The device has that processor's properties, and code is
            compiled for it.
        devices: how many devices there are. They share the CPU's memory and random numbers.
        time_limit: seconds after which a launch is stopped with KernelFault; 0 for no limit. By default the value of
            WAVE_RUNTIME_TIME_LIMIT.
        inductor: whether torch.compile makes Triton kernels of ordinary code on tensors, as with a GPU. By default it
            makes C++ for the CPU.

    Raises:
        ValueError: there is no such processor, or another argument makes no sense.
        RuntimeError: ``inductor`` is asked for, and Triton is not installed, or has another version than the one that
            is supported.
    """
    if time_limit is not None and not 0 <= time_limit < float("inf"):
        raise ValueError(f"time_limit={time_limit!r}: expected seconds, or 0 for no limit")
    if inductor not in (False, True):
        raise ValueError(f"inductor={inductor!r}: expected True or False")
    gpu = _gpu.find(target, devices)
    if inductor and not has_triton():
        raise RuntimeError(f"inductor=True needs Triton {TRITON}: pip install 'triton=={TRITON}.*'")
    variables = environment(target, devices=devices, time_limit=time_limit, inductor=inductor)
    if inductor:
        variables |= _inductor.folders(target)
    emulation = Emulation(gpu, variables, inductor)
    emulation._start()
    return emulation


def from_environment() -> None:
    """Emulate for the process where WAVE_RUNTIME_EMULATE says so. Raises ValueError where it names no processor."""
    target = os.environ.get("WAVE_RUNTIME_EMULATE")
    if not target:
        return
    known = sorted(_C.emulator_processors())
    if target not in known:
        raise ValueError(f"{VARIABLE}={target}: expected {' or '.join(known)}, for instance {VARIABLE}={known[-1]}")
    emulate(target, devices=devices_of_environment(), inductor=inductor_of_environment())


def show_rocm() -> None:
    """Have the processes that this one starts find what ROCm and a torch for it have for those who build."""
    _extensions.show(_patches)


def devices_of_environment() -> int:
    """How many devices the environment says. Raises ValueError where it says something else."""
    return _environment.whole(_hip.DEVICES, 1, _hip.MOST_DEVICES)


def inductor_of_environment() -> bool:
    """Whether the environment says inductor=True. Raises ValueError where it says something else."""
    return _environment.flag("WAVE_RUNTIME_EMULATE_INDUCTOR", False)


def _replace(patches: Patches) -> None:
    """Replace what programs ask of torch."""
    _tensors.replace(patches)
    _tensor_types.replace(patches)
    _operators.replace(patches)
    _distributed.replace(patches)
    _extensions.replace(patches)
    modules = [module for name, module in sys.modules.items() if name.startswith("torch.cuda.")]
    for name in torch.cuda.__all__:
        original = getattr(torch.cuda, name, None)
        if name in _cuda.NAMES:
            _replace_everywhere(patches, modules, name, original, getattr(_cuda, name))
        elif _needs_gpu(original) and name not in _cuda.AS_THEY_ARE:
            _replace_everywhere(patches, modules, name, original, _cuda.refusing(name, original))
    for name, function in _torch.CUDA_INTERNALS.items():
        patches.set(torch.cuda, name, function)
    for name, function in _torch.C_INTERNALS.items():
        patches.set(_torch.C, name, function)
    patches.set(_torch.C, _torch.RAW_STREAM, _copy(_cuda.current_raw_stream))
    for module in _torch.modules_with_current_stream():
        patches.set(module, _torch.CURRENT_STREAM, _copy(_cuda.current_stream))
    for name in _cuda.NVTX:
        patches.set(torch.cuda.nvtx, name, lambda *args: 0)
    for name, function in _cuda.ACCELERATOR.items():
        if hasattr(torch.accelerator, name):
            # A function of its own: Dynamo refuses one that has two names.
            patches.set(torch.accelerator, name, _copy(function))
    for module in _torch.optimizers():
        # They ask where tensors are before they let themselves be captured.
        patches.set(module, _torch.CAPTURABLE, _capturable_devices)
    patches.set(torch.version, "hip", _cuda.HIP)
    if hasattr(torch.version, "rocm"):  # since torch 2.15
        patches.set(torch.version, "rocm", _cuda.ROCM)
    patches.set(torch.version, "cuda", None)


def _capturable_devices(supports_xla: bool = True) -> list[str]:
    """Where an optimizer can be captured. TorchScript compiles it for torch.distributed.optim, and takes no lambda."""
    return ["cpu", "cuda"]


def _codes(module: ModuleType) -> Iterator[CodeType]:
    """The code of all functions that a module defines, those within others and in classes among them."""
    values = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    values += [method for value in values if isinstance(value, type) for method in vars(value).values()]
    pending = [value.__code__ for value in values if isinstance(value, FunctionType)]
    while pending:
        code = pending.pop()
        yield code
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


# They are called from Python code that Dynamo runs, and by Dynamo itself.
for _code in (code for module in (_cuda, _gpu, _graphs, _tensor_types, _tensors) for code in _codes(module)):
    _torch.run_as_it_is(_code)


def _replace_everywhere(patches: Patches, modules: list[ModuleType], name: str, original: Any, value: Any) -> None:
    """Replace a name of torch.cuda, and the same thing under the same name in its modules."""
    value = _copy(value)
    patches.set(torch.cuda, name, value)
    for module in modules:
        if vars(module).get(name) is original and original is not None:
            patches.set(module, name, value)


def _copy(value: Any) -> Any:
    """A function that is another object; what is no function, as it is."""
    if not isinstance(value, FunctionType):
        return value
    copy = FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__)
    copy.__dict__.update(value.__dict__)
    return copy


def _needs_gpu(value: Any) -> bool:
    """Whether a public name of torch.cuda is a function or class that cannot do without a GPU."""
    if isinstance(value, type):
        is_data = issubclass(value, (Exception, torch.storage.TypedStorage)) or value.__name__.endswith("Tensor")
        return not is_data and value.__name__ not in ("cudaStatus",)
    return inspect.isfunction(value)


def _triton() -> ModuleType | None:
    """Triton, where it is installed."""
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:  # or a folder of that name on the path
        return None
    return importlib.import_module("triton")  # only now: it takes a while


def has_triton() -> bool:
    """Whether Triton is installed, in the version that the emulator's driver is for."""
    triton = _triton()
    return triton is not None and triton.__version__.startswith(TRITON + ".")


def _set_triton_driver(gpu: _gpu.Gpu) -> Patches | None:
    """Make the emulator Triton's device where Triton is installed; a warning says where it is of another version."""
    if not has_triton():
        if (triton := _triton()) is not None:
            warnings.warn(
                f"Triton {triton.__version__} is installed; its kernels cannot be launched on the emulated {gpu.name}, "
                f"whose driver is for Triton {TRITON} (pip install 'triton=={TRITON}.*')",
                RuntimeWarning,
                stacklevel=4,
            )
        return None
    from wave_runtime.triton._driver import set_driver

    return set_driver(gpu)


def _set_inductor() -> None:
    """Have Inductor compile for what is emulated now, where it is to."""
    emulation = _stack[-1] if _stack else None
    if not _inductor_patches and not (emulation and emulation._inductor):
        return
    _inductor_patches.undo()
    if emulation is not None and emulation._inductor:
        _inductor.replace(_inductor_patches, emulation._gpu)
    _torch.forget_compiled()

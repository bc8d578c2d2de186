"""wave-lang's wave_runtime, which launches by HIP, over a library that offers HIP's module API on the CUDA driver."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from launchers import build
from launchers.cases import BLOCK, Launch
from launchers.measure import Launcher, python_timer

ROOT = Path(__file__).parent.parent.parent
HIP_ON_CUDA = ROOT / "tests" / "cpp" / "hip_on_cuda.cpp"
PATH_VARIABLE = "WAVE_LANG_RUNTIME"


def extension_path() -> Path:
    """Where upstream's extension lies: as PATH_VARIABLE says, else in the installed wave-lang."""
    if given := os.environ.get(PATH_VARIABLE):
        return Path(given)
    for file in importlib.metadata.files("wave-lang") or ():
        if file.name.startswith("wave_runtime") and file.name.endswith(tuple(EXTENSION_SUFFIXES)):
            return Path(str(file.locate()))
    raise FileNotFoundError("the installed wave-lang has no wave_runtime for this Python; give its file by --upstream")


@functools.cache
def load_extension(path: Path) -> ModuleType:
    """Import upstream's extension, which has our package's name and a matching init function, beside our package."""
    name = "wave_runtime"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"{path} is no Python extension")
    ours = sys.modules.pop(name, None)
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop(name, None)
        if ours is not None:
            sys.modules[name] = ours
    return module


@functools.cache
def runtime() -> Any:
    """Upstream's module, ready to launch."""
    module: Any = load_extension(extension_path())
    if not HIP_ON_CUDA.exists():
        raise FileNotFoundError(f"{HIP_ON_CUDA.relative_to(ROOT)} is missing")
    # Upstream opens the library by this name, and so finds the one that is loaded already.
    library = "libamdhip64.so"
    output = Path(tempfile.mkdtemp(prefix="hip_on_cuda.")) / library
    build.shared_library(HIP_ON_CUDA, output, f"-I{ROOT / 'csrc'}", f"-Wl,-soname,{library}")
    ctypes.CDLL(str(output))
    module.load_hip_functions()
    return module


def upstream(launch: Launch) -> Iterator[Launcher]:
    """Its launch, three ways."""
    yield from launchers_of(runtime(), launch, UPSTREAMS, "peer")


def launchers_of(
    module: Any, launch: Launch, label: str, group: str, target: float | None = None
) -> Iterator[Launcher]:
    """The launch of a module with upstream's interface: prebuilt, with new objects, and the way wave-lang calls it.

    Args:
        module: upstream's wave_runtime, or ours.
        launch: the case.
        label: the launchers' names begin with it.
        group: theirs.
        target: the ratio to stay below where the objects are made anew for each launch.
    """
    case = launch.case
    binary, function = module.load_binary(str(launch.binary_path), case.name)
    grid_and_block = (launch.grid, 1, 1, BLOCK, 1, 1)
    no_cluster = (0, 0, 0)
    scalars = [*case.ints.values(), *case.floats.values()]
    prebuilt = {
        "launch": module.launch,
        "binary": binary,  # unloads the code when it goes
        "info": module.KernelLaunchInfo(launch.stream, function, 0, *grid_and_block, *no_cluster),
        "pointers": module.Int64Vector([tensor.data_ptr() for tensor in launch.tensors]),
        "dims": module.Int64Vector([]),
        "scalars": scalars,
    }
    yield Launcher(f"{label}, all prebuilt", group, python_timer("launch(info, pointers, dims, scalars)", prebuilt))
    make_info = f"Info({launch.stream}, {function}, 0, {', '.join(map(str, (*grid_and_block, *no_cluster)))})"
    pointers = ", ".join(str(tensor.data_ptr()) for tensor in launch.tensors)
    statement = f"launch({make_info}, Vector([{pointers}]), Vector([]), [{', '.join(map(str, scalars))}])"
    types = {"Info": module.KernelLaunchInfo, "Vector": module.Int64Vector}
    yield Launcher(f"{label}, all made anew", group, python_timer(statement, {**prebuilt, **types}), target=target)

    def invoke(tensors: list[torch.Tensor], scalars: list[int | float]) -> None:
        stream = torch.cuda.current_stream().cuda_stream
        info = module.KernelLaunchInfo(stream, function, 0, *grid_and_block, *no_cluster)
        pointers = []
        for tensor in tensors:
            if not tensor.is_contiguous():
                tensor = tensor.contiguous()
            pointers.append(tensor.data_ptr())
        module.launch(info, module.Int64Vector(pointers), module.Int64Vector([]), scalars)

    statement = f"invoke([{', '.join(case.tensors)}], [{', '.join([*case.ints, *case.floats])}])"
    values = {**launch.values, "invoke": invoke, "binary": binary}
    yield Launcher(f"{label}, as wave-lang calls it", group, python_timer(statement, values))


# Ours are to cost no more than what they stand in for.
OURS, UPSTREAMS = "our launch for wave-lang", "upstream's launch"
WAYS = ("all prebuilt", "all made anew", "as wave-lang calls it")
RIVALS = {f"{OURS}, {way}": f"{UPSTREAMS}, {way}" for way in WAYS}

PROVIDERS = {"upstream's wave_runtime": upstream}

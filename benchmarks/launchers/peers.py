"""Other ways to launch a CUDA kernel on torch tensors from Python, each called as its documentation says.

Each takes a launch and yields launchers. It raises where its package is not installed or does not work; the reason then
stands in the results. All launch on the legacy default stream, which is torch's current one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from launchers.cases import BLOCK, Launch
from launchers.measure import Launcher, python_timer


def cupy(launch: Launch) -> Iterator[Launcher]:
    """CuPy's RawKernel, with its own arrays over torch's memory."""
    import cupy as cp
    import numpy as np

    case = launch.case
    values = {
        **{name: cp.from_dlpack(launch.values[name]) for name in case.tensors},
        **{name: np.int32(value) for name, value in case.ints.items()},
        **{name: np.float32(value) for name, value in case.floats.items()},
        "grid": (launch.grid,),
        "kernel": cp.RawKernel(case.cuda_source(), case.name),
    }
    yield Launcher(
        "CuPy RawKernel, arrays ready", "peer", python_timer(f"kernel(grid, ({BLOCK},), ({case.arguments},))", values)
    )


def cuda_core(launch: Launch) -> Iterator[Launcher]:
    """NVIDIA's cuda.core, given numpy scalars and pointers as integers."""
    import cuda.core as core
    import numpy as np

    class TorchStream:
        """What cuda.core takes for a stream of another library."""

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, launch.stream

    case = launch.case
    device = core.Device(torch.cuda.current_device())
    device.set_current()
    scalars = {
        **{name: np.int32(value) for name, value in case.ints.items()},
        **{name: np.float32(value) for name, value in case.floats.items()},
    }
    values = {
        "launch": core.launch,
        "stream": device.create_stream(TorchStream()),
        "config": core.LaunchConfig(grid=(launch.grid, 1, 1), block=(BLOCK, 1, 1)),
        "kernel": core.ObjectCode.from_cubin(launch.binary).get_kernel(case.name),
        **scalars,
    }
    ready = {name: launch.values[name].data_ptr() for name in case.tensors}
    yield Launcher(
        "cuda.core launch, pointers ready",
        "peer",
        python_timer(f"launch(stream, config, kernel, {case.arguments})", {**values, **ready}),
    )
    pointers = ", ".join(f"{name}.data_ptr()" for name in case.tensors)
    statement = f"launch(stream, config, kernel, {pointers}, {', '.join(scalars)})"
    yield Launcher(
        "cuda.core launch, data_ptr() each call", "peer", python_timer(statement, {**launch.values, **values})
    )


def compile_kernel(launch: Launch) -> Iterator[Launcher]:
    """PyTorch's own launcher of CUDA source."""
    case = launch.case
    # It passes a Python float as a double.
    kernel = torch.cuda._compile_kernel(case.cuda_source(float_type="double"), case.name)  # type: ignore[attr-defined, unused-ignore]
    statement = f"kernel((grid_x, 1, 1), ({BLOCK}, 1, 1), ({case.arguments}))"
    yield Launcher("torch.cuda._compile_kernel", "peer", python_timer(statement, {**launch.values, "kernel": kernel}))


def triton(launch: Launch) -> Iterator[Launcher]:
    """Triton, and PyTorch's launcher of what Triton compiled."""
    from launchers import triton_kernels

    case = launch.case
    kernel = getattr(triton_kernels, case.name)
    statement = f"kernel[grid]({case.arguments}, BLOCK={BLOCK})"
    yield Launcher("Triton kernel[grid](...)", "peer", python_timer(statement, {**launch.values, "kernel": kernel}))


def static_cuda_launcher(launch: Launch) -> Iterator[Launcher]:
    """What Inductor launches Triton kernels with."""
    from torch._inductor.runtime.static_triton_launcher import StaticallyLaunchedCudaKernel

    from launchers import triton_kernels

    case = launch.case
    compiled = getattr(triton_kernels, case.name).warmup(
        *(launch.values[name] for name in case.parameters), grid=(launch.grid,), BLOCK=BLOCK
    )
    compiled._init_handles()
    path = launch.folder / f"{case.name}.triton.cubin"
    path.write_bytes(compiled.asm["cubin"])
    compiled._cubin_path = str(path)
    kernel: Any = StaticallyLaunchedCudaKernel(compiled)
    kernel.load_kernel(torch.cuda.current_device())
    statement = f"run(grid_x, 1, 1, stream, {case.arguments})"
    values = {**launch.values, "run": kernel.run, "stream": launch.stream}
    yield Launcher("Inductor's StaticCudaLauncher", "peer", python_timer(statement, values))


PROVIDERS = {
    "CuPy": cupy,
    "cuda.core": cuda_core,
    "torch.cuda._compile_kernel": compile_kernel,
    "Triton": triton,
    "Inductor's StaticCudaLauncher": static_cuda_launcher,
}

"""One kernel for every vendor."""

from wave_runtime.compat.vendors._kernel import PortableKernel, kernel
from wave_runtime.compat.vendors._launch import LaunchError, launch_kernel

__all__ = ["LaunchError", "PortableKernel", "kernel", "launch_kernel"]

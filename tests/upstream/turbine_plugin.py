"""Puts our runtime in the place of iree-turbine's, for iree-turbine's own tests: make test-iree-turbine."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import torch

import wave_runtime.compat.launchable as runtime
from wave_runtime.compat import op_reg
from wave_runtime.compat.launchable import _device, _errors, _invoke, _launchable, _program
from wave_runtime.compat.op_reg import _generated, impl_helper

# Names of iree-turbine's, and of what is renamed in them.
MODULES = {
    "iree.turbine.runtime": runtime,
    "iree.turbine.runtime.device": _device,
    "iree.turbine.runtime.invoke": _invoke,
    "iree.turbine.runtime.launch": _launchable,
    "iree.turbine.runtime.op_reg": op_reg,
    "iree.turbine.runtime.op_reg.base": op_reg,
    "iree.turbine.runtime.op_reg.compiler": _generated,
    "iree.turbine.runtime.op_reg.impl_helper": impl_helper,
}


def pytest_configure() -> None:
    sys.modules.update(MODULES)
    _generated._testing_get_cache_size = _generated.kernel_count
    torch.ops.turbine = torch.ops.wave_lang  # the namespace of the default library
    support: ModuleType = importlib.import_module("iree.turbine.support.exceptions")
    for name in ("NoCurrentDeviceError", "MismatchedDeviceSetClearError", "UnsupportedTorchDeviceError"):
        setattr(support, name, getattr(_errors, name))
    importlib.import_module("iree.turbine.support.logging").runtime_logger = _program.logger


def pytest_report_header() -> str:
    return f"iree.turbine.runtime is {runtime.__file__}"

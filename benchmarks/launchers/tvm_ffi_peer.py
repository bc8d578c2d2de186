"""The launcher of apache-tvm-ffi: a C++ function for each kernel, written by hand, around its CubinLauncher."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from launchers import build
from launchers.cases import BLOCK, Launch
from launchers.measure import Launcher, python_timer

TEMPLATE = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>

#include <fstream>
#include <iterator>
#include <string>

namespace ffi = tvm::ffi;

static ffi::CubinKernel& kernel() {
  static ffi::CubinModule module = [] {
    std::ifstream file("@PATH@", std::ios::binary);
    const std::string image((std::istreambuf_iterator<char>(file)), {});
    return ffi::CubinModule(ffi::Bytes(image.data(), image.size()));
  }();
  static ffi::CubinKernel kernel = module.GetKernel("@NAME@");
  return kernel;
}

void @NAME@(@PARAMETERS@) {
  @LOCALS@
  void* arguments[] = {@POINTERS@};
  const DLDevice device = @OUTPUT@.device();
  const auto stream =
      static_cast<ffi::cuda_api::StreamHandle>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(
      kernel().Launch(arguments, ffi::dim3((n + @BLOCK@ - 1) / @BLOCK@), ffi::dim3(@BLOCK@), stream));
}
"""


def source(launch: Launch) -> str:
    """The function for the launch's kernel."""
    case = launch.case
    parameters = [
        *(f"ffi::TensorView {name}" for name in case.tensors),
        *(f"int64_t {name}" for name in case.ints),
        *(f"double {name}" for name in case.floats),
    ]
    locals_ = [
        *(f"void* {name}_ = {name}.data_ptr();" for name in case.tensors),
        *(f"int {name}_ = static_cast<int>({name});" for name in case.ints),
        *(f"float {name}_ = static_cast<float>({name});" for name in case.floats),
    ]
    parts = {
        "PATH": str(launch.binary_path),
        "NAME": case.name,
        "PARAMETERS": ", ".join(parameters),
        "LOCALS": "\n  ".join(locals_),
        "POINTERS": ", ".join(f"&{name}_" for name in case.parameters),
        "OUTPUT": case.output,
        "BLOCK": str(BLOCK),
    }
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], TEMPLATE)


def loaded_library(name: str) -> Path:
    """Where a library of this process lies."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if Path(line.split()[-1]).name.startswith(name):
            return Path(line.split()[-1])
    raise RuntimeError(f"{name} is not loaded")


def tvm_ffi(launch: Launch) -> Iterator[Launcher]:
    """Compile the function and call it."""
    import tvm_ffi.cpp

    # It looks for CUDA beside an nvcc on the path, which may be a link.
    if compiler := build.nvcc():
        os.environ.setdefault("CUDA_HOME", str(compiler.parent.parent))
    # Not every machine has the driver where the linker looks.
    driver = loaded_library("libcuda.so")
    module = tvm_ffi.cpp.load_inline(
        f"launch_{launch.case.name}",
        cuda_sources=source(launch),
        functions=[launch.case.name],
        extra_ldflags=[f"-L{driver.parent}", f"-l:{driver.name}"],
        build_directory=str(launch.folder / f"{launch.case.name}.tvm_ffi"),
    )
    function = getattr(module, launch.case.name)
    timer = python_timer(f"function({launch.case.arguments})", {**launch.values, "function": function})
    yield Launcher("tvm-ffi CubinLauncher, C++ for each kernel", "peer", timer)


PROVIDERS = {"tvm-ffi": tvm_ffi}

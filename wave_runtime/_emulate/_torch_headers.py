"""Headers of torch for an extension with kernels: where the two kinds of device differ in them, the GPU's is the CPU.

What is replaced in a header must be there as often as it is in the releases of torch that are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

FOLDER = Path(torch.__file__).parent / "include"

_KEY = "::c10::wave_key"
# A kernel for the GPU stands before one for the CPU, also where that one is registered behind it.
_FIRST = "__attribute__((init_priority(::c10::wave_priority({}))))"

# For each header what is replaced, by what, and how often it is there.
CHANGES: dict[str, Sequence[tuple[str, str, int]]] = {
    "torch/headeronly/core/DeviceType.h": [
        (r"\bCUDA = 1,", "CUDA = CPU,", 1),
        (r"  _\(CUDA, extra\) *\\\n", "", 1),  # a list of cases
        (r"#pragma once\n", "#pragma once\n#include <wave_library.h>\n", 1),
    ],
    # Programs hand the number on to HIP, which knows no device -1. Tensors are on each GPU that they are asked for.
    "c10/core/Device.h": [
        (r"#include <c10/core/DeviceType.h>\n", "#include <c10/core/DeviceType.h>\n#include <wave_device.h>\n", 1),
        (
            r"(Device\(const std::string& device_string\));",
            r"\1 : Device(wave_type_of(device_string), wave_index_of(device_string)) {}",
            1,
        ),
        (r"(DeviceIndex index\(\) const noexcept \{\s*return )index_;", r"\1index_ < 0 ? 0 : index_;", 1),
        (r"this->index_ == other\.index_;", "(is_cpu() || index_ == other.index_);", 1),
    ],
    "torch/csrc/utils/pybind.h": [
        (
            r"value = (reinterpret_cast<THPDevice\*>\(obj\)->device);",
            r"const auto& device = \1; value = {c10::wave_type(device.type()), device.index()};",
            1,
        )
    ],
    "ATen/core/ivalue.h": [(r"Device\((payload.u.as_device.type),", r"Device(c10::wave_type(\1),", 1)],
    # libtorch_cpu refuses what concerns pinned memory and streams.
    "c10/core/TensorOptions.h": [(r"pinned_memory_ = \*pinned_memory;", "pinned_memory_ = false;", 1)],
    "ATen/core/TensorBody.h": [
        (r"(inline at::Tensor Tensor::pin_memory\([^{]*\{)[^}]*\}", r"\1 return clone(); }", 1),
        (r"(inline void Tensor::record_stream\([^{]*\{)[^}]*\}", r"\1}", 1),
    ],
    "c10/core/DispatchKey.h": [(r"\bAutocast = AutocastCUDA,", "Autocast = AutocastCPU,", 1)],
    "ATen/core/op_registration/op_registration.h": [
        (
            r"#include <c10/core/DispatchKey.h>\n",
            "#include <c10/core/DispatchKey.h>\n#include <wave_dispatch_key.h>\n",
            1,
        ),
        (
            r"config.dispatch_key = dispatch_key;",
            f"if (dispatch_key.has_value()) config.dispatch_key = {_KEY}(*dispatch_key);",
            1,
        ),
    ],
    # Sums of kernels for GPUs have other types than the CPU's, which are another device's here.
    "ATen/AccumulateType.h": [
        (r"(AccumulateType<T, false> \{[^}]*DeviceType::)CPU", r"\1HIP", 1),
        (r"(#define CPU_ACC_TYPE\(t, acc_t\) ACC_TYPE\(t, acc_t, c10::DeviceType::)CPU", r"\1HIP", 1),
    ],
    "ATen/Context.h": [(r"(static bool has(?:CUDA|ROCM)\(\) \{\s*return )[^;]*;", r"\1true;", 2)],
    # torch's library knows that tensors of the CPU are on no GPU.
    "ATen/TensorUtils.h": [(r"TORCH_API (void check(?:All)?SameGPU\([^;]*\));", r"inline \1 {}", 2)],
    "ATen/autocast_mode.h": [(r"case c10::DeviceType::CUDA:[^;]*;", "", 2)],
    # ROCm 5's function has no default for the last argument.
    "c10/hip/HIPEvent.h": [(r"hipStreamWaitEvent\(stream, event_\)", "hipStreamWaitEvent(stream, event_, 0)", 1)],
    # The class has no such virtual functions in a torch for the CPU.
    "ATen/detail/CUDAHooksInterface.h": [
        (r"virtual (bool isGPUArch\([^{]*\) const) \{[^}]*\}", r"\1;", 1),
        (r"virtual (const std::vector<std::string>& getHipblaslt)", r"\1", 2),
    ],
    "ATen/hip/detail/HIPHooks.h": [(r"((?:isGPUArch|getHipblaslt\w+)\([^;]*) override;", r"\1;", 3)],
    "torch/csrc/inductor/aoti_torch/c/shim.h": [
        (r"#define AOTI_TORCH_SHIM\n", "#define AOTI_TORCH_SHIM\n#include <wave_shim.h>\n", 1)
    ],
    "torch/csrc/stable/library.h": [
        (
            r"#include <torch/csrc/stable/c/shim.h>\n",
            "#include <torch/csrc/stable/c/shim.h>\n#include <wave_key_name.h>\n",
            1,
        ),
        (
            r"(STABLE_TORCH_LIBRARY_IMPL_static_init_##ns##_##k##_, uid\))\(",
            rf"\1 {_FIRST.format('C10_STRINGIZE(k)')}(",
            1,
        ),
        (r"C10_STRINGIZE\(k\),  ", f"{_KEY}(C10_STRINGIZE(k)),", 1),
    ],
    "torch/csrc/stable/macros.h": [(r"\bcuda(?=Error_t|GetLastError)", "hip", 2)],
    "torch/csrc/stable/stableivalue_conversions.h": [(r"case DeviceType::CUDA:[^;]*;", "", 1)],
    "torch/library.h": [
        (r"case c10::DeviceType::CUDA:[^;]*;", "", 1),
        (
            r"#include <c10/core/DispatchKey.h>\n",
            "#include <c10/core/DispatchKey.h>\n#include <wave_dispatch_key.h>\n",
            1,
        ),
        (r"(TORCH_LIBRARY_IMPL_static_init_##ns##_##k##_, uid\))\(", rf"\1 {_FIRST.format('c10::DispatchKey::k')}(", 1),
        (r"std::make_optional\(c10::DispatchKey::k\)", f"std::make_optional({_KEY}(c10::DispatchKey::k))", 2),
        (r"f.dispatch_key_ = k;", f"f.dispatch_key_ = {_KEY}(k);", 1),
    ],
}


def change(include: Path, folder: Path, changes: Mapping[str, Sequence[tuple[str, str, int]]], whose: str) -> None:
    """Copies of a folder's headers, changed. Raises RuntimeError where one is not as it was known."""
    for name, each in changes.items():
        copy = include / name
        text = (copy if copy.is_file() else folder / name).read_text()
        for old, new, count in each:
            text, found = re.subn(old, new, text, flags=re.DOTALL)
            if found != count:
                raise RuntimeError(
                    f"extensions cannot be built for an emulated GPU with {whose}: in its header "
                    f"{name} there is {old!r} {found} times, where {count} were expected"
                )
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)

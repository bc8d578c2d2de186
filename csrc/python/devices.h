// Devices as Python names them.
#pragma once

#include <c10/core/Device.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "code_object/code_object.h"

namespace wave {

/// A parsed code object as Python holds it (pybind11 keeps no shared pointers to const).
struct ParsedCode {
  std::shared_ptr<const CodeObject> code;
  /// Keeps the code loaded from when a symbol was asked for: what was written there must not be lost. Shared by copies.
  std::shared_ptr<std::shared_ptr<const void>> held = std::make_shared<std::shared_ptr<const void>>();
};

/// A torch.device, "cuda:1", "cpu", or an int for a GPU; nothing for None. A GPU without an index is the current one.
std::optional<c10::Device> optional_device(const pybind11::object& device);

/// The same; for None the current GPU where torch has one, else the CPU.
c10::Device required_device(const pybind11::object& device);

}  // namespace wave

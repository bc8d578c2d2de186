// Devices as Python names them.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>

#include "code_object/code_object.h"
#include "python/object.h"

namespace wave {

/// A parsed code object as Python holds it.
struct ParsedCode {
  static constexpr const char* kName = "wave_runtime._C.CodeObject";

  std::shared_ptr<const CodeObject> code;
  /// Keeps the code loaded from when a symbol was asked for: what was written there must not be lost. Shared by copies.
  std::shared_ptr<std::shared_ptr<const void>> held = std::make_shared<std::shared_ptr<const void>>();
};

/// A torch.device, "cuda:1", "cpu", or an int for a GPU; nothing for None. A GPU without an index is the current one.
std::optional<c10::Device> optional_device(const py::object& device);

/// The same; for None the current GPU where torch has one, else the CPU.
c10::Device required_device(const py::object& device);

}  // namespace wave

// Devices as Python names them.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>

#include "launch/kernel.h"
#include "python/callable_type.h"
#include "python/convert.h"

namespace wave {

/// A parsed code object as Python holds it.
struct ParsedCode {
  static constexpr const char* kName = "wave_runtime._C.CodeObject";

  std::shared_ptr<const CodeObject> code;
  /// Keeps the code loaded from when a symbol was asked for: what was written there must not be lost. Shared by copies.
  std::shared_ptr<std::shared_ptr<const void>> held = std::make_shared<std::shared_ptr<const void>>();
};

CodeObjects codes_of(const std::vector<ParsedCode>& parsed);

/// A torch.device, "cuda:1", "cpu", or an int for a GPU; nothing for None. A GPU without an index is the current one.
std::optional<c10::Device> optional_device(const py::object& device);

/// Where code is loaded if nothing says where: on the current GPU where torch has one whose driver takes the kind of
/// one of the codes, else on the CPU.
c10::Device default_device(const CodeObjects& codes);

namespace py {

template <>
struct Converter<std::shared_ptr<const CodeObject>> {
  static object to(const std::shared_ptr<const CodeObject>& code) {
    return code == nullptr ? none() : make_callable<ParsedCode>(code);
  }
};
template <>
struct Converter<std::optional<c10::Device>> {
  static bool is(handle) { return true; }
  static constexpr const char* kExpected = "a device";
  static std::optional<c10::Device> from(handle object, const Where&) { return optional_device(borrow(object)); }
};
template <>
struct Converter<c10::Device> {
  static object to(c10::Device device);
};

}  // namespace py
}  // namespace wave

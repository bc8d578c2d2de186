// Launch hooks from Python.
#include "launch/hooks.h"

#include "launch/arguments.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/gil.h"

namespace wave {

namespace {

py::object value_object(const Parameter& parameter, std::span<const uint8_t> arguments) {
  if (parameter.type == Type::Bytes && !parameter.is_pointer) {
    return py::bytes(arguments.data() + parameter.offset, parameter.size);
  }
  return std::visit([](auto value) { return py::to_python(value); }, unpack(parameter, arguments));
}

py::object event_object(const LaunchEvent& event) {
  static const py::handle type = py::object(py::import("wave_runtime.hooks").attr("LaunchEvent")).release();
  const auto& [kernel, function, geometry, stream] = event.site;
  const py::tuple arguments =
      py::tuple_of(kernel.signature().parameters, [&](const Parameter& p) { return value_object(p, event.arguments); });
  return type(kernel.name(), kernel.handle(), function.place.text(), py::tuple_of(geometry.grid),
              py::tuple_of(geometry.block), geometry.shared_memory, reinterpret_cast<uintptr_t>(stream), arguments);
}

/// A Python function as a hook.
std::function<void(const LaunchEvent&)> hook_function(const py::object& function) {
  if (function.is_none()) return {};
  return [held = py::shared(function)](const LaunchEvent& event) {
    const GilAcquire acquire;
    py::handle(held.get())(event_object(event));
  };
}

uint64_t add_python_hook(const py::object& enter, const py::object& exit) {
  return add_hook({hook_function(enter), hook_function(exit)});
}

}  // namespace

void bind_hooks(py::handle module) {
  py::add_functions(module, {py::function<add_python_hook>("add_hook", "enter, exit"),
                             py::function<remove_hook>("remove_hook", "id")});
}

}  // namespace wave

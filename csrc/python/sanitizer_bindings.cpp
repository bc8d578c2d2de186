// Sessions of the sanitizer, from Python: for wave_runtime.sanitize().
#include "python/sanitizer_bindings.h"

#include <pybind11/stl.h>

#include "base/error.h"
#include "base/sanitizer.h"
#include "python/bindings.h"
#include "python/errors.h"

namespace py = pybind11;

namespace wave {
namespace {

py::list names_of_tools() {
  py::list names;
  for (const std::string_view name : tool_names()) names.append(py::str(name.data(), name.size()));
  return names;
}

std::shared_ptr<Sanitizer> begin(const std::string& tools, bool over_reads) {
  auto sanitizer = std::make_shared<Sanitizer>(SanitizerOptions{parse_tools(tools), over_reads, true, {}});
  if (sanitizer->options.tools == 0) throw ValueError(text("no tools: '", tools, "'"));
  Sanitizer::begin(sanitizer);
  return sanitizer;
}

py::list take(Sanitizer& sanitizer) {
  py::list found;
  for (const std::string& finding : sanitizer.take()) found.append(python_text(finding));
  return found;
}

/// Called behind launches that have found something; never destroyed.
py::object& findings_hook() {
  static py::object& hook = *new py::object;
  return hook;
}

void set_findings_hook(py::object hook) { findings_hook() = std::move(hook); }

}  // namespace

void tell_findings(Sanitizer& sanitizer) {
  if (sanitizer.has_some() && findings_hook()) findings_hook()();
}

void bind_sanitizer(py::module_& module) {
  py::class_<Sanitizer, std::shared_ptr<Sanitizer>>(module, "Sanitizer", py::is_final())
      .def("take", &take)
      .def("end", [](const Sanitizer& sanitizer) { Sanitizer::end(sanitizer); });
  module.def("set_findings_hook", &set_findings_hook, py::arg("hook"));
  module.def("sanitizer_tools", &names_of_tools);
  module.def("begin_sanitizer", &begin, py::arg("tools"), py::arg("over_reads"));
}

}  // namespace wave

// Sessions of the sanitizer, from Python: for wave_runtime.sanitize().
#include "python/sanitizer_bindings.h"

#include "base/error.h"
#include "base/sanitizer.h"
#include "op/allocations.h"
#include "python/bindings.h"
#include "python/define.h"

namespace wave {
namespace {

struct SanitizerState {
  static constexpr const char* kName = "wave_runtime._C.Sanitizer";
  std::shared_ptr<Sanitizer> sanitizer;
};

py::list names_of_tools() { return py::list_of(tool_names()); }

py::object begin_sanitizer(const std::string& tools, bool over_reads, bool denormals, bool dead_registers) {
  auto sanitizer = std::make_shared<Sanitizer>(SanitizerOptions{.tools = parse_tools(tools),
                                                                .over_reads = over_reads,
                                                                .denormals = denormals,
                                                                .dead_registers = dead_registers,
                                                                .log = {}});
  if (sanitizer->options.tools == 0) throw ValueError(text("no tools: '", tools, "'"));
  Sanitizer::begin(sanitizer);
  begin_watching_allocations(sanitizer->options.tools);
  return make_callable<SanitizerState>(std::move(sanitizer));
}

void end_sanitizer(const SanitizerState& state) {
  Sanitizer::end(*state.sanitizer);
  end_watching_allocations(state.sanitizer->options.tools);
}

std::vector<std::string> take(const SanitizerState& state) { return state.sanitizer->take(); }

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

void bind_sanitizer(py::handle module) {
  py::add_type<SanitizerState>(module,
                               {.methods = {py::method<take>("take", ""), py::method<end_sanitizer>("end", "")}});
  py::add_functions(module,
                    {py::function<set_findings_hook>("set_findings_hook", "hook"),
                     py::function<names_of_tools>("sanitizer_tools", ""),
                     py::function<begin_sanitizer>("begin_sanitizer", "tools, over_reads, denormals, dead_registers")});
}

}  // namespace wave

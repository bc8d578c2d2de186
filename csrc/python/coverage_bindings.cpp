// What the emulator runs, from Python: for `python -m wave_runtime coverage`, the self-test, and the tests.

#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/binding_lists.h"
#include "emulator/bindings.h"
#include "emulator/processor.h"
#include "python/bindings.h"
#include "python/define.h"

namespace wave {
namespace {

using BodyName = std::tuple<std::string_view, emulator::Variant>;

std::vector<BodyName> body_names_of(std::span<const emulator::Body> bodies) {
  std::vector<BodyName> names;
  for (const emulator::Body& body : bodies) names.emplace_back(body.name, body.variant);
  return names;
}

const emulator::Bindings& bindings(const std::string& processor, uint32_t lanes = 0) {
  for (const emulator::ProcessorTraits* traits : emulator::all_processors()) {
    if (traits->code == processor) return emulator::Bindings::of(*traits, lanes == 0 ? traits->lanes : lanes);
  }
  throw ValueError(text("the emulator does not run code for ", processor));
}

/// The name and variant of every body.
std::vector<BodyName> emulator_bodies() { return body_names_of(emulator::bodies()); }

/// For each row of a processor's table those that carry it out in waves of so many lanes, of either half of VOPD.
py::list bound_bodies(const std::string& processor, uint32_t lanes) {
  const emulator::Bindings& all = bindings(processor, lanes);
  return py::list_of(all.instruction_set().rows(), [&](const isa::Row& row) {
    return py::make_tuple(body_names_of(all.bodies_of(row, 0)), body_names_of(all.bodies_of(row, 1)));
  });
}

/// The instructions that are listed for a processor, and the names of their bodies.
std::vector<std::tuple<std::string, std::string>> binding_entries(const std::string& processor) {
  std::vector<std::tuple<std::string, std::string>> entries;
  emulator::for_each_binding(
      processor, [&](std::string_view instruction, std::string_view body) { entries.emplace_back(instruction, body); });
  return entries;
}

/// The instructions of a processor that the emulator runs, by name without the encoding's suffix.
std::set<std::string_view> implemented_instructions(const std::string& processor) {
  const emulator::Bindings& all = bindings(processor);
  std::set<std::string_view> names;
  for (const isa::Row& row : all.instruction_set().rows()) {
    if (!all.bodies_of(row).empty()) names.insert(isa::base_name(row));
  }
  return names;
}

/// The processor that the emulator runs code for a target as, or None where it does not run such code.
std::optional<std::string> emulated_processor(const Target& target) {
  const emulator::ProcessorTraits* processor = emulator::find_processor_for(target);
  return processor == nullptr ? std::nullopt : std::optional<std::string>(processor->code);
}

/// Why the emulator cannot run the instruction at the start of `data`, in waves of so many lanes, or None.
std::optional<std::string> unsupported(const std::string& processor, const py::bytes& data, uint32_t lanes) {
  const emulator::Bindings& all = bindings(processor, lanes);
  const std::string_view bytes = data.view();
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  if (words.empty()) throw ValueError("an instruction has at least 4 bytes");
  const isa::Instruction instruction = all.instruction_set().decode(words, lanes == 64 ? 64 : 32);
  if (instruction.row == nullptr && instruction.graphics == nullptr) return text("not an instruction of ", processor);
  const std::string reason = emulator::unsupported(all, instruction);
  return reason.empty() ? std::nullopt : std::optional(reason);
}

}  // namespace

void bind_coverage(py::handle module) {
  py::add_functions(module, {py::function<emulator_bodies>("emulator_bodies", ""),
                             py::function<bound_bodies>("bound_bodies", "processor, lanes=0"),
                             py::function<binding_entries>("binding_entries", "processor"),
                             py::function<implemented_instructions>("implemented_instructions", "processor=\"gfx942\""),
                             py::function<emulated_processor>("emulated_processor", "target"),
                             py::function<unsupported>("unsupported", "processor, data, lanes=0")});
}

}  // namespace wave

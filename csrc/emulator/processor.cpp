#include "emulator/processor.h"

#include <algorithm>
#include <atomic>

#include "base/environment.h"
#include "base/error.h"
#include "base/fork_safe.h"
#include "emulator/device_choice.h"

namespace wave::emulator {

namespace {

constexpr std::string_view kDefault = "gfx942";

constinit std::atomic<const ProcessorRegistration*> last = nullptr;

const Variable& chosen = at_load("WAVE_RUNTIME_EMULATOR_PROCESSOR");
Lazy<const ProcessorTraits*>& device = *new Lazy<const ProcessorTraits*>();
constinit std::atomic<const ProcessorTraits*> device_for_now = nullptr;

/// Whether ROCm's own variable asks for it: any value but 1 does not, as in its runtime.
bool asks_for_retries() {
  for (char** entry = inherited_environment(); *entry != nullptr; ++entry) {
    if (std::string_view(*entry) == "HSA_XNACK=1") return true;
  }
  return false;
}

/// What has XNACK repeats accesses of pages that are not there yet, where the process asks for it.
ProcessorTraits with_retries(ProcessorTraits traits) {
  constexpr std::string_view kOff = ":xnack-";
  const std::string_view settings = traits.settings;
  if (!settings.ends_with(kOff) || !asks_for_retries()) return traits;
  traits.settings = (new std::string(text(settings.substr(0, settings.size() - kOff.size()), ":xnack+")))->c_str();
  return traits;
}

}  // namespace

ProcessorTraits of_family(ProcessorTraits family, const char* name, u32 compute_units, u32 engines, u32 clock,
                          bool is_integrated) {
  family.name = family.code = name;
  family.limits = *find_processor(name)->limits;
  family.compute_units = compute_units;
  family.engines = engines;
  family.units_per_engine = compute_units / engines;
  family.clock = clock;
  family.is_integrated = is_integrated;
  return family;
}

ProcessorRegistration::ProcessorRegistration(const ProcessorTraits& traits)
    : traits_(with_retries(traits)), next_(last.load()) {
  while (!last.compare_exchange_weak(next_, this)) {
  }
}

std::vector<const ProcessorTraits*> ProcessorRegistration::all() {
  std::vector<const ProcessorTraits*> all;
  for (const ProcessorRegistration* known = last; known != nullptr; known = known->next_) {
    all.push_back(&known->traits_);
  }
  std::ranges::sort(all, {}, [](const ProcessorTraits* traits) { return std::string_view(traits->name); });
  return all;
}

std::vector<const ProcessorTraits*> device_processors() {
  std::vector<const ProcessorTraits*> devices = ProcessorRegistration::all();
  std::erase_if(devices, [](const ProcessorTraits* traits) { return is_generic(traits->name); });
  return devices;
}

void choose_device_processor(const ProcessorTraits* processor) { device_for_now = processor; }

const ProcessorTraits& device_processor() {
  if (const ProcessorTraits* const processor = device_for_now) return *processor;
  return *device.get([] {
    const std::string_view wanted = chosen.is_set() ? std::string_view(chosen.text) : kDefault;
    std::string known;
    for (const ProcessorTraits* traits : device_processors()) {
      if (traits->name == wanted) return traits;
      known += text(known.empty() ? "" : " or ", traits->name);
    }
    chosen.refuse(known, kDefault);
  });
}

std::vector<const ProcessorTraits*> all_processors() {
  const ProcessorTraits& first = device_processor();
  std::vector<const ProcessorTraits*> all = {&first};
  for (const ProcessorTraits* traits : ProcessorRegistration::all()) {
    const std::string_view code = traits->code;
    if (code == traits->name && code != first.code) all.push_back(traits);
  }
  return all;
}

const ProcessorTraits* find_processor_for(const Target& code) {
  for (const ProcessorTraits* traits : all_processors()) {
    if (code.runs_on(Target::parse(traits->code))) return traits;
  }
  return nullptr;
}

const isa::InstructionSet* find_instruction_set(std::string_view code) {
  for (const ProcessorTraits* traits : ProcessorRegistration::all()) {
    if (traits->code == code) return &traits->instruction_set();
  }
  return nullptr;
}

std::string emulated_code() {
  std::string all;
  for (const ProcessorTraits* traits : all_processors()) all += text(all.empty() ? "" : ", ", traits->code);
  return all;
}

}  // namespace wave::emulator

#include "code_object/target.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "code_object/elf.h"

namespace wave {
namespace {

const Processor* find_machine(uint8_t machine) {
  const auto found = std::ranges::find(known_processors(), machine, &Processor::elf_machine);
  return found == known_processors().end() ? nullptr : &*found;
}

// AMDGPU usage guide, "AMDGPU Generic Processors": code for a generic processor runs on those of its family. Each has
// belonged to it since version 1.
bool covers(const Target& generic, std::string_view name) {
  const Processor* code = find_processor(generic.processor);
  const Processor* processor = find_processor(name);
  return code != nullptr && processor != nullptr && is_generic(code->name) && generic.generic_version >= 1 &&
         !is_generic(name) && std::string_view(code->family) == processor->family;
}

// CUDA C++ Programming Guide, "Binary Compatibility": from one minor revision to the next, within one major revision,
// and not for Tegra, whose processors these are. "Architecture-Specific Features" and "Family-Specific Features": code
// with the former runs on one compute capability only, code with the latter as binary code does.
constexpr unsigned kTegra[] = {53, 62, 72, 87, 101, 110};

bool binary_runs_on(const Sm& code, const Sm& device) {
  const auto is_tegra = [](const Sm& sm) { return std::ranges::find(kTegra, sm.number) != std::end(kTegra); };
  if (code.number == device.number) return true;
  if (code.features == Sm::Features::Architecture || is_tegra(code) || is_tegra(device)) return false;
  return code.major() == device.major() && code.number < device.number;
}

void read_feature(Target& target, const Processor& processor, std::string_view word, std::string_view id) {
  const Feature setting = word.ends_with('+') ? Feature::On : word.ends_with('-') ? Feature::Off : Feature::Any;
  const std::string_view name = word.substr(0, word.empty() ? 0 : word.size() - 1);
  const bool is_sramecc = name == "sramecc";
  if (setting == Feature::Any || (!is_sramecc && name != "xnack")) {
    throw ValueError(text("target id \"", id, "\": \"", word, "\" is not one of sramecc+, sramecc-, xnack+, xnack-"));
  }
  if (!(is_sramecc ? processor.sramecc : processor.xnack)) {
    throw ValueError(text("target id \"", id, "\": ", processor.name, " has no feature ", name));
  }
  Feature& feature = is_sramecc ? target.sramecc : target.xnack;
  if (feature != Feature::Any) throw ValueError(text("target id \"", id, "\": ", name, " is given twice"));
  feature = setting;
}

// A processor as the architecture of a triple says it: gfx942 is "9.42", gfx90a "9.0a", gfx9-4-generic "9.4".
std::string subarch_of(const Processor& processor) {
  const std::string_view name = processor.name;
  if (is_generic(name)) return processor.family;
  return text(name.substr(3, name.size() - 5), '.', name.substr(name.size() - 2));
}

// LLVM's AMDGPU::isSubArchCompatible: the same, or one is the family of the other.
bool is_compatible(const Processor& processor, std::string_view subarch) {
  const std::string own = subarch_of(processor);
  if (subarch == own || subarch == processor.family) return true;
  return own == processor.family && std::ranges::any_of(known_processors(), [&](const Processor& member) {
           return own == member.family && subarch == subarch_of(member);
         });
}

// A target id: the words before the processor, and what follows them.
struct Id {
  std::string_view subarch;  // of the triple: "9.42"; empty where it says none, or where there is no triple
  std::string_view rest;
};

// Takes the triple off: "amdgcn-amd-amdhsa-", or, since LLVM 24, "amdgpu9.42-amd-amdhsa-"; then an environment, mostly
// none or "unknown", and a dash. Old bundles go without the environment and its dash. LLVM asks for no vendor, and XLA
// names none: "amdgcn--amdhsa-amdgiz-gfx90a".
Id read_triple(std::string_view id) {
  constexpr std::string_view kSystem = "-amdhsa-", kLegacy = "amdgcn", kArchitecture = "amdgpu";
  const size_t system = id.find(kSystem), vendor = id.find('-');
  if (system == id.npos || vendor == system || id.find('-', vendor + 1) != system) return {{}, id};
  const std::string_view architecture = id.substr(0, vendor), rest = id.substr(system + kSystem.size());
  if (architecture != kLegacy && !architecture.starts_with(kArchitecture)) return {{}, id};
  const std::string_view subarch = architecture.substr(kArchitecture.size());
  if (rest.starts_with("gfx")) return {subarch, rest};
  const size_t dash = rest.find('-');
  return dash == rest.npos ? Id{{}, id} : Id{subarch, rest.substr(dash + 1)};
}

// The processor that an id names, or that its triple does: "amdgpu9.42-amd-amdhsa--:xnack+".
const Processor& read_processor(std::string_view name, std::string_view subarch, std::string_view id) {
  const Processor* processor = find_processor(name);
  if (name.empty() && !subarch.empty()) {
    const auto found =
        std::ranges::find_if(known_processors(), [&](const Processor& row) { return subarch == subarch_of(row); });
    processor = found == known_processors().end() ? nullptr : &*found;
    if (processor == nullptr) throw ValueError(text("target id \"", id, "\": unknown processor amdgpu", subarch));
  }
  if (processor == nullptr) throw ValueError(text("target id \"", id, "\": unknown processor \"", name, '"'));
  if (!subarch.empty() && !is_compatible(*processor, subarch)) {
    throw ValueError(text("target id \"", id, "\": ", processor->name, " is not a processor of amdgpu", subarch));
  }
  return *processor;
}

// EF_AMDGPU_FEATURE_*_V4: two bits in the order of `Feature`. What a file says of a feature that its processor does not
// have is ignored, as ROCm's loader does.
Feature from_bits(uint32_t bits, bool supported) {
  return supported ? static_cast<Feature>(bits & 3) : Feature::Unsupported;
}

Feature from_bit(bool on, bool supported) {
  return !supported ? Feature::Unsupported : on ? Feature::On : Feature::Off;
}

bool agree(Feature code, Feature device) {
  const bool conflict =
      (code == Feature::On && device == Feature::Off) || (code == Feature::Off && device == Feature::On);
  return !conflict;
}

void append(std::string& id, std::string_view name, Feature feature) {
  if (feature == Feature::On) id += text(':', name, '+');
  if (feature == Feature::Off) id += text(':', name, '-');
}

}  // namespace

std::string Sm::name() const {
  constexpr const char* kSuffixes[] = {"", "f", "a"};
  return text("sm_", number, kSuffixes[static_cast<size_t>(features)]);
}

std::optional<Sm> parse_sm(std::string_view processor) {
  constexpr std::string_view kPrefix = "sm_";
  if (!processor.starts_with(kPrefix)) return std::nullopt;
  Sm sm{};
  const char* const end = processor.data() + processor.size();
  const auto [rest, error] = std::from_chars(processor.data() + kPrefix.size(), end, sm.number);
  if (error != std::errc() || sm.number < 10 || sm.number > 999) return std::nullopt;
  const std::string_view suffix(rest, end);
  if (suffix == "a") sm.features = Sm::Features::Architecture;
  if (suffix == "f") sm.features = Sm::Features::Family;
  return suffix.empty() || sm.features != Sm::Features::Baseline ? std::optional(sm) : std::nullopt;
}

Target Target::parse(std::string_view id) {
  if (parse_sm(id)) return {.processor = std::string(id)};
  auto [subarch, rest] = read_triple(id);
  const std::string_view name = rest.substr(0, rest.find(':'));
  const Processor& processor = read_processor(name, subarch, id);
  Target target{.processor = std::string(processor.name)};
  if (processor.sramecc) target.sramecc = Feature::Any;
  if (processor.xnack) target.xnack = Feature::Any;
  // The text does not carry the version of a generic target, so it is the one that every such code object has reached.
  if (is_generic(processor.name)) target.generic_version = 1;
  for (rest.remove_prefix(name.size()); !rest.empty();) {
    rest.remove_prefix(1);  // the colon
    const std::string_view word = rest.substr(0, rest.find(':'));
    read_feature(target, processor, word, id);
    rest.remove_prefix(word.size());
  }
  return target;
}

Target Target::from_elf_flags(uint32_t flags, uint8_t abi_version) {
  const Processor* processor = find_machine(flags & 0xff);
  if (processor == nullptr) {
    throw FormatError("code object", kFlagsOffset, text("unknown machine number ", hex(flags & 0xff), " in e_flags"));
  }
  Target target{.processor = std::string(processor->name)};
  if (abi_version == 1) {  // code object v3: one bit each
    target.xnack = from_bit(flags & 0x100, processor->xnack);
    target.sramecc = from_bit(flags & 0x200, processor->sramecc);
  } else {
    target.xnack = from_bits(flags >> 8, processor->xnack);
    target.sramecc = from_bits(flags >> 10, processor->sramecc);
  }
  if (abi_version >= 4) target.generic_version = static_cast<uint8_t>(flags >> 24);
  return target;
}

std::string Target::id() const {
  std::string result = processor;
  append(result, "sramecc", sramecc);
  append(result, "xnack", xnack);
  return result;
}

bool Target::runs_on(const Target& device) const {
  const std::optional<Sm> sm = parse_sm(processor), device_sm = parse_sm(device.processor);
  if (sm || device_sm) return sm && device_sm && binary_runs_on(*sm, *device_sm);
  if (processor != device.processor && !covers(*this, device.processor)) return false;
  return agree(sramecc, device.sramecc) && agree(xnack, device.xnack);
}

}  // namespace wave

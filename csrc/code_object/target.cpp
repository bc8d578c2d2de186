#include "code_object/target.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"
#include "code_object/elf.h"

namespace wave {
namespace {

// Every amdgcn machine number that LLVM has assigned (llvm/BinaryFormat/ELF.h, "AMDGPU specific e_flags"), and the
// features that its target parser accepts in a target id.
constexpr Processor kProcessors[] = {
    // name, machine, family, major, minor, sramecc, xnack, unified VGPRs
    {"gfx600", 0x20, "6", 6, 0, false, false, false},
    {"gfx601", 0x21, "6", 6, 0, false, false, false},
    {"gfx602", 0x3a, "6", 6, 0, false, false, false},
    {"gfx700", 0x22, "7", 7, 0, false, false, false},
    {"gfx701", 0x23, "7", 7, 0, false, false, false},
    {"gfx702", 0x24, "7", 7, 0, false, false, false},
    {"gfx703", 0x25, "7", 7, 0, false, false, false},
    {"gfx704", 0x26, "7", 7, 0, false, false, false},
    {"gfx705", 0x3b, "7", 7, 0, false, false, false},
    {"gfx801", 0x28, "8", 8, 0, false, true, false},
    {"gfx802", 0x29, "8", 8, 0, false, false, false},
    {"gfx803", 0x2a, "8", 8, 0, false, false, false},
    {"gfx805", 0x3c, "8", 8, 0, false, false, false},
    {"gfx810", 0x2b, "8.10", 8, 1, false, true, false},
    {"gfx900", 0x2c, "9", 9, 0, false, true, false},
    {"gfx902", 0x2d, "9", 9, 0, false, true, false},
    {"gfx904", 0x2e, "9", 9, 0, false, true, false},
    {"gfx906", 0x2f, "9", 9, 0, true, true, false},
    {"gfx908", 0x30, "9.08", 9, 0, true, true, false},
    {"gfx909", 0x31, "9", 9, 0, false, true, false},
    {"gfx90a", 0x3f, "9.0a", 9, 0, true, true, true},
    {"gfx90c", 0x32, "9", 9, 0, false, true, false},
    {"gfx940", 0x40, "9.4", 9, 4, true, true, true},
    {"gfx941", 0x4b, "9.4", 9, 4, true, true, true},
    {"gfx942", 0x4c, "9.4", 9, 4, true, true, true},
    {"gfx950", 0x4f, "9.4", 9, 5, true, true, true},
    {"gfx1010", 0x33, "10.1", 10, 1, false, true, false},
    {"gfx1011", 0x34, "10.1", 10, 1, false, true, false},
    {"gfx1012", 0x35, "10.1", 10, 1, false, true, false},
    {"gfx1013", 0x42, "10.1", 10, 1, false, true, false},
    {"gfx1030", 0x36, "10.3", 10, 3, false, false, false},
    {"gfx1031", 0x37, "10.3", 10, 3, false, false, false},
    {"gfx1032", 0x38, "10.3", 10, 3, false, false, false},
    {"gfx1033", 0x39, "10.3", 10, 3, false, false, false},
    {"gfx1034", 0x3e, "10.3", 10, 3, false, false, false},
    {"gfx1035", 0x3d, "10.3", 10, 3, false, false, false},
    {"gfx1036", 0x45, "10.3", 10, 3, false, false, false},
    {"gfx1100", 0x41, "11", 11, 0, false, false, false},
    {"gfx1101", 0x46, "11", 11, 0, false, false, false},
    {"gfx1102", 0x47, "11", 11, 0, false, false, false},
    {"gfx1103", 0x44, "11", 11, 0, false, false, false},
    {"gfx1150", 0x43, "11", 11, 5, false, false, false},
    {"gfx1151", 0x4a, "11", 11, 5, false, false, false},
    {"gfx1152", 0x55, "11", 11, 5, false, false, false},
    {"gfx1153", 0x58, "11", 11, 5, false, false, false},
    {"gfx1154", 0x57, "11", 11, 5, false, false, false},
    {"gfx1170", 0x5d, "11.7", 11, 7, false, false, false},
    {"gfx1171", 0x5e, "11.7", 11, 7, false, false, false},
    {"gfx1172", 0x5c, "11.7", 11, 7, false, false, false},
    {"gfx1200", 0x48, "12", 12, 0, false, false, false},
    {"gfx1201", 0x4e, "12", 12, 0, false, false, false},
    {"gfx1250", 0x49, "12.5", 12, 5, true, true, false},
    {"gfx1251", 0x5a, "12.5", 12, 5, true, true, false},
    {"gfx1310", 0x50, "13", 13, 1, false, false, false},
    {"gfx9-generic", 0x51, "9", 9, 0, false, true, false},
    {"gfx9-4-generic", 0x5f, "9.4", 9, 4, true, true, true},
    {"gfx10-1-generic", 0x52, "10.1", 10, 1, false, true, false},
    {"gfx10-3-generic", 0x53, "10.3", 10, 3, false, false, false},
    {"gfx11-generic", 0x54, "11", 11, 0, false, false, false},
    {"gfx11-7-generic", 0x62, "11.7", 11, 7, false, false, false},
    {"gfx12-generic", 0x59, "12", 12, 0, false, false, false},
    {"gfx12-5-generic", 0x5b, "12.5", 12, 5, true, true, false},
    {"gfx13-generic", 0x63, "13", 13, 0, false, false, false},
};

const Processor* find_machine(uint8_t machine) {
  const auto* found = std::ranges::find(kProcessors, machine, &Processor::elf_machine);
  return found == std::end(kProcessors) ? nullptr : found;
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
  return own == processor.family && std::ranges::any_of(kProcessors, [&](const Processor& member) {
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
    const auto* found =
        std::ranges::find_if(kProcessors, [&](const Processor& row) { return subarch == subarch_of(row); });
    processor = found == std::end(kProcessors) ? nullptr : found;
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

bool is_generic(std::string_view processor) { return processor.ends_with("-generic"); }

const Processor* find_processor(std::string_view name) {
  const auto* found = std::ranges::find(kProcessors, name, &Processor::name);
  return found == std::end(kProcessors) ? nullptr : found;
}

const Processor* find_generic_processor(const Processor& processor) {
  for (const Processor& generic : kProcessors) {
    if (is_generic(generic.name) && std::string_view(generic.family) == processor.family) return &generic;
  }
  return nullptr;
}

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

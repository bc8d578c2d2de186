#include "code_object/target.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"

namespace wave {
namespace {

// Every amdgcn machine number that LLVM has assigned (llvm/BinaryFormat/ELF.h, "AMDGPU specific e_flags"), and the
// features that its target parser accepts in a target id.
constexpr Processor kProcessors[] = {
    // name, machine, major, minor, sramecc, xnack, unified VGPRs
    {"gfx600", 0x20, 6, 0, false, false, false},
    {"gfx601", 0x21, 6, 0, false, false, false},
    {"gfx602", 0x3a, 6, 0, false, false, false},
    {"gfx700", 0x22, 7, 0, false, false, false},
    {"gfx701", 0x23, 7, 0, false, false, false},
    {"gfx702", 0x24, 7, 0, false, false, false},
    {"gfx703", 0x25, 7, 0, false, false, false},
    {"gfx704", 0x26, 7, 0, false, false, false},
    {"gfx705", 0x3b, 7, 0, false, false, false},
    {"gfx801", 0x28, 8, 0, false, true, false},
    {"gfx802", 0x29, 8, 0, false, false, false},
    {"gfx803", 0x2a, 8, 0, false, false, false},
    {"gfx805", 0x3c, 8, 0, false, false, false},
    {"gfx810", 0x2b, 8, 1, false, true, false},
    {"gfx900", 0x2c, 9, 0, false, true, false},
    {"gfx902", 0x2d, 9, 0, false, true, false},
    {"gfx904", 0x2e, 9, 0, false, true, false},
    {"gfx906", 0x2f, 9, 0, true, true, false},
    {"gfx908", 0x30, 9, 0, true, true, false},
    {"gfx909", 0x31, 9, 0, false, true, false},
    {"gfx90a", 0x3f, 9, 0, true, true, true},
    {"gfx90c", 0x32, 9, 0, false, true, false},
    {"gfx940", 0x40, 9, 4, true, true, true},
    {"gfx941", 0x4b, 9, 4, true, true, true},
    {"gfx942", 0x4c, 9, 4, true, true, true},
    {"gfx950", 0x4f, 9, 5, true, true, true},
    {"gfx1010", 0x33, 10, 1, false, true, false},
    {"gfx1011", 0x34, 10, 1, false, true, false},
    {"gfx1012", 0x35, 10, 1, false, true, false},
    {"gfx1013", 0x42, 10, 1, false, true, false},
    {"gfx1030", 0x36, 10, 3, false, false, false},
    {"gfx1031", 0x37, 10, 3, false, false, false},
    {"gfx1032", 0x38, 10, 3, false, false, false},
    {"gfx1033", 0x39, 10, 3, false, false, false},
    {"gfx1034", 0x3e, 10, 3, false, false, false},
    {"gfx1035", 0x3d, 10, 3, false, false, false},
    {"gfx1036", 0x45, 10, 3, false, false, false},
    {"gfx1100", 0x41, 11, 0, false, false, false},
    {"gfx1101", 0x46, 11, 0, false, false, false},
    {"gfx1102", 0x47, 11, 0, false, false, false},
    {"gfx1103", 0x44, 11, 0, false, false, false},
    {"gfx1150", 0x43, 11, 5, false, false, false},
    {"gfx1151", 0x4a, 11, 5, false, false, false},
    {"gfx1152", 0x55, 11, 5, false, false, false},
    {"gfx1153", 0x58, 11, 5, false, false, false},
    {"gfx1154", 0x57, 11, 5, false, false, false},
    {"gfx1170", 0x5d, 11, 7, false, false, false},
    {"gfx1171", 0x5e, 11, 7, false, false, false},
    {"gfx1172", 0x5c, 11, 7, false, false, false},
    {"gfx1200", 0x48, 12, 0, false, false, false},
    {"gfx1201", 0x4e, 12, 0, false, false, false},
    {"gfx1250", 0x49, 12, 5, true, true, false},
    {"gfx1251", 0x5a, 12, 5, true, true, false},
    {"gfx1310", 0x50, 13, 1, false, false, false},
    {"gfx9-generic", 0x51, 9, 0, false, true, false},
    {"gfx9-4-generic", 0x5f, 9, 4, true, true, true},
    {"gfx10-1-generic", 0x52, 10, 1, false, true, false},
    {"gfx10-3-generic", 0x53, 10, 3, false, false, false},
    {"gfx11-generic", 0x54, 11, 0, false, false, false},
    {"gfx12-generic", 0x59, 12, 0, false, false, false},
    {"gfx12-5-generic", 0x5b, 12, 5, true, true, false},
};

// AMDGPU usage guide, "AMDGPU Generic Processors": what a generic processor covers, and since which version of it.
struct Coverage {
  std::string_view generic;
  std::string_view processor;
  uint8_t since;
};

constexpr Coverage kCoverage[] = {
    {"gfx9-generic", "gfx900", 1},     {"gfx9-generic", "gfx902", 1},     {"gfx9-generic", "gfx904", 1},
    {"gfx9-generic", "gfx906", 1},     {"gfx9-generic", "gfx909", 1},     {"gfx9-generic", "gfx90c", 1},
    {"gfx9-4-generic", "gfx940", 1},   {"gfx9-4-generic", "gfx941", 1},   {"gfx9-4-generic", "gfx942", 1},
    {"gfx9-4-generic", "gfx950", 1},   {"gfx10-1-generic", "gfx1010", 1}, {"gfx10-1-generic", "gfx1011", 1},
    {"gfx10-1-generic", "gfx1012", 1}, {"gfx10-1-generic", "gfx1013", 1}, {"gfx10-3-generic", "gfx1030", 1},
    {"gfx10-3-generic", "gfx1031", 1}, {"gfx10-3-generic", "gfx1032", 1}, {"gfx10-3-generic", "gfx1033", 1},
    {"gfx10-3-generic", "gfx1034", 1}, {"gfx10-3-generic", "gfx1035", 1}, {"gfx10-3-generic", "gfx1036", 1},
    {"gfx11-generic", "gfx1100", 1},   {"gfx11-generic", "gfx1101", 1},   {"gfx11-generic", "gfx1102", 1},
    {"gfx11-generic", "gfx1103", 1},   {"gfx11-generic", "gfx1150", 1},   {"gfx11-generic", "gfx1151", 1},
    {"gfx11-generic", "gfx1152", 1},   {"gfx11-generic", "gfx1153", 1},   {"gfx12-generic", "gfx1200", 1},
    {"gfx12-generic", "gfx1201", 1},   {"gfx12-5-generic", "gfx1250", 1}, {"gfx12-5-generic", "gfx1251", 1},
};

constexpr uint64_t kFlagsOffset = 48;  // of e_flags in an ELF64 header

const Processor* find_machine(uint8_t machine) {
  const auto* found = std::ranges::find(kProcessors, machine, &Processor::elf_machine);
  return found == std::end(kProcessors) ? nullptr : found;
}

bool covers(const Target& generic, const std::string& processor) {
  return std::ranges::any_of(kCoverage, [&](const Coverage& row) {
    return row.generic == generic.processor && row.processor == processor && generic.generic_version >= row.since;
  });
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

std::string_view without_triple(std::string_view id) {
  for (std::string_view triple : {"amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa-unknown-"}) {
    if (id.starts_with(triple)) return id.substr(triple.size());
  }
  return id;
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

const Processor* find_processor(std::string_view name) {
  const auto* found =
      std::ranges::find(kProcessors, name, [](const Processor& row) { return std::string_view(row.name); });
  return found == std::end(kProcessors) ? nullptr : found;
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
  std::string_view rest = without_triple(id);
  const std::string_view name = rest.substr(0, rest.find(':'));
  Target target{.processor = std::string(name)};
  if (parse_sm(rest)) return target;

  const Processor* processor = find_processor(name);
  if (processor == nullptr) throw ValueError(text("target id \"", id, "\": unknown processor \"", name, '"'));
  if (processor->sramecc) target.sramecc = Feature::Any;
  if (processor->xnack) target.xnack = Feature::Any;
  // The text does not carry the version of a generic target, so it is the one that every such code object has reached.
  if (name.ends_with("-generic")) target.generic_version = 1;
  for (rest.remove_prefix(name.size()); !rest.empty();) {
    rest.remove_prefix(1);  // the colon
    const std::string_view word = rest.substr(0, rest.find(':'));
    read_feature(target, *processor, word, id);
    rest.remove_prefix(word.size());
  }
  return target;
}

Target Target::from_elf_flags(uint32_t flags, uint8_t abi_version) {
  const Processor* processor = find_machine(flags & 0xff);
  if (processor == nullptr) {
    throw FormatError("code object", kFlagsOffset, text("unknown machine number ", hex(flags & 0xff), " in e_flags"));
  }
  Target target{.processor = processor->name};
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

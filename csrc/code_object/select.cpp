#include "code_object/select.h"

namespace wave {
namespace {

int amd_rank(const Target& code, const Target& device) {
  const auto feature_rank = [](Feature in_code, Feature in_device) {
    const auto is_fixed = [](Feature feature) { return feature == Feature::On || feature == Feature::Off; };
    return is_fixed(in_code) == is_fixed(in_device) ? 1 : 0;
  };
  return (code.processor == device.processor ? 4 : 0) + feature_rank(code.sramecc, device.sramecc) +
         feature_rank(code.xnack, device.xnack);
}

// CUDA C++ Programming Guide, "PTX Compatibility": PTX can be compiled for any processor of the same or a higher compute
// capability, with architecture-specific features for its own only, with family-specific ones within the family.
bool ptx_runs_on(const Sm& code, const Sm& device) {
  switch (code.features) {
    case Sm::Features::Architecture:
      return code.number == device.number;
    case Sm::Features::Family:
      return code.major() == device.major() && code.number <= device.number;
    case Sm::Features::Baseline:
      break;
  }
  return code.number <= device.number;
}

int sm_rank(const Sm& sm) { return static_cast<int>(sm.number) * 4 + static_cast<int>(sm.features); }

}  // namespace

std::optional<int> suitability(Format format, const Target& code, const Target& device) {
  constexpr int kCubin = 1 << 16;  // beyond the rank of any PTX
  const std::optional<Sm> sm = parse_sm(code.processor), device_sm = parse_sm(device.processor);
  if (format == Format::Ptx) {
    if (!sm || !device_sm || !ptx_runs_on(*sm, *device_sm)) return std::nullopt;
    return sm_rank(*sm);
  }
  if (!code.runs_on(device)) return std::nullopt;
  return sm ? kCubin + sm_rank(*sm) : amd_rank(code, device);
}

bool runs_on(const CodeObject& code, const Target& device) {
  return suitability(code.format(), code.target(), device).has_value();
}

std::shared_ptr<const CodeObject> select_for(std::span<const std::shared_ptr<const CodeObject>> variants,
                                             const Target& device) {
  std::shared_ptr<const CodeObject> best;
  std::optional<int> best_rank;
  for (const auto& variant : variants) {
    const std::optional<int> rank = suitability(variant->format(), variant->target(), device);
    if (!rank || (best_rank && *rank <= *best_rank)) continue;
    best = variant;
    best_rank = rank;
  }
  return best;
}

}  // namespace wave

#include "emulator/matrix_timing.h"

namespace wave::emulator {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Products of large depth go through twice as fast as those of small depth or several blocks.
u32 passes(std::string_view name, bool is_double) {
  const bool is_fast = contains(name, "xf32") || contains(name, "smfmac") || contains(name, "x8_") ||
                       contains(name, "x16_") || contains(name, "x32_");
  if (contains(name, "_4x4x")) return is_double ? 4 : 2;
  return (contains(name, "_16x16x") ? 8 : 16) / (is_fast ? 2 : 1);
}

}  // namespace

std::optional<MatrixTiming> matrix_timing(std::string_view name) {
  if (!name.starts_with("v_mfma") && !name.starts_with("v_smfmac")) return std::nullopt;
  const bool is_double = name.ends_with("_f64"), is_single = name.ends_with("_f32");
  return MatrixTiming{passes(name, is_double), !is_double && !is_single, is_double};
}

u32 MatrixTiming::until_same_c(const MatrixTiming& reader) const {
  if (is_double) return reader.is_double && passes == 4 && reader.passes == 4 ? 4 : 0;
  return passes == 2 ? 2 : 0;
}

u32 MatrixTiming::until_overlapping_c(const MatrixTiming& reader) const {
  if (reader.is_xdl && !is_xdl) return 0;
  if (is_double) return passes == 4 ? 4 : 9;
  return is_xdl ? passes + 1 : passes;
}

u32 MatrixTiming::until_factor() const {
  if (is_double) return passes == 4 ? 6 : 11;
  return is_xdl ? passes + 3 : passes + 2;
}

u32 MatrixTiming::until_read(bool by_memory) const {
  if (is_double && by_memory) return passes == 4 ? 9 : 18;
  return until_factor();
}

u32 MatrixTiming::until_overwritten() const { return until_factor(); }

}  // namespace wave::emulator

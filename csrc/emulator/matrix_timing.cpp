#include "emulator/matrix_timing.h"

#include "emulator/isa/operand.h"

namespace wave::emulator {

std::optional<MatrixTiming> matrix_timing(const isa::Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  if (row.matrix.passes == 0) return std::nullopt;
  constexpr uint32_t kBytes = 2;  // formats below have 8 bits
  const bool is_short = (row.traits & isa::kMixedFormats) != 0 && instruction[isa::Field::CBSZ] >= kBytes &&
                        instruction[isa::Field::BLGP] >= kBytes;
  return MatrixTiming{row.matrix.passes / (is_short ? 2u : 1u), (row.traits & isa::kXdl) != 0,
                      row.matrix.d == isa::Element::F64, (row.traits & isa::kLateResult) != 0, row.precedes_gfx940};
}

u32 MatrixTiming::until_same_c(const MatrixTiming& reader) const {
  if (is_double) return reader.is_double && passes == 4 && reader.passes == 4 ? 4 : 0;
  return passes == 2 && !is_cdna2 ? 2 : 0;
}

u32 MatrixTiming::until_overlapping_c(const MatrixTiming& reader) const {
  if (reader.is_xdl && !is_xdl) return 0;
  if (is_double) return passes == 4 ? 4 : passes + 1;
  if (is_cdna2) return passes + reader.is_double;
  return is_xdl ? passes + 1 + is_late : passes;
}

u32 MatrixTiming::until_factor() const {
  if (is_double) return passes == 4 ? 6 : passes + 3;
  return is_xdl ? passes + 3 + is_late : passes + 2;
}

u32 MatrixTiming::until_read(bool by_memory) const {
  if (is_double && by_memory) return passes == 4 ? 9 : 18;
  return until_factor();
}

u32 MatrixTiming::until_overwritten() const { return is_double && passes == 16 ? 11 : until_factor(); }

}  // namespace wave::emulator

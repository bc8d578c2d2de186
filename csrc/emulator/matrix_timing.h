// How long matrix instructions of CDNA take until others may use their registers: what the ISA document lists under
// "Manually Inserted Wait States", by the numbers that LLVM's hazard recognizer and scheduling model have.
#pragma once

#include <optional>

#include "emulator/isa/isa.h"
#include "emulator/wave.h"

namespace wave::emulator {

struct MatrixTiming {
  u32 passes;  ///< of four cycles each
  bool is_xdl;
  bool is_double;  ///< f64
  bool is_late;    ///< one wait state more than the passes say
  bool is_cdna2;   ///< of gfx90a

  /// Wait states until another matrix instruction may take the result as C: in the same registers, or in some of them.
  u32 until_same_c(const MatrixTiming& reader) const;
  u32 until_overlapping_c(const MatrixTiming& reader) const;
  /// ... as A, B or the indices of sparse matrices.
  u32 until_factor() const;
  /// ... until a vector ALU or a memory instruction may read it, or overwrite it.
  u32 until_read(bool by_memory) const;
  u32 until_overwritten() const;
  /// ... until others may overwrite C, which it reads late.
  u32 until_c_overwritten() const { return is_xdl ? passes - 1 : 0; }
};

/// nullopt where this is no matrix instruction, or the hardware waits by itself.
std::optional<MatrixTiming> matrix_timing(const isa::Instruction& instruction);

}  // namespace wave::emulator

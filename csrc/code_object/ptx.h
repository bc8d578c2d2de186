// PTX, NVIDIA's assembly language (PTX ISA: "Directives", "Kernel and Function Directives", "Performance-Tuning
// Directives", "Cluster Dimension Directives").
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "code_object/metadata.h"
#include "code_object/target.h"

namespace wave {

struct PtxVariable {
  std::string name;
  uint64_t size;  ///< bytes; 0 where it is declared without a size
};

/// The declarations of a module; what stands in the bodies of functions is not read.
struct Ptx {
  unsigned version = 0;  ///< 10 times the major version of the ISA, plus the minor one: 85 for 8.5
  Target target;
  std::vector<KernelMetadata> kernels;  ///< those that have a body
  std::vector<PtxVariable> variables;   ///< .global and .const of the module
};

/// Reads PTX up to its end or a zero byte. Of a `.u64` parameter that is not declared as `.ptr` it is not known whether
/// it is a pointer: compilers write both alike. Throws FormatError.
Ptx parse_ptx(const Bytes& file);

/// Whether the file starts as PTX does: with the directive .version, after blanks and comments.
bool is_ptx(const Bytes& file);

}  // namespace wave

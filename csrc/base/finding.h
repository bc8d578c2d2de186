// What a sanitizer has found in a launch on the emulator, and where.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/address_span.h"

namespace wave {

/// A place in the source that an instruction comes from.
struct SourceFrame {
  std::string function;  ///< empty where it is not known
  std::string file;      ///< a path of the compiler's machine; empty where it is not known
  uint32_t line = 0;
};

/// An instruction, and who carried it out.
struct FindingSite {
  int64_t pc = 0;                   ///< bytes from the kernel's entry: less than 0 in functions that lie before it
  std::string symbol;               ///< "vector_add+0x80"
  std::string instruction;          ///< as LLVM writes it
  std::vector<SourceFrame> frames;  ///< the innermost inlined function first; empty without line tables
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;  ///< of the workgroup
  int lane = -1;      ///< -1: not about one lane
};

/// A tensor that a launch was given.
struct TensorLayout {
  std::string parameter;  ///< "c"; empty where it has no name
  uint32_t argument = 0;  ///< the parameter's index
  std::string dtype;      ///< "float32"
  uint32_t element_size = 0;
  uint64_t data = 0;    ///< the address of the first element
  AddressSpan storage;  ///< what kernels may touch of it
  std::vector<int64_t> shape, strides;

  /// The element at an address, which may lie outside of the shape, such as [64, 0] of [64, 500]; empty where there is
  /// none.
  std::vector<int64_t> index_of(uint64_t address) const;
};

/// An element of one.
struct TensorElement {
  TensorLayout tensor;
  std::vector<int64_t> index;  ///< may lie outside of the shape; empty: of none of its elements
};

/// The tensor that an access at an address was meant for, as far as one can tell.
std::optional<TensorElement> element_at(std::span<const TensorLayout> tensors, uint64_t address);

struct Finding {
  std::string tool;  ///< "memory"
  std::string kind;  ///< "out-of-bounds"
  std::string kernel;
  std::string message;  ///< a sentence without its end
  FindingSite at;
  std::optional<FindingSite> other;  ///< of what happened before, which it does not fit to
  std::optional<uint64_t> address;
  std::optional<TensorElement> tensor;
  uint64_t count = 1;  ///< how often: equal findings of a launch are one
};

/// What findings of different launches have in common that are one mistake.
using FindingKey = std::tuple<std::string, std::string, std::string, int64_t, int64_t, int64_t>;
FindingKey finding_key(const Finding& finding);

/// As a compiler's messages, several lines without an end: "file.hip:12: error: ... [memory:out-of-bounds]".
std::string finding_text(const Finding& finding);

/// As an object of JSON, on one line: docs/sanitize.md has the schema.
std::string finding_json(const Finding& finding);

}  // namespace wave

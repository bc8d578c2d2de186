// Which body carries out an instruction: the rows of a processor's table, bound to bodies once.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/bodies.h"
#include "emulator/isa/isa.h"
#include "emulator/processor.h"

namespace wave::emulator {

/// The bodies of a processor's instructions. Immutable once made.
class Bindings {
 public:
  /// Those of the instructions that are listed for a processor ("gfx942"), in waves of so many lanes.
  Bindings(const isa::InstructionSet& instruction_set, u32 lanes);

  /// Those of a processor for waves of so many lanes, which are made when they are first asked for. Thread-safe.
  static const Bindings& of(const ProcessorTraits& processor, u32 lanes);
  static const Bindings& of(const ProcessorTraits& processor) { return of(processor, processor.lanes); }

  const isa::InstructionSet& instruction_set() const { return instruction_set_; }

  /// The body of an instruction, or nullptr where it is not implemented. VOPD has none as a whole.
  const Body* find(const isa::Instruction& instruction) const;

  /// Those of the two halves of a row of VOPD.
  std::array<const Body*, 2> find_halves(const isa::Row& row) const;

  /// The bodies among which find() chooses, or find_halves().
  std::span<const Body> bodies_of(const isa::Row& row, size_t half = 0) const { return bound(row).bodies[half]; }

 private:
  struct Binding {
    std::array<std::span<const Body>, 2> bodies;           ///< the second: of VOPD's second half
    Variant (*choose)(const isa::Instruction&) = nullptr;  ///< where there are several
  };

  Binding bind(const isa::Row& row, std::span<const Body> bodies, Variant lanes) const;
  const Binding& bound(const isa::Row& row) const {
    return rows_[static_cast<size_t>(&row - instruction_set_.rows().data())];
  }

  const isa::InstructionSet& instruction_set_;
  std::vector<Binding> rows_;  ///< of the instruction set's rows
};

/// Why an instruction cannot run, or an empty text: what the coverage report lists.
std::string unsupported(const Bindings& bindings, const isa::Instruction& instruction);

}  // namespace wave::emulator

// The rules of "Manually Inserted Wait States" of the ISA documents, apart from those of matrix instructions' results,
// by the numbers that LLVM's hazard recognizer has: how many instructions must lie between two that share something.
#pragma once

#include <span>

#include "emulator/isa/isa.h"
#include "emulator/touched.h"
#include "emulator/wait_rules.h"

namespace wave::emulator {

struct WaitRule {
  /// What both must share.
  enum class Share : u8 {
    Nothing,   ///< what they are says it all: EXEC, M0
    Vector,    ///< a vector register that the first writes and the second reads
    Factor,    ///< ... and reads as a factor of matrices
    Result,    ///< ... that the first writes and the second reads or writes
    Other,     ///< ... where the second is not the same instruction again
    Data,      ///< ... that the first stores and the second writes
    Scalar,    ///< a scalar register that the first writes and the second reads
    Lane,      ///< ... reads as the number of a lane
    Hardware,  ///< the hardware register
  };
  /// What is counted between them.
  enum class Count : u8 { States, Vectors };

  const char* text;  ///< "a vector instruction writes EXEC before DPP"
  Share share;
  u32 states;
  Count count = Count::States;
};

std::span<const WaitRule> wait_rules();

/// The most that any rule asks for.
inline constexpr u32 kMostWaitStates = 6;

/// An instruction as the rules see it.
struct WaitRoles {
  WaitRules first = 0, second = 0;  ///< the rules whose first instruction it may be, and whose second
  RowSet stored{}, factors{};
  const isa::Row* row = nullptr;
  u32 lane_select = ~0u;  ///< the scalar register
  u32 hardware = ~0u;     ///< the hardware register
};

/// As far as `rules` have it.
WaitRoles wait_roles(const isa::Instruction& instruction, const Touched& touched, WaitRules rules);

/// Whether two instructions share what a rule is about.
bool is_shared(const WaitRule& rule, const Touched& first, const WaitRoles& first_roles, const Touched& second,
               const WaitRoles& second_roles);

}  // namespace wave::emulator

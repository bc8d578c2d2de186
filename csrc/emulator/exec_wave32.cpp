// Masks of 32 lanes in single registers (RDNA3 and RDNA4 ISA documents): the lower half of EXEC with another mask.
#include "emulator/bodies.h"
#include "emulator/scalar.h"

namespace wave::emulator {

namespace {

u32 exec32(const Wave& wave) { return wave.s[sreg::kExec]; }
void set_exec32(Wave& wave, u32 value) { write_scalar32(wave, sreg::kExec, value); }

u32 combine_and(u32 a, u32 exec) { return a & exec; }
u32 combine_or(u32 a, u32 exec) { return a | exec; }
u32 combine_xor(u32 a, u32 exec) { return a ^ exec; }
u32 combine_nand(u32 a, u32 exec) { return ~(a & exec); }
u32 combine_nor(u32 a, u32 exec) { return ~(a | exec); }
u32 combine_xnor(u32 a, u32 exec) { return ~(a ^ exec); }
u32 combine_and_not1(u32 a, u32 exec) { return a & ~exec; }
u32 combine_or_not1(u32 a, u32 exec) { return a | ~exec; }
u32 combine_and_not0(u32 a, u32 exec) { return ~a & exec; }
u32 combine_or_not0(u32 a, u32 exec) { return ~a | exec; }

/// Combines a mask with EXEC, and returns what EXEC was.
template <u32 (*kCombine)(u32, u32)>
u32 saveexec(u32 a, Wave& wave, bool& scc) {
  const u32 exec = exec32(wave);
  set_exec32(wave, kCombine(a, exec));
  scc = exec32(wave) != 0;
  return exec;
}
/// The same, but returns the new EXEC.
template <u32 (*kCombine)(u32, u32)>
u32 wrexec(u32 a, Wave& wave, bool& scc) {
  set_exec32(wave, kCombine(a, exec32(wave)));
  scc = exec32(wave) != 0;
  return exec32(wave);
}

constexpr Body kBodies[] = {
    {"s_and_saveexec_b32", scalar<saveexec<combine_and>>},
    {"s_or_saveexec_b32", scalar<saveexec<combine_or>>},
    {"s_xor_saveexec_b32", scalar<saveexec<combine_xor>>},
    {"s_nand_saveexec_b32", scalar<saveexec<combine_nand>>},
    {"s_nor_saveexec_b32", scalar<saveexec<combine_nor>>},
    {"s_xnor_saveexec_b32", scalar<saveexec<combine_xnor>>},
    {"s_and_not1_saveexec_b32", scalar<saveexec<combine_and_not1>>},
    {"s_or_not1_saveexec_b32", scalar<saveexec<combine_or_not1>>},
    {"s_and_not0_saveexec_b32", scalar<saveexec<combine_and_not0>>},
    {"s_or_not0_saveexec_b32", scalar<saveexec<combine_or_not0>>},
    {"s_and_not1_wrexec_b32", scalar<wrexec<combine_and_not1>>},
    {"s_and_not0_wrexec_b32", scalar<wrexec<combine_and_not0>>},
};

}  // namespace

std::span<const Body> wave32_bodies() { return kBodies; }

}  // namespace wave::emulator

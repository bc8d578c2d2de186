// A decoded instruction in the form in which it runs.
#pragma once

#include <string>

#include "emulator/wave.h"

namespace wave::emulator {

/// Runs one instruction for a wave and returns the next one, or nullptr where the wave stops (its status says why).
/// Throws Fault where the instruction cannot be carried out.
using Execute = const Op* (*)(Wave&, const Op*);

/// Where a vector source's rows are: tagged in the low two bits, since rows are aligned.
enum SourceTag : uintptr_t {
  kSourceRow = 0,       ///< byte offset from Wave::v
  kSourceConstant = 1,  ///< address of rows that the program owns
  kSourceScalar = 2,    ///< a scalar register or special value: Op::src says which
};

/// The part of a register that a source or a destination is (SDWA; OP_SEL of VOP3).
struct Select {
  u8 shift = 0;
  u8 bits = 32;
  bool sign = false;  ///< of a source: extended with its sign

  bool operator==(const Select&) const = default;
};

/// What becomes of the destination's bits outside of its selected part (DST_UNUSED of SDWA).
enum class Unused : u8 { Zero, SignExtended, Kept };

/// Modifiers of a vector instruction beyond plain operands. Present only where the instruction has any.
struct Modifiers {
  u8 negate = 0;       ///< bit i: source i (NEG; NEG_LO of VOP3P)
  u8 absolute = 0;     ///< bit i: source i (ABS)
  u8 negate_high = 0;  ///< VOP3P NEG_HI
  u8 op_sel = 0;       ///< VOP3P, bit i: source i
  u8 op_sel_hi = 7;
  u8 output = 0;  ///< OMOD: 0 none, 1: *2, 2: *4, 3: /2
  bool clamp = false;
  Select source[3];
  Select destination;
  Unused unused = Unused::Zero;
  bool dpp = false;  ///< source 0 comes from other lanes
  bool bound_ctrl = false;
  u8 row_mask = 0, bank_mask = 0;
  u16 dpp_ctrl = 0;

  bool operator==(const Modifiers&) const = default;
};

/// One micro-operation. The program holds one for each dword of code, so that `op + op->size` is the next instruction
/// and the address of an instruction follows from its place; those of an instruction's further dwords stay empty.
struct Op {
  Execute execute = nullptr;
  uintptr_t rows[3] = {0, 0, 0};  ///< vector sources, tagged with SourceTag
  const Op* target = nullptr;     ///< of a branch, where it lies in the same function
  const Modifiers* modifiers = nullptr;
  u16 src[3] = {0, 0, 0};  ///< source encodings: scalar registers, constants, 256 + n for vector registers
  u16 dst = 0;             ///< row index of the vector destination, or the scalar register
  u16 dst2 = 0;            ///< the scalar destination of an instruction that has both
  u8 size = 1;             ///< dwords
  u8 flags = 0;            ///< enum OpFlags
  u32 imm = 0;             ///< literal, offset or other immediate
};
static_assert(sizeof(Op) == 64);

/// The instruction that follows where none jumps.
inline const Op* next(const Op* op) { return op + op->size; }

/// The routine of what has no effect here: memory is in order and coherent, and time does not count.
inline const Op* nothing(Wave&, const Op* op) { return next(op); }

/// Stops the wave behind `op` with a status that says why. Running: because another way to run must be chosen.
inline const Op* stop(Wave& wave, const Op* op, Status status) {
  wave.status = status;
  wave.op = next(op);
  return nullptr;
}

/// In Op::src: the instruction has no such operand ("off").
inline constexpr u16 kNoOperand = 0xffff;

enum OpFlags : u8 {
  kReturns = 1,        ///< an atomic that returns the old value
  kIndexEnabled = 2,   ///< IDXEN: the first address row has indices
  kOffsetEnabled = 4,  ///< OFFEN: the next one has offsets
  kToLds = 8,          ///< a buffer load whose data goes to LDS
  kSkippable = 16,     ///< a vector or LDS instruction: not carried out while MODE.VSKIP is set
  kIndexable = 32,     ///< a vector ALU instruction: MODE.GPR_IDX_EN makes its registers relative to M0
};

/// Places in Wave::s that no operand code names: where null drops what is written (a load of 16 dwords at most), and
/// where a routine leaves a mask of 64 lanes of which a wave of 32 keeps the low half.
inline constexpr u16 kDiscarded = 210, kMaskSlot = 226;

/// In Modifiers::dpp_ctrl: lanes that are not enabled may be read (FI).
inline constexpr u16 kDppFetchInactive = 1u << 15;

/// SIMD levels of the host that the vector routines are compiled for. All give the same bits.
enum class SimdLevel { Portable, Avx2, Avx512 };

/// The best level of this host, or the one that WAVE_RUNTIME_SIMD=portable|avx2|avx512 names (read once).
SimdLevel simd_level();

/// Why an instruction could not be carried out. Thrown by bodies, caught by the dispatch, which adds where it happened.
struct Fault {
  std::string reason;
  int lane = -1;  ///< -1: not about one lane
  bool has_address = false;
  u64 address = 0;
};

/// Throws Fault: for bodies, out of line so that they stay small.
[[noreturn]] void fault(std::string reason, int lane = -1);
[[noreturn]] void fault_at(std::string reason, int lane, u64 address);
/// Throws Fault where the wave has no vector register of this number, which is relative to M0.
void check_relative_register(const Wave& wave, u64 number);

}  // namespace wave::emulator

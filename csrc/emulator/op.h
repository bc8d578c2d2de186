// A decoded instruction in the form in which it runs.
#pragma once

#include <string>

#include "emulator/wave.h"

namespace wave::emulator {

/// Runs an instruction for a wave, with those behind it that go_on() says, and returns the next one, or nullptr where
/// the wave stops (its status says why). Throws Fault where one, Wave::op, cannot be carried out.
using Execute = const Op* (*)(Wave&, const Op*);

/// Where a vector source's rows are: tagged in the low two bits, since rows are aligned.
enum SourceTag : uintptr_t {
  kSourceRow = 0,       ///< byte offset from Wave::v
  kSourceConstant = 1,  ///< address of rows that the program owns
  kSourceScalar = 2,    ///< a scalar register or special value: VectorOperands::src says which
};

/// The part of a register that a source or a destination is (SDWA; OP_SEL of VOP3).
struct Select {
  u8 shift = 0;
  u8 bits = 32;
  bool sign = false;  ///< of a source: extended with its sign

  /// Half of it, as it is.
  bool is_half() const { return bits == 16 && !sign; }

  bool operator==(const Select&) const = default;
};

/// What becomes of the destination's bits outside of its selected part (DST_UNUSED of SDWA).
enum class Unused : u8 { Zero, SignExtended, Kept };

/// DPP: where each lane has source 0 from.
struct LaneMoves {
  LaneRow source;               ///< the number of a lane; the lane's own where it has none
  LaneRow exists;               ///< ~0 where it has one
  LaneRow written;              ///< ~0 in the rows and banks that are not masked out
  bool within_rows = true;      ///< none is of another row of 16 lanes
  bool reads_disabled = false;  ///< FI: a lane that is not enabled may be read
  bool bound_ctrl = false;      ///< without a source, or where that is disabled, zero counts; else nothing is written
};

/// What modifiers ask for.
enum ModifierAsks : u8 {
  kHalfOfSource = 1,     ///< with the next two bits, for the other sources: half of a register
  kKeepsHalf = 8,        ///< half of the destination is written, and the other one left as it is
  kChangesSources = 16,  ///< signs of floats, halves of packed sources
  kClamps = 32,
  kAsksMore = 64,  ///< anything else
};

/// Modifiers of a vector instruction beyond plain operands. Present only where the instruction has any.
struct Modifiers {
  u8 negate = 0;       ///< bit i: source i (NEG; NEG_LO of VOP3P)
  u8 absolute = 0;     ///< bit i: source i (ABS)
  u8 negate_high = 0;  ///< VOP3P NEG_HI
  u8 op_sel = 0;       ///< VOP3P, bit i: source i; OP_SEL of VOP3 where a body asks for it; the table of V_BITOP3
  u8 op_sel_hi = 7;
  u8 output = 0;               ///< OMOD: 0 none, 1: *2, 2: *4, 3: /2
  bool scales_always = false;  ///< OMOD counts whatever MODE says of denormals
  bool clamp = false;
  Select source[3];
  Select destination;
  Unused unused = Unused::Zero;
  const LaneMoves* moves = nullptr;  ///< DPP: source 0 comes from other lanes
  u8 asks = 0;                       ///< enum ModifierAsks

  /// By which OMOD multiplies.
  f64 factor() const {
    constexpr f64 kFactors[] = {1, 2, 4, 0.5};
    return kFactors[output];
  }

  bool operator==(const Modifiers&) const = default;
};

/// Instead of a register: the instruction has no such operand ("off").
inline constexpr u16 kNoOperand = 0xffff;

// The operands of an operation as the translation leaves them and bodies find them: a view for each family. Scalar
// registers are named by their codes, and so are sources that may be constants; vector registers by their rows in the
// wave's file.

/// Scalar ALU and program flow.
struct ScalarOperands {
  const Op* target;  ///< of a branch, where it lies in the same function
  u32 literal;       ///< the literal, or else SIMM16 with its sign: what sources at sreg::kLiteral are
  u16 src[3];        ///< codes
  u16 dst;
  u16 simm16;  ///< of a hardware register, or a message, as it stands
};

/// Scalar memory.
struct ScalarMemoryOperands {
  i32 offset;
  u16 base;             ///< the first register of an address or a descriptor
  u16 offset_register;  ///< a code, or kNoOperand
  u16 data;             ///< the first register that is loaded, stored or exchanged
  bool returns;         ///< an atomic that returns the old value
};

/// Vector ALU, with exchanges between lanes. A destination that is read as well is the last source.
struct VectorOperands {
  uintptr_t rows[3];           ///< sources, tagged with SourceTag
  const Modifiers* modifiers;  ///< nullptr where the instruction has none
  u32 literal;                 ///< what sources at sreg::kLiteral are
  u16 src[3];                  ///< codes, 256 + n for row n
  u16 dst;                     ///< a row
  u16 scalar_dst;              ///< of a mask of lanes: its lower half
  u16 mask_high;               ///< the upper half's register; kDiscarded in waves of 32 lanes
};

/// Matrix products.
struct MatrixOperands {
  uintptr_t rows[3];  ///< of A, B and C, tagged as in VectorOperands: C may be a constant; of sparse products the
                      ///< third is the indices
  u16 dst;
  u8 cbsz, abid, blgp;             ///< zero where the instruction has none
  u16 scales[2];                   ///< of products of scaled blocks: rows with those of A and B
  u8 scale_bytes[2];               ///< ... and in which byte
  u8 negate, negate_high, op_sel;  ///< of VOP3P, bit i: source i
  bool clamp;
};

/// The two halves of VOPD.
struct DualOperands {
  const Op* parts;  ///< two operations on VectorOperands, in the order in which they run
};

/// FLAT, GLOBAL and SCRATCH.
struct FlatOperands {
  i32 offset;
  u16 address;   ///< kNoOperand: none
  u16 base;      ///< a scalar register, or kNoOperand
  u16 data;      ///< what is stored, or an atomic's operands, one behind the other
  u16 dst;       ///< what is loaded or returned
  bool returns;  ///< an atomic that returns the old value
};

/// DS.
struct LdsOperands {
  u16 address;    ///< kNoOperand: none
  u16 data[2];    ///< of forms with two addresses one for each; of exchanges what is stored, then what is compared
  u16 dst;        ///< of forms with two addresses the second result lies behind the first
  u16 offset[2];  ///< the second of forms with two addresses; there they count elements, else bytes
  bool returns;   ///< there is a dst
};

/// MUBUF and MTBUF.
struct BufferOperands {
  u32 offset;
  u16 address;        ///< the index, if there is one, and the offset behind it
  u16 scalar_offset;  ///< a code
  u16 descriptor;     ///< the first of four registers
  u16 data;           ///< what is loaded, stored or exchanged
  u8 data_format, number_format;
  u8 format;            ///< ... which since GFX10 is one number
  bool has_format;      ///< of its own; else the descriptor says it
  bool index_enabled;   ///< IDXEN
  bool offset_enabled;  ///< OFFEN
  bool to_lds;          ///< a load whose data goes to LDS
  bool returns;         ///< an atomic that returns the old value
};

/// What an operation is to those who run waves: to observers, and where MODE or a turn's end asks for a look at it.
enum OpFlags : u8 {
  kSkippable = 1,     ///< a vector or LDS instruction: not carried out while MODE.VSKIP is set
  kIndexable = 2,     ///< a vector ALU instruction: MODE.GPR_IDX_EN makes its registers relative to M0
  kMakesFloats = 4,   ///< of vectors or matrices
  kSignals = 8,       ///< a signal of a split barrier
  kMovesMemory = 16,  ///< memory, LDS, caches, and what waits for them
  kWaits = 32,        ///< what waits for them alone
  kEveryOp = 64,      ///< any
  kNamesLanes = 128,  ///< of a lane by its number, which is in a register
};
/// Of Op::behind: how large the operation itself is, if it is not of one dword.
inline constexpr u16 kOfTwoDwords = 256, kOfMoreDwords = 512, kSizes = kOfTwoDwords | kOfMoreDwords;
/// ... and of an operation that none follows: such as what stands behind a function's last instruction, and goes on
/// with the next function.
inline constexpr u16 kNothingBehind = 0xffff;
constexpr u16 size_flag(u8 dwords) { return dwords == 1 ? 0 : dwords == 2 ? kOfTwoDwords : kOfMoreDwords; }

/// One micro-operation. The program holds one for each dword of code, so that `op + op->size` is the next instruction
/// and the address of an instruction follows from its place; those of an instruction's further dwords stay empty.
struct Op {
  Execute execute = nullptr;
  union {
    VectorOperands vector{};
    ScalarOperands scalar;
    ScalarMemoryOperands scalar_memory;
    MatrixOperands matrix;
    DualOperands dual;
    FlatOperands flat;
    LdsOperands lds;
    BufferOperands buffer;
  };
  u8 size = 1;                  ///< dwords
  u8 flags = kEveryOp;          ///< enum OpFlags
  u16 behind = kNothingBehind;  ///< flags of the operation that follows, and how far behind that is
  u32 number = 0;               ///< of its function's operations; that of the following one is greater by one
};
static_assert(sizeof(Op) == 64);

/// The instruction that follows where none jumps. By branches, which hosts predict: an address that is computed of what
/// was loaded is known so late that every instruction waits for it.
inline const Op* next(const Op* op) {
  const Op* following = op + 1;
  if (op->size != 1) {
    following = op + 2;
    if (op->size != 2) [[unlikely]]
      following = op + op->size;
    asm("" : "+r"(following));  // else compilers compute it
  }
  return following;
}

/// Whether compilers make a jump of a call that is a function's last step: not without optimization, and not under
/// sanitizers.
#ifdef WAVE_WITHOUT_TAIL_CALLS
inline constexpr bool kJumps = false;
#else
inline constexpr bool kJumps = true;
#endif

/// Carries out what follows where none jumps, as a body's last step, and so on. Who runs the wave is returned to before
/// an operation with flags of Wave::returns_at, and behind a body that returns next(op) instead: as do those that keep
/// much on the host's stack, from where such a call may not be a jump.
[[gnu::always_inline]] inline const Op* go_on(Wave& wave, const Op* op) {
  if constexpr (!kJumps) return next(op);
  const u32 asks = op->behind & wave.returns_at;
  const Op* following = op + 1;
  if (asks != 0) {
    following = op + 2;
    if (asks != kOfTwoDwords) {
      following = op + op->size;
      if (asks != kOfMoreDwords) return following;
    }
    asm("" : "+r"(following));  // as next()
  }
  wave.op = following;
  return following->execute(wave, following);
}

/// The same for a jump, at which a wave's turn may end: the code between two is short.
[[gnu::always_inline]] inline const Op* go_to(Wave& wave, const Op* op, const Op* target) {
  wave.end += i64{target->number} - i64{op->number} - 1;
  if (!kJumps || (target->flags & wave.returns_at) != 0 || target->number >= wave.end) [[unlikely]]
    return target;
  wave.op = target;
  return target->execute(wave, target);
}

/// While it lives, operations return to those who carry them out.
class Singly {
 public:
  explicit Singly(Wave& wave) : wave_(wave), returns_at_(wave.returns_at) { wave.returns_at = kEveryOp; }
  ~Singly() { wave_.returns_at = returns_at_; }
  Singly(const Singly&) = delete;
  Singly& operator=(const Singly&) = delete;

 private:
  Wave& wave_;
  const u16 returns_at_;
};

/// The routine of what has no effect here: memory is in order and coherent, and time does not count.
inline const Op* nothing(Wave& wave, const Op* op) { return go_on(wave, op); }

/// Stops the wave behind `op` with a status that says why. Running: because another way to run must be chosen.
inline const Op* stop(Wave& wave, const Op* op, Status status) {
  wave.status = status;
  wave.op = next(op);
  return nullptr;
}

/// A place in Wave::s that no operand code names: what is written to null is dropped there (a load of 16 dwords at
/// most), and so is the upper half of a mask of 32 lanes.
inline constexpr u16 kDiscarded = 210;

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
  const char* kind = "fault";  ///< of an access, as findings call it
};

/// Throws Fault: for bodies, out of line so that they stay small.
[[noreturn]] void fault(std::string reason, int lane = -1);
[[noreturn]] void fault_at(std::string reason, int lane, u64 address, const char* kind = "fault");
/// Throws Fault where the wave has no vector register of this number, which is relative to M0.
void check_relative_register(const Wave& wave, u64 number);

}  // namespace wave::emulator

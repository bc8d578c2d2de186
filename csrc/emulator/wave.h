// The state of one wave: registers, modes and where it stands in the program.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace wave::emulator {

using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using f32 = float;
using f64 = double;

/// As a 64-bit number.
constexpr u64 sign_extend(u32 value) { return static_cast<u64>(static_cast<i64>(static_cast<i32>(value))); }

inline constexpr int kLanes = 64;  ///< lanes that every register row has; waves of 32 leave the upper half disabled
inline constexpr int kHalfLanes = kLanes / 2;

/// In a mask of lanes.
constexpr u64 lane_bit(int lane) { return u64{1} << lane; }

/// One vector register: a dword for each lane.
struct alignas(64) LaneRow {
  u32 lane[kLanes];
};

/// What registers, LDS and scratch begin with. Hardware leaves them as they were. A quiet NaN in every float type,
/// which is also a far address and a large negative integer, makes a kernel that reads them before writing them fail
/// here.
inline constexpr u32 kPoison = 0xfff7fff7;

/// Scalar operand encodings (ISA document, "Scalar Operands"). The scalar register array is indexed by them.
namespace sreg {
inline constexpr u32 kFlatScratch = 102, kXnackMask = 104, kVcc = 106, kTtmp0 = 108, kM0 = 124, kExec = 126;
inline constexpr u32 kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237, kPrivateLimit = 238,
                     kPopsExitingWaveId = 239;
inline constexpr u32 kVccz = 251, kExecz = 252, kScc = 253, kLiteral = 255, kVgpr0 = 256;
}  // namespace sreg

/// Generic addresses of LDS and scratch. Not canonical on any host, so they never meet a tensor's address.
inline constexpr u64 kSharedAperture = 0x0001'0000'0000'0000;
inline constexpr u64 kPrivateAperture = 0x0002'0000'0000'0000;
inline constexpr u64 kApertureSize = u64{1} << 32;

/// Where buffer instructions find a wave's scratch, swizzled by lanes: an address that fits into a descriptor and is in
/// the upper half of the address space, which programs have no memory in.
inline constexpr u64 kScratchWindow = 0x0000'8000'0000'0000;

/// The MODE register (ISA document, "Mode Register"), as raw bits and by field.
struct Mode {
  u32 bits = 0;

  u32 round32() const { return bits & 3; }
  u32 round16_64() const { return bits >> 2 & 3; }
  u32 denorm32() const { return bits >> 4 & 3; }  ///< bit 0: inputs are kept, bit 1: outputs are kept
  u32 denorm16_64() const { return bits >> 6 & 3; }
  bool dx10_clamp() const { return bits >> 8 & 1; }
  bool ieee() const { return bits >> 9 & 1; }
  bool fp16_ovfl() const { return bits >> 23 & 1; }  ///< overflow to f16, FP8 and BF8 gives the largest finite value
  bool gpr_index() const { return bits & kGprIndex; }
  bool skip_vector() const { return bits & kSkipVector; }

  static constexpr u32 kGprIndex = 1u << 27, kSkipVector = 1u << 28;
  static constexpr u32 kStackShift = 29;  ///< of CSP, the depth of the stack of forks
};

/// Reasons for which a vector instruction cannot take the direct path over register rows. An instruction tests those
/// that concern it against Wave::special.
enum Special : u32 {
  kSpecialF32 = 1,  ///< f32 rounding or denormal mode differs from "nearest, denormals kept"
  kSpecialF64 = 2,  ///< the same for f16 and f64
};

enum class Status : u8 {
  Running,
  Barrier,  ///< waits at s_barrier
  Paused,   ///< its turn is over
  Yielded,  ///< the same, at s_sleep: it waits for others
  Ended,
};

struct Op;
class TranslatedFunction;
class Workgroup;

struct Wave {
  Wave() {}  // not defaulted: lists of waves would be filled with zeros first, rows of temporary values included

  LaneRow* v = nullptr;     ///< vector registers: vgpr_count rows, then agpr_count rows; owned by the workgroup
  LaneRow exec_lanes{};     ///< EXEC with a lane's bit spread over its dword: 0 or ~0
  u64 spread_exec = 0;      ///< ... and as the mask that was spread
  u32 plain_lanes[4] = {};  ///< by what of `special` concerns an instruction: `lanes` where EXEC enables all of them
                            ///< and MODE asks for nothing of that, else 0
  LaneRow temp[3][2];       ///< operands that are not rows of the register file; see vector.inl
  LaneRow temp_exec;        ///< EXEC as it was, less the lanes that DPP disables
  LaneRow temp_result[4];   ///< a result before its modifiers are applied
  LaneRow temp_mask;        ///< VCC, spread over the lanes
  u32 s[256];               ///< scalar registers and, from 128 on, the inline constants as 32-bit values
  bool scc = false;
  Mode mode;
  u32 special = 0;

  const Op* op = nullptr;   ///< the instruction that runs, or where a stopped wave goes on
  i64 end = 0;              ///< of its turn: the number (Op::number) of the instruction that jumps no longer go to
  u16 returns_at = 0xffff;  ///< of Op::behind: OpFlags of instructions that others do not go on to, and sizes
  Status status = Status::Running;
  u32 vgpr_count = 0;
  u32 agpr_count = 0;
  u32 sgpr_count = 0;  ///< s0 up to here may be named
  u32 index = 0;       ///< within the workgroup
  u32 lanes = kLanes;  ///< 32 or 64
  u64 instructions = 0;
  u64 grid_barrier = 0;          ///< at which it waits; 0: at none
  bool is_past_barrier = false;  ///< a split barrier is over, for which the wave has not waited yet
  Workgroup* group = nullptr;
  const TranslatedFunction* function = nullptr;  ///< that `op` belongs to
  u8* scratch = nullptr;                         ///< scratch_size bytes for each lane, one lane after another
  u32 scratch_size = 0;
  u32 scratch_poisoned = 0;  ///< bytes of each lane's scratch: as many as were accessed, or more
  u32 scratch_ready = 0;     ///< ... of those that may be accessed without anybody being told

  u64 pair(u32 reg) const { return u64{s[reg + 1]} << 32 | s[reg]; }
  /// In waves of 32 lanes EXEC_HI enables nothing, and is a register like others: so LLVM (SIRegisterInfo.cpp,
  /// getReservedRegs) and Mesa's ACO (aco_optimizer_postRA.cpp) take it to be.
  u64 exec() const { return spread_exec; }
  u64 vcc() const { return pair(sreg::kVcc); }
  u64 all_lanes() const { return ~u64{0} >> (kLanes - lanes); }  ///< as a lane mask

  void set_pair(u32 reg, u64 value) {
    s[reg] = static_cast<u32>(value);
    s[reg + 1] = static_cast<u32>(value >> 32);
  }
  void set_exec(u64 value) {
    s[sreg::kExec] = static_cast<u32>(value);
    if (lanes == kLanes) s[sreg::kExec + 1] = static_cast<u32>(value >> 32);
    enable(value);
  }
  /// To be called with what was written to EXEC's registers. They are not read: of two halves that were stored one
  /// after the other the host would wait for both.
  void enable(u64 value) {
    value &= all_lanes();
    if (value == spread_exec) return;
    spread_exec = value;
    find_plain_lanes();
    spread(value, exec_lanes);
  }
  /// Writes a lane mask to scalar registers, VCC and EXEC included: one register for each half.
  void set_mask(u32 low, u32 high, u64 value) {
    s[low] = static_cast<u32>(value);
    s[high] = static_cast<u32>(value >> 32);
    if (low == sreg::kExec) enable(value);
  }
  void set_mask(u32 reg, u64 value) { set_mask(reg, reg + 1, value); }
  void set_mode(u32 bits) {
    mode.bits = bits;
    special = 0;
    if (mode.round32() != 0 || mode.denorm32() != 3) special |= kSpecialF32;
    if (mode.round16_64() != 0 || mode.denorm16_64() != 3) special |= kSpecialF64;
    find_plain_lanes();
  }
  void find_plain_lanes() {
    const u32 full = spread_exec == all_lanes() ? lanes : 0;
    for (u32 concerns = 0; concerns < std::size(plain_lanes); ++concerns)
      plain_lanes[concerns] = (special & concerns) == 0 ? full : 0;
  }

  /// Whether MODE asks for more than to carry out one instruction after the other; see step.h.
  bool runs_singly() const { return mode.gpr_index() || mode.skip_vector(); }

  /// The address of an instruction of the current function.
  u64 address(const Op* at) const;
  /// The instruction at an address anywhere in the code object. Throws Fault where there is no code.
  const Op* jump(u64 address);

  // A table, since not every host shifts each element of a vector by another count.
  static constexpr std::array<u32, 32> kBits = [] {
    std::array<u32, 32> bits{};
    for (u32 i = 0; i < 32; ++i) bits[i] = 1u << i;
    return bits;
  }();

  /// A lane mask as a row: 0 or ~0 for each lane.
  static void spread(u64 mask, LaneRow& row) {
    const u32 low = static_cast<u32>(mask), high = static_cast<u32>(mask >> 32);
    for (int i = 0; i < 32; ++i) row.lane[i] = (low & kBits[i]) == kBits[i] ? ~0u : 0;
    for (int i = 0; i < 32; ++i) row.lane[32 + i] = (high & kBits[i]) == kBits[i] ? ~0u : 0;
  }
};

}  // namespace wave::emulator

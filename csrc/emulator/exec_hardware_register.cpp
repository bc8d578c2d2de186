// Hardware registers, MODE above all, and the instructions that change its ways to run vector instructions (ISA
// document, "Hardware Registers", "VGPR Indexing", "S_SETVSKIP").
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Changes MODE. VSKIP and GPR indexing make a wave run one instruction at a time, so it is stopped where that changes.
const Op* set_mode(Wave& wave, const Op* op, u32 bits) {
  const bool singly = wave.runs_singly();
  wave.set_mode(bits);
  return wave.runs_singly() == singly ? go_on(wave, op) : stop(wave, op, Status::Running);
}

enum Register : u32 { kMode = 1, kStatus = 2, kHwId = 4, kShMemBases = 15, kXccId = 20 };

/// Of the flags, those that a running wave can have.
u32 status_register(const Wave& wave) {
  const u32 in_workgroup = wave.group->launch().waves > 1, valid = 1;
  return u32{wave.scc} | u32{wave.exec() == 0} << 9 | u32{wave.vcc() == 0} << 10 | in_workgroup << 11 | valid << 16;
}

// Where a wave runs on the device that this stands in for: workgroups go to the dies (XCC) in turn, and there to the
// shader engines and their compute units; the waves of one to the SIMDs.
const ProcessorTraits& processor(const Wave& wave) { return wave.group->launch().module.processor(); }

u32 xcc_id(const Wave& wave) { return static_cast<u32>(wave.group->number() % processor(wave).dies); }

u32 hw_id(const Wave& wave) {
  const ProcessorTraits& traits = processor(wave);
  const u64 within_die = wave.group->number() / traits.dies;
  const u32 engine = static_cast<u32>(within_die % traits.engines);
  const u32 compute_unit = static_cast<u32>(within_die / traits.engines % traits.units_per_engine);
  const u32 simds = traits.limits.simds;
  return wave.index / simds % 16 | wave.index % simds << 4 | compute_unit << 8 | engine << 13;
}

/// The upper 16 bits of the addresses of scratch and LDS.
constexpr u32 kApertures = static_cast<u32>(kPrivateAperture >> 48) | static_cast<u32>(kSharedAperture >> 48) << 16;

/// Registers without a state here read as zero.
u32 read_register(const Wave& wave, u32 number) {
  switch (number) {
    case kMode:
      return wave.mode.bits;
    case kStatus:
      return status_register(wave);
    case kHwId:
      return hw_id(wave);
    case kShMemBases:
      return kApertures;
    case kXccId:
      return xcc_id(wave);
    default:
      return 0;
  }
}

/// SIMM16 of S_GETREG and S_SETREG.
struct RegisterField {
  explicit RegisterField(u32 simm16)
      : number(simm16 & 63), low(simm16 >> 6 & 31), mask((u64{2} << (simm16 >> 11 & 31)) - 1) {}

  u32 number;
  u32 low;
  u64 mask;  ///< before it is shifted to its place
};

const Op* s_getreg_b32(Wave& wave, const Op* op) {
  const RegisterField field(op->scalar.simm16);
  write_scalar32(wave, op->scalar.dst, static_cast<u32>(read_register(wave, field.number) >> field.low & field.mask));
  return go_on(wave, op);
}

/// Writes to other registers than MODE have no effect.
const Op* set_register(Wave& wave, const Op* op, u32 value, u32 writable = ~0u) {
  const RegisterField field(op->scalar.simm16);
  if (field.number != kMode) return go_on(wave, op);
  const u32 mask = static_cast<u32>(field.mask << field.low) & writable;
  return set_mode(wave, op, (wave.mode.bits & ~mask) | (value << field.low & mask));
}

const Op* s_setreg_b32(Wave& wave, const Op* op) { return set_register(wave, op, read_scalar32(wave, op->scalar, 1)); }
const Op* s_setreg_imm32_b32(Wave& wave, const Op* op) { return set_register(wave, op, op->scalar.literal); }

// Since GFX10: of MODE rounding, denormals, FP16_OVFL, and before GFX12 DX10_CLAMP and IEEE have an effect; where a
// wave runs is in HW_ID1.

u32 known_mode(const Wave& wave) { return processor(wave).has_ieee_mode ? 0x008003ffu : 0x008000ffu; }

u32 hw_id1(const Wave& wave) {
  const ProcessorTraits& traits = processor(wave);
  const u32 simds = traits.limits.simds, engine = static_cast<u32>(wave.group->number() % traits.engines);
  const u32 pair = static_cast<u32>(wave.group->number() / traits.engines % traits.units_per_engine / 2);
  return wave.index / simds % 32 | wave.index % simds << 8 | (pair & 15) << 10 | engine << 18;
}

const Op* getreg_mode(Wave& wave, const Op* op) {
  const RegisterField field(op->scalar.simm16);
  write_scalar32(wave, op->scalar.dst, static_cast<u32>((wave.mode.bits & known_mode(wave)) >> field.low & field.mask));
  return go_on(wave, op);
}
const Op* setreg_mode(Wave& wave, const Op* op) {
  return set_register(wave, op, read_scalar32(wave, op->scalar, 1), known_mode(wave));
}
const Op* setreg_mode_imm32(Wave& wave, const Op* op) {
  return set_register(wave, op, op->scalar.literal, known_mode(wave));
}

/// Exceptions, which there are none of, and the like read as zero, and keep no value.
const Op* getreg_other(Wave& wave, const Op* op) {
  constexpr u32 kHwId1 = 23;
  const RegisterField field(op->scalar.simm16);
  const u32 value = field.number == kHwId1                                     ? hw_id1(wave)
                    : field.number == kStatus && processor(wave).has_ieee_mode ? status_register(wave)
                                                                               : 0;
  write_scalar32(wave, op->scalar.dst, static_cast<u32>(value >> field.low & field.mask));
  return go_on(wave, op);
}
const Op* setreg_other(Wave& wave, const Op* op) { return go_on(wave, op); }

/// FLAT_SCR_LO and FLAT_SCR_HI: scratch is addressed as if they always were what the kernel was given for them.
const Op* keep_scratch(Wave& wave, const Op* op) { return go_on(wave, op); }

const Op* s_setvskip(Wave& wave, const Op* op) {
  const bool skips = read_scalar32(wave, op->scalar, 0) >> (read_scalar32(wave, op->scalar, 1) & 31) & 1;
  return set_mode(wave, op, (wave.mode.bits & ~Mode::kSkipVector) | (skips ? Mode::kSkipVector : 0));
}

// M0 has the index in its low byte, and in bits 12 to 15 which operands it is for.
void set_index(Wave& wave, u32 index) { wave.s[sreg::kM0] = (wave.s[sreg::kM0] & ~0xffu) | (index & 0xff); }
void set_indexed_operands(Wave& wave, u32 operands) {
  wave.s[sreg::kM0] = (wave.s[sreg::kM0] & ~0xf000u) | (operands & 15) << 12;
}

const Op* s_set_gpr_idx_on(Wave& wave, const Op* op) {
  set_index(wave, read_scalar32(wave, op->scalar, 0));
  set_indexed_operands(wave, op->scalar.simm16);
  return set_mode(wave, op, wave.mode.bits | Mode::kGprIndex);
}
const Op* s_set_gpr_idx_off(Wave& wave, const Op* op) { return set_mode(wave, op, wave.mode.bits & ~Mode::kGprIndex); }
const Op* s_set_gpr_idx_mode(Wave& wave, const Op* op) {
  set_indexed_operands(wave, op->scalar.simm16);
  return go_on(wave, op);
}
const Op* s_set_gpr_idx_idx(Wave& wave, const Op* op) {
  set_index(wave, read_scalar32(wave, op->scalar, 0));
  return go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"s_getreg_b32", s_getreg_b32},
    {"s_setreg_b32", s_setreg_b32},
    {"s_setreg_imm32_b32", s_setreg_imm32_b32},
    {"s_getreg_b32_gfx11", getreg_mode, Variant::ModeField},
    {"s_getreg_b32_gfx11", getreg_other, Variant::Other},
    {"s_setreg_b32_gfx11", setreg_mode, Variant::ModeField},
    {"s_setreg_b32_gfx11", setreg_other, Variant::Other},
    {"s_setreg_b32_gfx10", setreg_mode, Variant::ModeField},
    {"s_setreg_b32_gfx10", setreg_other, Variant::Other},
    {"s_setreg_b32_gfx10", keep_scratch, Variant::FlatScratch},
    {"s_setreg_imm32_b32_gfx11", setreg_mode_imm32, Variant::ModeField},
    {"s_setreg_imm32_b32_gfx11", setreg_other, Variant::Other},
    {"s_setvskip", s_setvskip},
    {"s_set_gpr_idx_on", s_set_gpr_idx_on},
    {"s_set_gpr_idx_off", s_set_gpr_idx_off},
    {"s_set_gpr_idx_mode", s_set_gpr_idx_mode},
    {"s_set_gpr_idx_idx", s_set_gpr_idx_idx},
};

}  // namespace

std::span<const Body> hardware_register_bodies() { return kBodies; }

}  // namespace wave::emulator

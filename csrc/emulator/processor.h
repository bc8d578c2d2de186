// The processors that the emulator runs, and the figures in which they differ beyond their instructions.
#pragma once

#include <span>
#include <string_view>

#include "code_object/target.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// What the core must know of a processor. Register rows have kLanes lanes for all of them: a wave of 32 lanes leaves
/// the upper half disabled. Numbers of registers are in the kernel descriptor, limits of LDS and residency in
/// ProcessorLimits, operand codes in isa::ScalarCodes.
struct ProcessorTraits {
  const char* name;
  u32 lanes;          ///< of a wave: 64, or 32, where masks of lanes are single registers
  u32 compute_units;  ///< of the device that it stands in for; bounds how many workgroups are under way at once
  u32 max_scratch;    ///< bytes that a lane can have
  bool flat_scratch_in_sgprs;  ///< s[102:103] begin as FLAT_SCRATCH
  bool ids_in_ttmp;            ///< workgroup ids come in TTMP9 (x) and TTMP7 (y and z), not behind the user SGPRs
  bool has_ieee_mode;          ///< MODE has IEEE and DX10_CLAMP; else clamping makes 0 of NaN, and minima ignore NaN
  bool keeps_other_half;       ///< results of 16 bits keep the other half of their register, others clear it
};

/// The processor that runs code for a target: the target's own, or one that a generic target covers; nullptr where the
/// emulator does not run such code.
const ProcessorTraits* find_processor_for(const Target& code);

/// All of them, the one that code is usually built for first.
std::span<const ProcessorTraits> all_processors();

}  // namespace wave::emulator

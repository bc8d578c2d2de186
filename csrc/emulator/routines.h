// Which routine carries out an instruction. The routines have the names of gfx942's instructions; later generations
// call some of these by other names, and have some of their own.
#pragma once

#include <string_view>

#include "emulator/isa/isa.h"
#include "emulator/op.h"

namespace wave::emulator {

/// Places in Wave::s that no operand code names: where null drops what is written (a load of 16 dwords at most), and
/// where a routine leaves a mask of 64 lanes of which a wave of 32 keeps the low half.
inline constexpr u16 kDiscarded = 210, kMaskSlot = 226;

/// In Modifiers::dpp_ctrl: lanes that are not enabled may be read (FI).
inline constexpr u16 kDppFetchInactive = 1u << 15;

/// The routine of an instruction, or nullptr where there is none that is known to do the same. VOPD has none as a
/// whole, see dual_routine().
Execute find_routine(const isa::Instruction& instruction);

/// The routine of one half of a VOPD instruction, by its mnemonic ("v_dual_mul_f32").
Execute dual_routine(isa::Generation generation, std::string_view mnemonic);

/// The two mnemonics of a VOPD instruction.
struct DualNames {
  std::string_view first, second;
};
DualNames dual_names(const isa::Row& row);

/// Whether the routine writes a mask of lanes to a scalar register, or to EXEC (v_cmpx of GFX11 and later).
bool writes_mask(const isa::Row& row);

}  // namespace wave::emulator

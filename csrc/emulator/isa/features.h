// In what families of processors differ, beyond the instructions they have and where fields stand: an entry for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "emulator/isa/isa.h"

namespace wave::isa {

/// Codes of scalar operands that differ.
struct ScalarCodes {
  uint32_t sgprs;  ///< s0 to the one before; where FLAT_SCRATCH follows, a tuple of four or more may reach into it
  uint32_t m0;
  uint32_t null;  ///< reads as zero, and drops what is written, where there is one; else nothing is at this code
  uint32_t off;   ///< of SADDR: none
};

/// Where S_WAITCNT says how much may be outstanding: the lowest bit and the width.
struct PackedWaits {
  uint8_t loads, loads_width;    ///< of vector memory
  uint8_t others, others_width;  ///< of LDS and scalar memory
  uint8_t high_loads;            ///< the lowest of two further bits of vector memory's; 0: there are none
};

struct Features {
  ScalarCodes codes;
  bool has_null;
  bool flat_scratch_in_sgprs;  ///< FLAT_SCRATCH and XNACK_MASK are scalar registers, behind the SGPRs
  bool has_sdwa;               ///< 249 in SRC0 announces SDWA
  bool has_dpp8;               ///< 233 and 234 in SRC0 announce DPP8
  bool dpp_crosses_rows;       ///< DPP has wave_shl and row_bcast; else row_share and row_xmask
  bool has_halves;             ///< operands of 16 bits of vector arithmetic are halves of registers
  bool has_long_literals;      ///< VOP3, VOP3P and VOPD take literals
  bool has_smem_registers;     ///< SMEM's offset is in OFFSET or a register, as IMM and SOFFSET_EN say; else in both
  bool has_signed_offsets;     ///< OFFSET of FLAT and of buffers has a sign, which LLVM refuses in the latter
  bool has_wide_clock;         ///< SHADER_CYCLES has a second register
  bool has_split_barriers;     ///< s_barrier_signal and s_barrier_wait; no s_barrier
  bool has_scaled_products;    ///< VOP3PX2: gfx950
  bool has_single_waits;       ///< s_wait_loadcnt and its like; no s_waitcnt
  bool flat_ends_in_order;     ///< FLAT, too, which two counters count; else only what one counter counts does
  bool matrices_fill_halves;   ///< factors of WMMA are whole in each 16 lanes, results of 16 bits in half registers
  uint8_t segment;             ///< the lowest bit of SEG in FLAT; 0: GLOBAL and SCRATCH are formats of their own
  uint8_t memory_dwords;       ///< of FLAT, GLOBAL, SCRATCH and MUBUF
  uint8_t scalar_offset_bits;  ///< of OFFSET of SMEM
  uint8_t vector_offset_bits;  ///< of OFFSET of FLAT, GLOBAL and SCRATCH
  uint8_t descriptor_unit;     ///< scalar registers that SRSRC counts
  PackedWaits waits;           ///< of S_WAITCNT
};

/// By Generation.
inline constexpr Features kFeatures[] = {
    {
        // GFX9.
        .codes = {.sgprs = 102, .m0 = 124, .null = 125, .off = 127},
        .has_null = false,
        .flat_scratch_in_sgprs = true,
        .has_sdwa = true,
        .has_dpp8 = false,
        .dpp_crosses_rows = true,
        .has_halves = false,
        .has_long_literals = false,
        .has_smem_registers = true,
        .has_signed_offsets = false,
        .has_wide_clock = false,
        .has_split_barriers = false,
        .has_scaled_products = true,
        .has_single_waits = false,
        .flat_ends_in_order = false,
        .matrices_fill_halves = false,
        .segment = 14,
        .memory_dwords = 2,
        .scalar_offset_bits = 21,
        .vector_offset_bits = 13,
        .descriptor_unit = 4,
        .waits = {.loads = 0, .loads_width = 4, .others = 8, .others_width = 4, .high_loads = 14},
    },
    {
        // GFX10.
        .codes = {.sgprs = 106, .m0 = 124, .null = 125, .off = 125},
        .has_null = true,
        .flat_scratch_in_sgprs = false,
        .has_sdwa = true,
        .has_dpp8 = true,
        .dpp_crosses_rows = false,
        .has_halves = false,
        .has_long_literals = true,
        .has_smem_registers = false,
        .has_signed_offsets = false,
        .has_wide_clock = false,
        .has_split_barriers = false,
        .has_scaled_products = false,
        .has_single_waits = false,
        .flat_ends_in_order = true,
        .matrices_fill_halves = false,
        .segment = 14,
        .memory_dwords = 2,
        .scalar_offset_bits = 21,
        .vector_offset_bits = 12,
        .descriptor_unit = 4,
        .waits = {.loads = 0, .loads_width = 4, .others = 8, .others_width = 6, .high_loads = 14},
    },
    {
        // GFX11.
        .codes = {.sgprs = 106, .m0 = 125, .null = 124, .off = 124},
        .has_null = true,
        .flat_scratch_in_sgprs = false,
        .has_sdwa = false,
        .has_dpp8 = true,
        .dpp_crosses_rows = false,
        .has_halves = true,
        .has_long_literals = true,
        .has_smem_registers = false,
        .has_signed_offsets = false,
        .has_wide_clock = false,
        .has_split_barriers = false,
        .has_scaled_products = false,
        .has_single_waits = false,
        .flat_ends_in_order = true,
        .matrices_fill_halves = true,
        .segment = 16,
        .memory_dwords = 2,
        .scalar_offset_bits = 21,
        .vector_offset_bits = 13,
        .descriptor_unit = 4,
        .waits = {.loads = 10, .loads_width = 6, .others = 4, .others_width = 6, .high_loads = 0},
    },
    {
        // GFX12.
        .codes = {.sgprs = 106, .m0 = 125, .null = 124, .off = 124},
        .has_null = true,
        .flat_scratch_in_sgprs = false,
        .has_sdwa = false,
        .has_dpp8 = true,
        .dpp_crosses_rows = false,
        .has_halves = true,
        .has_long_literals = true,
        .has_smem_registers = false,
        .has_signed_offsets = true,
        .has_wide_clock = true,
        .has_split_barriers = true,
        .has_scaled_products = false,
        .has_single_waits = true,
        .flat_ends_in_order = true,
        .matrices_fill_halves = false,
        .segment = 0,
        .memory_dwords = 3,
        .scalar_offset_bits = 24,
        .vector_offset_bits = 24,
        .descriptor_unit = 1,
        .waits = {},
    },
};
static_assert(std::size(kFeatures) == size_t(Generation::GFX12) + 1);

constexpr const Features& features(Generation generation) { return kFeatures[size_t(generation)]; }
constexpr const ScalarCodes& scalar_codes(Generation generation) { return features(generation).codes; }

}  // namespace wave::isa

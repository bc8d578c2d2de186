// The 64-byte kernel descriptor (LLVM AMDGPU usage guide, "Kernel Descriptor").
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "code_object/target.h"

namespace wave {

/// Every field of the descriptor. Fields that a processor does not have read as zero.
struct KernelDescriptor {
  static constexpr uint64_t kSize = 64;

  uint32_t group_segment_fixed_size;
  uint32_t private_segment_fixed_size;
  uint32_t kernarg_size;                  ///< 0 in many hand-written kernels: prefer the metadata's
  int64_t kernel_code_entry_byte_offset;  ///< from the descriptor's own address

  // compute_pgm_rsrc1
  uint32_t granulated_workitem_vgpr_count;
  uint32_t granulated_wavefront_sgpr_count;
  uint32_t priority;
  uint32_t float_round_mode_32;
  uint32_t float_round_mode_16_64;
  uint32_t float_denorm_mode_32;
  uint32_t float_denorm_mode_16_64;
  bool priv;
  bool enable_dx10_clamp;  ///< gfx12: wg_rr_en
  bool debug_mode;
  bool enable_ieee_mode;  ///< gfx12: disable_perf
  bool bulky;
  bool cdbg_user;
  bool fp16_overflow;  ///< gfx9 and later
  bool wgp_mode;       ///< gfx10 and later
  bool memory_ordered;
  bool forward_progress;

  // compute_pgm_rsrc2
  bool enable_private_segment;
  uint32_t user_sgpr_count;
  bool enable_trap_handler;
  bool enable_sgpr_workgroup_id_x;
  bool enable_sgpr_workgroup_id_y;
  bool enable_sgpr_workgroup_id_z;
  bool enable_sgpr_workgroup_info;
  uint32_t enable_vgpr_workitem_id;  ///< 0: x; 1: x and y; 2: x, y and z
  uint32_t exception_flags;          ///< bits 24 to 30, in order
  uint32_t granulated_lds_size;

  // compute_pgm_rsrc3
  uint32_t accum_offset;  ///< gfx90a, gfx940: registers before the first accumulation VGPR (decoded: 4 to 256); else 0
  bool tg_split;          ///< gfx90a, gfx940
  uint32_t shared_vgpr_count;  ///< gfx10, gfx11
  uint32_t inst_pref_size;     ///< gfx11 and later
  uint32_t rsrc3;              ///< as read

  // kernel_code_properties
  bool enable_sgpr_private_segment_buffer;
  bool enable_sgpr_dispatch_ptr;
  bool enable_sgpr_queue_ptr;
  bool enable_sgpr_kernarg_segment_ptr;
  bool enable_sgpr_dispatch_id;
  bool enable_sgpr_flat_scratch_init;
  bool enable_sgpr_private_segment_size;
  bool enable_wavefront_size32;
  bool uses_dynamic_stack;

  // kernarg_preload
  uint32_t kernarg_preload_length;  ///< dwords
  uint32_t kernarg_preload_offset;  ///< dwords

  // What the granulated counts say
  uint32_t vgprs;  ///< allocated to a wave, accumulation VGPRs included
  uint32_t sgprs;  ///< allocated to a wave, VCC and the other reserved ones included

  /// Reads the descriptor at the start of `bytes`. Reserved bits that must be zero are not checked: real files set
  /// some.
  static KernelDescriptor parse(const Bytes& bytes, const Target& target);
};

}  // namespace wave

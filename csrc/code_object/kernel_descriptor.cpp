#include "code_object/kernel_descriptor.h"

#include "base/round_up.h"

namespace wave {
namespace {

// Bits `first` to `first + width - 1`.
constexpr uint32_t bits(uint32_t word, unsigned first, unsigned width) { return word >> first & ((1u << width) - 1); }
constexpr bool bit(uint32_t word, unsigned index) { return (word >> index & 1) != 0; }

// Figures that decide which fields there are. A processor that is not AMD's has none of them.
struct DescriptorLayout {
  unsigned major = 0;
  bool is_gfx125 = false;
  bool unified_vgprs = false;

  explicit DescriptorLayout(const Target& target) {
    const Processor* processor = find_processor(target.processor);
    if (processor == nullptr) return;
    major = processor->major;
    is_gfx125 = processor->major == 12 && processor->minor == 5;
    unified_vgprs = processor->has_unified_vgprs();
  }
};

// AMDGPU usage guide, "compute_pgm_rsrc1 for GFX6-GFX12".
void read_rsrc1(KernelDescriptor& out, uint32_t word, const DescriptorLayout& layout) {
  out.granulated_workitem_vgpr_count = bits(word, 0, 6);
  out.granulated_wavefront_sgpr_count = bits(word, 6, 4);
  out.priority = bits(word, 10, 2);
  out.float_round_mode_32 = bits(word, 12, 2);
  out.float_round_mode_16_64 = bits(word, 14, 2);
  out.float_denorm_mode_32 = bits(word, 16, 2);
  out.float_denorm_mode_16_64 = bits(word, 18, 2);
  out.priv = bit(word, 20);
  out.enable_dx10_clamp = bit(word, 21);
  out.debug_mode = bit(word, 22);
  out.enable_ieee_mode = bit(word, 23);
  out.bulky = bit(word, 24);
  out.cdbg_user = bit(word, 25);
  out.fp16_overflow = layout.major >= 9 && bit(word, 26);
  out.wgp_mode = layout.major >= 10 && bit(word, 29);
  out.memory_ordered = layout.major >= 10 && bit(word, 30);
  out.forward_progress = layout.major >= 10 && bit(word, 31);
}

// "compute_pgm_rsrc2 for GFX6-GFX12". gfx125x has one more bit for the user SGPRs in the place of the trap handler's.
void read_rsrc2(KernelDescriptor& out, uint32_t word, const DescriptorLayout& layout) {
  out.enable_private_segment = bit(word, 0);
  out.user_sgpr_count = bits(word, 1, layout.is_gfx125 ? 6 : 5);
  out.enable_trap_handler = layout.major < 12 && bit(word, 6);
  out.enable_sgpr_workgroup_id_x = bit(word, 7);
  out.enable_sgpr_workgroup_id_y = bit(word, 8);
  out.enable_sgpr_workgroup_id_z = bit(word, 9);
  out.enable_sgpr_workgroup_info = bit(word, 10);
  out.enable_vgpr_workitem_id = bits(word, 11, 2);
  out.granulated_lds_size = bits(word, 15, 9);
  out.exception_flags = bits(word, 24, 7);
}

// "compute_pgm_rsrc3 for GFX90A, GFX942", "for GFX10-GFX11" and "for GFX12".
void read_rsrc3(KernelDescriptor& out, uint32_t word, const DescriptorLayout& layout) {
  out.rsrc3 = word;
  if (layout.unified_vgprs) {
    out.accum_offset = (bits(word, 0, 6) + 1) * 4;
    out.tg_split = bit(word, 16);
  }
  if (layout.major == 10 || layout.major == 11) out.shared_vgpr_count = bits(word, 0, 4);
  if (layout.major == 11) out.inst_pref_size = bits(word, 4, 6);
  if (layout.major >= 12) out.inst_pref_size = bits(word, 4, 8);
}

void read_properties(KernelDescriptor& out, uint32_t word, const DescriptorLayout& layout) {
  out.enable_sgpr_private_segment_buffer = bit(word, 0);
  out.enable_sgpr_dispatch_ptr = bit(word, 1);
  out.enable_sgpr_queue_ptr = bit(word, 2);
  out.enable_sgpr_kernarg_segment_ptr = bit(word, 3);
  out.enable_sgpr_dispatch_id = bit(word, 4);
  out.enable_sgpr_flat_scratch_init = bit(word, 5);
  out.enable_sgpr_private_segment_size = bit(word, 6);
  out.enable_wavefront_size32 = layout.major >= 10 && bit(word, 10);
  out.uses_dynamic_stack = bit(word, 11);
}

// GRANULATED_WORKITEM_VGPR_COUNT: counted in 8 on processors with unified VGPRs, else in 4 for waves of 64 and in 8 for
// waves of 32, twice that on gfx125x, whose waves address 1024 VGPRs.
uint32_t count_vgprs(const KernelDescriptor& descriptor, const DescriptorLayout& layout) {
  uint32_t granule = layout.unified_vgprs || descriptor.enable_wavefront_size32 ? 8 : 4;
  if (layout.is_gfx125) granule *= 2;
  return (descriptor.granulated_workitem_vgpr_count + 1) * granule;
}

// GRANULATED_WAVEFRONT_SGPR_COUNT: counted in 8; gfx8 and gfx9 allocate in 16, gfx10 and later always 128.
uint32_t count_sgprs(const KernelDescriptor& descriptor, const DescriptorLayout& layout) {
  if (layout.major >= 10) return 128;
  return round_up((descriptor.granulated_wavefront_sgpr_count + 1) * 8, layout.major >= 8 ? 16 : 8);
}

}  // namespace

KernelDescriptor KernelDescriptor::parse(const Bytes& bytes, const Target& target) {
  const DescriptorLayout layout(target);
  const Bytes fields = bytes.slice(0, kSize);
  KernelDescriptor out{};
  out.group_segment_fixed_size = fields.read<uint32_t>(0);
  out.private_segment_fixed_size = fields.read<uint32_t>(4);
  out.kernarg_size = fields.read<uint32_t>(8);
  out.kernel_code_entry_byte_offset = fields.read<int64_t>(16);
  read_rsrc3(out, fields.read<uint32_t>(44), layout);
  read_rsrc1(out, fields.read<uint32_t>(48), layout);
  read_rsrc2(out, fields.read<uint32_t>(52), layout);
  read_properties(out, fields.read<uint16_t>(56), layout);
  if (layout.unified_vgprs || layout.is_gfx125) {
    const uint32_t preload = fields.read<uint16_t>(58);
    out.kernarg_preload_length = bits(preload, 0, 7);
    out.kernarg_preload_offset = bits(preload, 7, 9);
  }
  out.vgprs = count_vgprs(out, layout);
  out.sgprs = count_sgprs(out, layout);
  return out;
}

}  // namespace wave

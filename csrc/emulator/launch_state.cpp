// What a wave finds when it starts (LLVM AMDGPU usage guide, "Initial Kernel Execution State" and "Kernarg Segment").
#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/round_up.h"
#include "emulator/checks.h"
#include "emulator/device_heap.h"
#include "emulator/dispatch.h"
#include "emulator/loaded_modules.h"
#include "emulator/residency.h"

namespace wave::emulator {

namespace {

/// A stack for kernels whose frames the compiler could not add up (recursion, function pointers).
constexpr u32 kDynamicStack = 16 * 1024;

template <class T>
void put(std::span<u8> bytes, u64 offset, T value) {
  std::memcpy(&bytes[offset], &value, sizeof(T));
}

u32 dimensions(const std::array<u32, 3>& grid, const std::array<u32, 3>& block) {
  if (grid[2] * block[2] > 1) return 3;
  return grid[1] * block[1] > 1 ? 2 : 1;
}

/// The workgroups along an axis but for a smaller one at its end.
u32 whole_blocks(const Dispatch& dispatch, int axis) {
  return dispatch.grid[axis] - (dispatch.remainder[axis] != 0 ? 1 : 0);
}

bool has_argument(const KernelMetadata& metadata, ValueKind kind) {
  return metadata.arguments &&
         std::ranges::find(*metadata.arguments, kind, &ArgumentMetadata::kind) != metadata.arguments->end();
}

/// As far as 64 bits go: nobody lives to see a larger launch end.
u64 product(const std::array<u32, 3>& extents) {
  u64 result;
  return __builtin_mul_overflow(u64{extents[0]} * extents[1], u64{extents[2]}, &result) ? ~u64{0} : result;
}

KernelRegisters registers_of(const KernelDescriptor& descriptor) {
  const u32 all = descriptor.vgprs;
  const u32 arch = descriptor.accum_offset != 0 ? std::min(descriptor.accum_offset, all) : all;
  return {arch, all - arch, descriptor.sgprs, descriptor.enable_wavefront_size32 ? 32u : 64u};
}

u32 scratch_bytes(const KernelMetadata& metadata, const ProcessorTraits& processor) {
  if (metadata.private_segment_fixed_size > processor.max_scratch) {
    throw ValueError(text(kernel_text(metadata.name), " wants ", metadata.private_segment_fixed_size,
                          " bytes of scratch for each work-item, and ", processor.name, " has ", processor.max_scratch,
                          ": build it with smaller arrays in private memory, or put them into LDS or a tensor"));
  }
  return round_up(metadata.private_segment_fixed_size, 4) + (metadata.uses_dynamic_stack ? kDynamicStack : 0);
}

/// Kernels that preload kernel arguments start with 256 bytes that load them, for firmware that does not (LLVM AMDGPU
/// usage guide, "Preloaded Kernel Arguments").
u64 entry_address(const Module& module, const KernelInfo& kernel) {
  return module.load_address(kernel.entry_address) + (kernel.descriptor->kernarg_preload_length > 0 ? 256 : 0);
}

/// Where the kernel begins. Throws RuntimeError where that is no code: a wave whose arguments are preloaded begins
/// behind the entry.
const TranslatedFunction& entry_function(const Module& module, const KernelInfo& kernel, u64 entry,
                                         const KernelRegisters& registers) {
  try {
    return module.function(entry, registers);
  } catch (const Fault& fault) {
    throw RuntimeError(text(kernel_text(kernel.metadata.name), " cannot begin: ", fault.reason));
  }
}

/// A workgroup that is too large for the device's registers runs all the same, one on each compute unit.
u64 most_under_way(const Module& module, const KernelInfo& kernel, u32 work_items, u32 lds_bytes) {
  const u64 resident = resident_workgroups(module, kernel, work_items, lds_bytes);
  return resident != 0 ? resident : module.processor().compute_units;
}

/// The private segment buffer (LLVM AMDGPU usage guide, "Private Segment Buffer"): dwords of the lanes side by side,
/// with no bounds, since what is behind a work-item's scratch is a fault. The size of elements is GFX9's to say, the
/// kind of bounds GFX10's: neither looks at the other's bits.
std::array<u32, 4> scratch_descriptor(u32 lanes) {
  constexpr u32 kSwizzle = 1u << 31, kElementOf4Bytes = 1u << 19, kAddLane = 1u << 23, kUnchecked = 2u << 28;
  const u32 index_stride = (lanes == 64 ? 3u : 2u) << 21;
  return {static_cast<u32>(kScratchWindow), static_cast<u32>(kScratchWindow >> 32) | kSwizzle, ~0u,
          kElementOf4Bytes | index_stride | kAddLane | kUnchecked};
}

std::unique_ptr<Hostcalls> make_hostcalls(const KernelMetadata& metadata, u64 workgroups, u32 waves) {
  return has_argument(metadata, ValueKind::HiddenHostcallBuffer) ? std::make_unique<Hostcalls>(workgroups * waves)
                                                                 : nullptr;
}

std::unique_ptr<PrintfBuffer> make_printf_buffer(const KernelMetadata& metadata, const CodeObject& code) {
  return has_argument(metadata, ValueKind::HiddenPrintfBuffer) ? std::make_unique<PrintfBuffer>(code) : nullptr;
}

}  // namespace

LaunchState::LaunchState(const Dispatch& given)
    : dispatch(given),
      module(*given.module),
      kernel(*given.kernel),
      registers(registers_of(*kernel.descriptor)),
      lanes(registers.lanes),
      work_items(given.block[0] * given.block[1] * given.block[2]),
      waves((work_items + lanes - 1) / lanes),
      lds_size(round_up(kernel.metadata.group_segment_fixed_size + given.dynamic_lds, 4)),
      scratch_size(scratch_bytes(kernel.metadata, module.processor())),
      entry(entry_address(module, kernel)),
      function(entry_function(module, kernel, entry, registers)),
      workgroups(product(given.grid)),
      max_resident(most_under_way(module, kernel, work_items, lds_size)),
      hostcalls_(make_hostcalls(kernel.metadata, std::min(workgroups, max_resident), waves)),
      printf_buffer_(make_printf_buffer(kernel.metadata, module.code())),
      grid_sync_(given.cooperative ? std::make_unique<GridSync>(workgroups, work_items) : nullptr),
      kernarg_(kernarg_size()),
      packet_(packet()),
      memory_(regions(), given.memory.size(), given.strict, given.trace, given.find_region,
              given.checks == nullptr ? WatchedAccesses::None : given.checks->watched_accesses()) {
  write_arguments();
}

/// Hardware gives a smaller workgroup ids as of a block of its own extents, which is how kernels count them, too
/// (__ockl_get_local_size).
std::array<u32, 3> LaunchState::block_of(const std::array<u32, 3>& id) const {
  std::array<u32, 3> block = dispatch.block;
  for (int axis = 0; axis < 3; ++axis) {
    if (dispatch.remainder[axis] != 0 && id[axis] + 1 == dispatch.grid[axis]) block[axis] = dispatch.remainder[axis];
  }
  return block;
}

u64 LaunchState::all_waves() const {
  u64 sum = 0;
  for (u32 ends = 0; ends < 8; ++ends) {  // a bit for each axis along which workgroups are the last
    std::array<u32, 3> id{};
    u64 count = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const u32 last = dispatch.grid[axis] - 1;
      const bool is_last = (ends >> axis & 1u) != 0;
      if (is_last) id[axis] = last;
      count *= is_last ? 1 : last;
    }
    if (count != 0) sum += count * round_up(product(block_of(id)), lanes) / lanes;
  }
  return sum;
}

const TranslatedFunction& LaunchState::function_at(u64 address) const {
  if (module.has_code(address)) return module.function(address, registers);
  const std::lock_guard lock(visiting_);
  auto visited = std::ranges::find_if(visited_, [&](const auto& other) { return other->has_code(address); });
  if (visited == visited_.end()) {
    auto other = loaded_module_at(address);
    // Code for another processor, of another device, is none here.
    if (other == nullptr || &other->processor() != &module.processor()) return module.function(address, registers);
    visited = visited_.insert(visited_.end(), std::move(other));
  }
  return (*visited)->function(address, registers);
}

u64 LaunchState::hidden_value(ValueKind kind) const {
  switch (kind) {
    case ValueKind::HiddenBlockCountX:
      return whole_blocks(dispatch, 0);
    case ValueKind::HiddenBlockCountY:
      return whole_blocks(dispatch, 1);
    case ValueKind::HiddenBlockCountZ:
      return whole_blocks(dispatch, 2);
    case ValueKind::HiddenRemainderX:
      return dispatch.remainder[0];
    case ValueKind::HiddenRemainderY:
      return dispatch.remainder[1];
    case ValueKind::HiddenRemainderZ:
      return dispatch.remainder[2];
    case ValueKind::HiddenGroupSizeX:
      return dispatch.block[0];
    case ValueKind::HiddenGroupSizeY:
      return dispatch.block[1];
    case ValueKind::HiddenGroupSizeZ:
      return dispatch.block[2];
    case ValueKind::HiddenGridDims:
      return dimensions(dispatch.grid, dispatch.block);
    case ValueKind::HiddenDynamicLdsSize:
      return dispatch.dynamic_lds;
    case ValueKind::HiddenPrivateBase:
      return kPrivateAperture >> 32;
    case ValueKind::HiddenSharedBase:
      return kSharedAperture >> 32;
    case ValueKind::HiddenQueuePtr:
      return reinterpret_cast<u64>(queue_.data());
    case ValueKind::HiddenHostcallBuffer:
      return hostcalls_->address();
    case ValueKind::HiddenPrintfBuffer:
      return printf_buffer_->address();
    case ValueKind::HiddenMultigridSyncArg:
      return grid_sync_ != nullptr ? grid_sync_->record() : 0;
    case ValueKind::HiddenHeapV1:
      return DeviceHeap::get().record();
    default:
      return 0;  // global offsets, and pointers to services there are none of
  }
}

/// Compilers widen loads to the segment's alignment, of 16 at least, and so read past its end.
u64 LaunchState::kernarg_size() const {
  return round_up(std::max<u64>(kernel.metadata.kernarg_segment_size, dispatch.arguments.size()), 16);
}

void LaunchState::write_arguments() {
  const std::span<u8> bytes = kernarg_.bytes();
  std::copy(dispatch.arguments.begin(), dispatch.arguments.end(), bytes.begin());
  if (!kernel.metadata.arguments) return;
  for (const ArgumentMetadata& argument : *kernel.metadata.arguments) {
    if (!is_hidden(argument.kind)) continue;
    const u64 value = hidden_value(argument.kind);
    if (u64{argument.offset} + argument.size <= bytes.size()) {
      std::memcpy(&bytes[argument.offset], &value, std::min<size_t>(argument.size, sizeof(value)));
    }
  }
}

/// hsa_kernel_dispatch_packet_t (HSA Platform System Architecture Specification, "Kernel Dispatch Packet").
LaunchState::DispatchPacket LaunchState::packet() const {
  DispatchPacket bytes{};
  put<u16>(bytes, 2, static_cast<u16>(dimensions(dispatch.grid, dispatch.block)));
  for (int axis = 0; axis < 3; ++axis) {
    put<u16>(bytes, 4 + 2 * axis, static_cast<u16>(dispatch.block[axis]));
    put<u32>(bytes, 12 + 4 * axis, whole_blocks(dispatch, axis) * dispatch.block[axis] + dispatch.remainder[axis]);
  }
  put<u32>(bytes, 24, scratch_size);
  put<u32>(bytes, 28, lds_size);
  put<u64>(bytes, 32, module.load_address(kernel.descriptor_address));
  put<u64>(bytes, 40, reinterpret_cast<u64>(kernarg_.bytes().data()));
  return bytes;
}

std::vector<Region> LaunchState::regions() const {
  constexpr size_t kOwn = 3, kServices = 4;
  std::vector<Region> regions;
  regions.reserve(dispatch.memory.size() + module.code().segments().size() + kOwn + kServices);
  regions = dispatch.memory;
  module.add_regions(regions);
  const auto add = [&](std::span<const u8> bytes, const char* name) {
    regions.push_back({AddressSpan(reinterpret_cast<u64>(bytes.data()), bytes.size()), false, name});
  };
  add(kernarg_.bytes(), "the kernarg segment");
  add(packet_, "the dispatch packet");
  add(queue_, "the queue");
  if (hostcalls_ != nullptr) regions.push_back(hostcalls_->region());
  if (printf_buffer_ != nullptr) regions.push_back(printf_buffer_->region());
  if (grid_sync_ != nullptr) regions.push_back(grid_sync_->region());
  if (hostcalls_ != nullptr || has_argument(kernel.metadata, ValueKind::HiddenHeapV1)) {
    regions.push_back(DeviceHeap::get().region());
  }
  return regions;
}

u64 LaunchState::nanoseconds() const {
  constexpr u64 kLook = 100;  // so that kernels that wait for some time do so for few rounds
  if (dispatch.deterministic) return kLook * ++looks_at_clock_;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

u64 LaunchState::cycles() const {
  constexpr u64 kUnit = 1'000'000;  // nanoseconds of as many cycles as a clock has kHz
  const u64 time = nanoseconds(), clock = module.processor().clock;
  return time / kUnit * clock + time % kUnit * clock / kUnit;
}

void LaunchState::set_initial_state(Wave& wave, const std::array<u32, 3>& id) const {
  const KernelDescriptor& descriptor = *kernel.descriptor;
  const ProcessorTraits& processor = module.processor();
  const u64 scratch = processor.kernels_set_up_scratch ? kScratchWindow : 0;
  u32 next = 0;
  const auto pointer = [&](bool enabled, u64 value) {
    if (!enabled) return;
    wave.set_pair(next, value);
    next += 2;
  };
  if (descriptor.enable_sgpr_private_segment_buffer) {
    // Where kernels do not set it up, scratch is addressed by instructions alone.
    if (scratch != 0) std::ranges::copy(scratch_descriptor(lanes), &wave.s[next]);
    next += 4;
  }
  pointer(descriptor.enable_sgpr_dispatch_ptr, reinterpret_cast<u64>(packet_.data()));
  pointer(descriptor.enable_sgpr_queue_ptr, reinterpret_cast<u64>(queue_.data()));
  pointer(descriptor.enable_sgpr_kernarg_segment_ptr, reinterpret_cast<u64>(kernarg_.bytes().data()));
  pointer(descriptor.enable_sgpr_dispatch_id, 0);
  pointer(descriptor.enable_sgpr_flat_scratch_init, scratch);
  if (descriptor.enable_sgpr_private_segment_size) wave.s[next++] = scratch_size;
  for (u32 i = 0; i < descriptor.kernarg_preload_length && next < sreg::kFlatScratch; ++i) {
    const u64 offset = 4 * u64{descriptor.kernarg_preload_offset + i};
    u32 word = 0;
    if (offset + 4 <= kernarg_.bytes().size()) std::memcpy(&word, &kernarg_.bytes()[offset], 4);
    wave.s[next++] = word;
  }
  // Workgroup ids follow all user SGPRs, the preloaded ones included.
  next = descriptor.user_sgpr_count;
  if (processor.ids_in_ttmp) {
    wave.s[sreg::kTtmp0 + 7] = id[1] | id[2] << 16;
    wave.s[sreg::kTtmp0 + 8] = wave.index << 25;
    wave.s[sreg::kTtmp0 + 9] = id[0];
  } else {
    if (descriptor.enable_sgpr_workgroup_id_x) wave.s[next++] = id[0];
    if (descriptor.enable_sgpr_workgroup_id_y) wave.s[next++] = id[1];
    if (descriptor.enable_sgpr_workgroup_id_z) wave.s[next++] = id[2];
    if (processor.kernels_set_up_scratch) {
      if (descriptor.enable_sgpr_workgroup_info) wave.s[next++] = 0;
      if (descriptor.enable_private_segment) wave.s[next++] = 0;  // the wave's offset: each has a window of its own
    }
  }
  if (processor.flat_scratch_in_sgprs) wave.set_pair(sreg::kFlatScratch, kPrivateAperture);
  const bool clamps_nan = !processor.has_ieee_mode || descriptor.enable_dx10_clamp;
  const bool is_ieee = processor.has_ieee_mode && descriptor.enable_ieee_mode;
  wave.set_mode(descriptor.float_round_mode_32 | descriptor.float_round_mode_16_64 << 2 |
                descriptor.float_denorm_mode_32 << 4 | descriptor.float_denorm_mode_16_64 << 6 | u32{clamps_nan} << 8 |
                u32{is_ieee} << 9 | u32{descriptor.fp16_overflow} << 23);
}

}  // namespace wave::emulator

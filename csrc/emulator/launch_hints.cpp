#include "emulator/launch_hints.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/device_heap.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Linux gives processes no memory below (vm.mmap_min_addr).
constexpr u64 kNearNull = 64 * 1024;
/// Bytes of the record of a grid's barriers, whose first field barriers of one grid do not look at (grid_sync.h).
constexpr u64 kGridRecord = 48;

/// nullptr where the kernel has no such argument.
const ArgumentMetadata* argument(const LaunchState& launch, ValueKind kind) {
  const auto& arguments = launch.kernel.metadata.arguments;
  if (!arguments) return nullptr;
  const auto found = std::ranges::find(*arguments, kind, &ArgumentMetadata::kind);
  return found != arguments->end() ? &*found : nullptr;
}

/// Whether code has a scalar load from so many bytes behind whatever address.
bool loads_at(const TranslatedFunction& function, const LaunchState& launch, u64 offset) {
  for (u64 pc = function.begin(); pc < function.end(); pc += sizeof(u32)) {
    if (!function.contains(pc)) continue;
    const isa::Instruction instruction = launch.module.decode(pc, launch.lanes);
    if (instruction.row == nullptr || instruction.row->kind != isa::Kind::ScalarMemory) continue;
    if (AddressSpan(instruction[isa::Field::OFFSET], instruction.row->memory.bytes).contains(offset)) return true;
  }
  return false;
}

/// Whether the wave's code, or the kernel's, loads what leads to the record of the grid's barriers. Compilers list that
/// argument for all kernels that call what they cannot see into, such as printf. Functions are given the address of the
/// hidden arguments, which begin a multiple of eight bytes behind the others.
bool uses_grid_barrier(const Wave& wave, const LaunchState& launch) {
  const ArgumentMetadata* const record = argument(launch, ValueKind::HiddenMultigridSyncArg);
  if (record == nullptr) return false;
  u64 first = record->offset;
  for (const ArgumentMetadata& one : *launch.kernel.metadata.arguments) {
    if (is_hidden(one.kind)) first = std::min<u64>(first, one.offset);
  }
  const auto uses = [&](const TranslatedFunction& function, u64 offset) { return loads_at(function, launch, offset); };
  return uses(launch.function, record->offset) || uses(*wave.function, record->offset - first);
}

/// Whether it is a barrier of the grid that has accessed this address, which the launch has made no record for.
bool is_of_barrier(u64 address, const Wave& wave, const LaunchState& launch) {
  return launch.grid_sync() == nullptr && address != 0 && address < kGridRecord && uses_grid_barrier(wave, launch);
}

}  // namespace

bool is_near_null(u64 address) { return address < kNearNull || -address <= kNearNull; }

std::string near_null_text(u64 address, std::span<const MemoryRange> given) {
  std::string all = "at a null pointer";
  if (address != 0)
    all += address < kNearNull ? text(" plus ", address, " bytes") : text(" minus ", -address, " bytes");
  std::vector<std::string> names;
  for (const MemoryRange& range : given) {
    if (range.bytes.begin() == 0 && range.bytes.is_empty()) names.push_back(range.name.text());
  }
  if (names.empty()) return all;
  for (const std::string& name : names)
    all += text(&name == &names.front() ? ": " : &name == &names.back() ? " and " : ", ", name);
  return all + (names.size() == 1 ? " is null, or an empty tensor" : " are null, or empty tensors");
}

KernelFault fault_of(const LaunchState& launch, std::string_view reason) {
  const std::string& name = launch.kernel.metadata.name;
  KernelFault result(
      text(kernel_text(name), " on the ", launch.module.code().target().processor, " emulator: ", reason));
  result.kernel = name;
  return result;
}

std::string reason_of(const Fault& fault, const Wave& wave) {
  const LaunchState& launch = wave.group->launch();
  std::string reason = fault.reason;
  const bool is_of_null =
      fault.has_address && fault.kind == std::string_view("unmapped") && is_near_null(fault.address);
  if (!is_of_null) return reason;
  const bool says_why = reason.find(": ") != std::string::npos;
  if (is_of_barrier(fault.address, wave, launch)) return text(reason, says_why ? "; or it is " : ": ", kNotCooperative);
  const bool allocates = launch.hostcalls() != nullptr || argument(launch, ValueKind::HiddenHeapV1) != nullptr;
  const std::string shortage = allocates ? DeviceHeap::get().shortage() : "";
  return shortage.empty() ? reason : text(reason, says_why ? "; or " : ": ", shortage);
}

std::string lds_hint(const LaunchState& launch) {
  const u32 dynamic = launch.dispatch.dynamic_lds;
  if (dynamic != 0) return text(", ", dynamic, " of them from shared_memory= of the launch");
  const bool has_own = launch.kernel.metadata.group_segment_fixed_size != 0;
  if (has_own && argument(launch, ValueKind::HiddenDynamicLdsSize) == nullptr) return "";
  return ": the launch was given no dynamic LDS, which shared_memory= is for (in HIP programs the third value of "
         "<<<>>>)";
}

}  // namespace wave::emulator

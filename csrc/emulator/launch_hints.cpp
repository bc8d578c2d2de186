#include "emulator/launch_hints.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/dispatch.h"

namespace wave::emulator {

namespace {

/// Linux gives processes no memory below (vm.mmap_min_addr).
constexpr u64 kNear = 64 * 1024;
/// Bytes of the record of a grid's barriers, whose first field barriers of one grid do not look at (grid_sync.h).
constexpr u64 kGridRecord = 48;

bool has_argument(const LaunchState& launch, ValueKind kind) {
  const auto& arguments = launch.kernel.metadata.arguments;
  return arguments && std::ranges::find(*arguments, kind, &ArgumentMetadata::kind) != arguments->end();
}

/// Whether it is a barrier of the grid that has accessed this address, which the launch has made no record for.
bool is_of_barrier(u64 address, const LaunchState& launch) {
  return launch.grid_sync() == nullptr && address != 0 && address < kGridRecord &&
         has_argument(launch, ValueKind::HiddenMultigridSyncArg);
}

}  // namespace

bool is_near_null(u64 address) { return address < kNear || -address <= kNear; }

std::string near_null_text(u64 address, std::span<const MemoryRange> given) {
  std::string all = "at a null pointer";
  if (address != 0) all += address < kNear ? text(" plus ", address, " bytes") : text(" minus ", -address, " bytes");
  std::vector<std::string> names;
  for (const MemoryRange& range : given) {
    if (range.bytes.begin() == 0 && range.bytes.is_empty()) names.push_back(range.name);
  }
  if (names.empty()) return all;
  for (const std::string& name : names)
    all += text(&name == &names.front() ? ": " : &name == &names.back() ? " and " : ", ", name);
  return all + (names.size() == 1 ? " is null, or an empty tensor" : " are null, or empty tensors");
}

std::string reason_of(const Fault& fault, const LaunchState& launch) {
  const bool is_of_memory = fault.has_address && fault.kind == std::string_view("unmapped");
  if (!is_of_memory || !is_of_barrier(fault.address, launch)) return fault.reason;
  const bool says_why = fault.reason.find(": ") != std::string::npos;
  return text(fault.reason, says_why ? "; or it is " : ": ", kNotCooperative);
}

std::string lds_hint(const LaunchState& launch) {
  const u32 dynamic = launch.dispatch.dynamic_lds;
  if (dynamic != 0) return text(", ", dynamic, " of them from shared_memory= of the launch");
  const bool has_own = launch.kernel.metadata.group_segment_fixed_size != 0;
  if (has_own && !has_argument(launch, ValueKind::HiddenDynamicLdsSize)) return "";
  return ": the launch was given no dynamic LDS, which shared_memory= is for (in HIP programs the third value of "
         "<<<>>>)";
}

}  // namespace wave::emulator

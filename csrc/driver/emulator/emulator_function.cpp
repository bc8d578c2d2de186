#include "driver/emulator/emulator_function.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/freed_memory.h"
#include "base/process_memory.h"
#include "emulator/checks.h"
#include "emulator/dispatch.h"
#include "emulator/residency.h"
#include "emulator/run_as_asked.h"

namespace wave {

namespace {

/// Whatever the process has, but for what it has freed.
std::optional<MemoryRange> find_memory(uint64_t address) {
  return FreedMemory::of_process().find_mapping_besides(address);
}

/// What a launch was given, as the process may access it: a tensor may lie over a file that was opened to be read. Of
/// such memory only what its mappings let the process write is writable.
std::vector<MemoryRange> as_mapped(const std::vector<MemoryRange>& given) {
  std::vector<MemoryRange> ranges = given;
  for (const MemoryRange& range : given) {
    if (!range.writable || range.is_allocated || range.bytes.is_empty() || may_write_ends_of(range.bytes)) continue;
    MemoryRange& constant = ranges[static_cast<size_t>(&range - given.data())];
    constant.writable = false;
    constant.why_const = "the process may only read there";
    for (uint64_t at = range.bytes.begin(); at < range.bytes.end();) {
      const std::optional<MemoryRange> mapping = find_mapping(at);
      if (!mapping) break;
      const uint64_t end = std::min(mapping->bytes.end(), range.bytes.end());
      if (mapping->writable) ranges.push_back({AddressSpan::up_to(at, end), true, range.name});
      at = end;
    }
  }
  return ranges;
}

std::atomic<void (*)()> interrupt_check{nullptr};

}  // namespace

namespace emulator {

void EmulatorFunction::launch(const Launch& launch) {
  const EmulatorOptions& options = launch.host->options;
  Dispatch dispatch;
  dispatch.module = &module_;
  dispatch.kernel = &kernel_;
  dispatch.grid = launch.grid;
  dispatch.block = launch.block;
  dispatch.dynamic_lds = launch.shared_memory;
  dispatch.cooperative = launch.attributes != nullptr && launch.attributes->cooperative;
  dispatch.arguments = launch.arguments;
  dispatch.memory = as_mapped(launch.host->memory.ranges);
  std::ranges::copy(launch.host->nulls, std::back_inserter(dispatch.memory));
  if (launch.host->memory.whole_process) dispatch.find_region = find_memory;
  dispatch.strict = launch.host->strict;
  dispatch.trace = launch.host->trace;
  dispatch.parallel = launch.host->parallel;
  const std::unique_ptr<Checks> checks = Checks::make(options, launch.host->memory.tensors);
  const Statistics result = run_as_asked(dispatch, options, checks.get(), check_interrupt);
  LaunchReport& report = launch.host->report;
  report.instructions = result.instructions;
  report.waves = result.waves;
  report.workgroups = result.workgroups;
  if (options.statistics) report.profile = checks->profile();
  for (const std::string& line : result.over_reads) {
    report.warnings.push_back(text(kernel_text(kernel_.metadata.name), ": ", line));
  }
  if (checks) checks->finish();
}

FunctionInfo EmulatorFunction::info() const {
  const KernelMetadata& metadata = kernel_.metadata;
  return {metadata.vgpr_count, metadata.group_segment_fixed_size, metadata.private_segment_fixed_size, 0,
          metadata.max_flat_workgroup_size};
}

uint32_t EmulatorFunction::occupancy(uint32_t block_size, uint32_t shared_memory) const {
  const u64 lds = u64{kernel_.metadata.group_segment_fixed_size} + shared_memory;
  return workgroups_per_unit(module_, kernel_, block_size, lds);
}

uint64_t EmulatorFunction::resident_workgroups(const DeviceInfo&, uint32_t block_size, uint32_t shared_memory) const {
  const u64 lds = u64{kernel_.metadata.group_segment_fixed_size} + shared_memory;
  return emulator::resident_workgroups(module_, kernel_, block_size, lds);
}

}  // namespace emulator

void set_interrupt_check(void (*check)()) { interrupt_check.store(check); }

void check_interrupt() {
  if (const auto check = interrupt_check.load()) check();
}

}  // namespace wave

#include "driver/emulator/emulator_function.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/error.h"
#include "base/freed_memory.h"
#include "driver/emulator/observe.h"
#include "driver/emulator/progress_bar.h"
#include "emulator/checks.h"
#include "emulator/dispatch.h"
#include "emulator/residency.h"

namespace wave {

namespace {

/// Whatever the process has, but for what it has freed.
std::optional<MemoryRange> find_memory(uint64_t address) {
  return FreedMemory::of_process().find_mapping_besides(address);
}

std::atomic<void (*)()> interrupt_check{nullptr};

emulator::Statistics run_observed(emulator::Dispatch& dispatch, emulator::Checks* checks,
                                  const emulator::Observation* observation) {
  try {
    return emulator::run(dispatch, checks);
  } catch (const KernelFault& fault) {
    if (observation == nullptr) throw;
    throw observation->finish(fault);
  }
}

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
  dispatch.memory = launch.host->memory.ranges;
  std::ranges::copy(launch.host->nulls, std::back_inserter(dispatch.memory));
  if (launch.host->memory.whole_process) dispatch.find_region = find_memory;
  dispatch.strict = launch.host->strict;
  dispatch.trace = launch.host->trace;
  dispatch.parallel = launch.host->parallel;
  dispatch.max_instructions = options.max_instructions;
  dispatch.time_limit = options.time_limit;
  dispatch.deterministic = options.deterministic;
  ProgressBar bar(kernel_.metadata.name, options.progress_delay);
  dispatch.poll = [&bar](u64 finished, u64 workgroups) {
    check_interrupt();
    bar.show(finished, workgroups);
  };
  const std::unique_ptr<Observation> observation = Observation::make(options);
  dispatch.observer = observation.get();
  const std::unique_ptr<Checks> checks = Checks::make(options, launch.host->memory.tensors);
  const emulator::Statistics result = run_observed(dispatch, checks.get(), observation.get());
  LaunchReport& report = launch.host->report;
  report.instructions = result.instructions;
  report.waves = result.waves;
  report.workgroups = result.workgroups;
  if (options.statistics) report.profile = checks->profile();
  for (const std::string& line : result.over_reads) {
    report.warnings.push_back(text(kernel_text(kernel_.metadata.name), ": ", line));
  }
  if (observation) observation->finish();
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

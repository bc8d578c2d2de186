#include "emulator/run_as_asked.h"

#include "emulator/progress_bar.h"
#include "emulator/trace_file.h"

namespace wave::emulator {

Statistics run_as_asked(Dispatch& dispatch, const EmulatorOptions& options, Checks* checks,
                        const std::function<void()>& interrupted) {
  const std::string& name = dispatch.kernel->metadata.name;
  dispatch.max_instructions = options.max_instructions;
  dispatch.time_limit = options.time_limit;
  dispatch.deterministic = options.deterministic;
  ProgressBar bar(name, options.progress_delay);
  dispatch.poll = [&](u64 finished, u64 workgroups) {
    interrupted();
    bar.show(finished, workgroups);
  };
  const std::unique_ptr<TraceFile> trace = TraceFile::open(options, name, interrupted);
  if (trace == nullptr) return run(dispatch, checks);
  dispatch.observer = &trace->observer();
  try {
    const Statistics statistics = run(dispatch, checks);
    trace->finish();
    return statistics;
  } catch (const KernelFault& fault) {
    throw trace->finish(fault);
  }
}

}  // namespace wave::emulator

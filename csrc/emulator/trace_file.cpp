#include "emulator/trace_file.h"

namespace wave::emulator {

std::unique_ptr<TraceFile> TraceFile::open(const EmulatorOptions& options, std::string_view kernel,
                                           const std::function<void()>& interrupted) {
  if (options.trace.empty() || kernel.find(options.trace_kernel) == std::string_view::npos) return nullptr;
  return std::unique_ptr<TraceFile>(new TraceFile(options, interrupted));
}

TraceFile::TraceFile(const EmulatorOptions& options, const std::function<void()>& interrupted)
    : file_("WAVE_RUNTIME_TRACE", options.trace, OutputFile::Mode::Append, interrupted),
      tracer_([this](std::string_view line) { file_.write(line); }, {options.trace_workgroup, options.trace_wave}) {}

void TraceFile::finish() {
  tracer_.end_line();
  file_.close();
}

KernelFault TraceFile::finish(const KernelFault& fault) {
  try {
    finish();
  } catch (const RuntimeError& error) {
    return fault.followed_by(error.what());
  }
  return fault;
}

}  // namespace wave::emulator

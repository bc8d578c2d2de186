#include "driver/emulator/observe.h"

#include "base/error.h"
#include "driver/driver.h"

namespace wave::emulator {

std::unique_ptr<Observation> Observation::make(const EmulatorOptions& options) {
  if (options.trace.empty()) return nullptr;
  auto observation = std::make_unique<Observation>();
  observation->file_ =
      std::make_unique<OutputFile>("WAVE_RUNTIME_TRACE", options.trace, OutputFile::Mode::Append, check_interrupt);
  const TraceFilter filter{options.trace_workgroup, options.trace_wave};
  observation->tracer_ =
      std::make_unique<Tracer>([file = observation->file_.get()](std::string_view line) { file->write(line); }, filter);
  observation->add(*observation->tracer_);
  return observation;
}

void Observation::end_trace() const {
  if (tracer_ == nullptr) return;
  tracer_->end_line();
  file_->close();
}

void Observation::finish() const { end_trace(); }

KernelFault Observation::finish(const KernelFault& fault) const {
  try {
    end_trace();
  } catch (const RuntimeError& error) {
    return fault.followed_by(error.what());
  }
  return fault;
}

}  // namespace wave::emulator

// What a launch is asked to write down: a trace.
//
//   WAVE_RUNTIME_TRACE=FILE            a line for each instruction, appended to the file; "-": to stderr
//   WAVE_RUNTIME_TRACE_ONLY=GROUP[.WAVE]   of this workgroup, by number (x fastest), or of one of its waves only
#pragma once

#include <memory>

#include "base/emulator_options.h"
#include "base/error.h"
#include "base/output_file.h"
#include "emulator/tracer.h"

namespace wave::emulator {

class Observation : public Observers {
 public:
  /// nullptr where nothing is asked for. Throws RuntimeError where the file cannot be opened.
  static std::unique_ptr<Observation> make(const EmulatorOptions& options);

  /// Behind the launch. Throws RuntimeError where the trace cannot be written.
  void finish() const;
  /// ... where the launch has failed: the fault, and why the trace is not complete.
  KernelFault finish(const KernelFault& fault) const;

 private:
  void end_trace() const;

  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<Tracer> tracer_;
};

}  // namespace wave::emulator

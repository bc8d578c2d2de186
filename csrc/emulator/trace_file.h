// The trace that a launch is asked for: a line for each instruction, behind what the file has.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/emulator_options.h"
#include "base/error.h"
#include "base/output_file.h"
#include "emulator/tracer.h"

namespace wave::emulator {

/// Of one launch.
class TraceFile {
 public:
  /// nullptr where no trace of this kernel is asked for. `interrupted` is OutputFile's. Throws RuntimeError where the
  /// file cannot be opened.
  static std::unique_ptr<TraceFile> open(const EmulatorOptions& options, std::string_view kernel,
                                         const std::function<void()>& interrupted);

  Observer& observer() { return tracer_; }
  /// Behind the launch. Throws RuntimeError where the trace cannot be written.
  void finish();
  /// ... where the launch has failed: the fault, and why the trace is not complete.
  KernelFault finish(const KernelFault& fault);

 private:
  TraceFile(const EmulatorOptions& options, const std::function<void()>& interrupted);

  OutputFile file_;
  Tracer tracer_;
};

}  // namespace wave::emulator

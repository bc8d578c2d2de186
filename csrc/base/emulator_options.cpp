#include "base/emulator_options.h"

#include <charconv>
#include <string_view>

#include "base/environment.h"

namespace wave {

namespace {

/// "GROUP" or "GROUP.WAVE".
void read_trace_only(const Variable& variable, EmulatorOptions& options) {
  if (!variable.is_set()) return;
  const char *at = variable.text.data(), *const end = at + variable.text.size();
  uint64_t workgroup = 0;
  uint32_t wave = 0;
  auto read = std::from_chars(at, end, workgroup);
  const bool has_wave = read.ec == std::errc() && read.ptr != end && *read.ptr == '.';
  if (has_wave) read = std::from_chars(read.ptr + 1, end, wave);
  if (read.ec != std::errc() || read.ptr != end) {
    variable.refuse("a workgroup's number, and after a point a wave's or not", "7.1");
  }
  options.trace_workgroup = workgroup;
  if (has_wave) options.trace_wave = wave;
}

}  // namespace

EmulatorOptions EmulatorOptions::from_environment() {
  constexpr uint64_t kMostInstructions = 1'000'000'000'000'000'000;
  const EnvironmentVariables variables;
  EmulatorOptions options;
  options.sanitizer = Sanitizer::active();
  options.profile = ProfileSession::active();
  if (variables.empty()) return options;
  options.max_instructions = variables["WAVE_RUNTIME_MAX_INSTRUCTIONS"].integer(0, 0, kMostInstructions);
  options.time_limit = variables["WAVE_RUNTIME_TIME_LIMIT"].seconds(0);
  options.deterministic = variables["WAVE_RUNTIME_DETERMINISTIC"].flag();
  options.statistics = variables["WAVE_RUNTIME_STATS"].flag();
  const uint32_t checks = variables["WAVE_RUNTIME_CHECK"].either_or_both("hazards", "races");
  if (checks & 1) options.checks |= kWaitsTool;
  if (checks & 2) options.checks |= kRacesTool;
  options.trace = variables["WAVE_RUNTIME_TRACE"].text;
  options.trace_kernel = variables["WAVE_RUNTIME_TRACE_KERNEL"].text;
  read_trace_only(variables["WAVE_RUNTIME_TRACE_ONLY"], options);
  options.progress_delay = variables["WAVE_RUNTIME_PROGRESS"].seconds(options.progress_delay);
  options.dump = variables["WAVE_RUNTIME_DUMP"].text;
  options.exact_bounds = variables["WAVE_RUNTIME_EMULATOR_BOUNDS"].choice({"exact", "process"}, 1) == 0;
  return options;
}

}  // namespace wave

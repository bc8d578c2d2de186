#include "driver/emulator/observe.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "driver/emulator/environment.h"

namespace wave::emulator {

namespace {

std::FILE* open_trace(const std::string& path) {
  std::FILE* file = path == "-" ? stderr : std::fopen(path.c_str(), "a");
  if (file == nullptr) throw RuntimeError(text("WAVE_RUNTIME_TRACE: cannot open ", path, ": ", std::strerror(errno)));
  return file;
}

TraceFilter trace_filter(const std::string& only) {
  TraceFilter filter;
  if (only.empty()) return filter;
  unsigned long long workgroup = 0;
  unsigned wave = 0;
  int end = 0;
  const int read = std::sscanf(only.c_str(), "%llu%n.%u%n", &workgroup, &end, &wave, &end);
  if (read < 1 || only.size() != static_cast<size_t>(end)) {
    throw ValueError(
        text("WAVE_RUNTIME_TRACE_ONLY=", only, ": expected a workgroup's number, and after a point a wave's"));
  }
  filter.workgroup = workgroup;
  if (read == 2) filter.wave = wave;
  return filter;
}

}  // namespace

std::unique_ptr<Observation> Observation::from_environment() {
  const std::string check = variable("WAVE_RUNTIME_CHECK"), trace = variable("WAVE_RUNTIME_TRACE");
  const bool profiles = is_set("WAVE_RUNTIME_STATS");
  const bool hazards = check == "hazards" || check == "hazards,races",
             races = check == "races" || check == "hazards,races";
  if (!check.empty() && !hazards && !races) {
    throw ValueError(text("WAVE_RUNTIME_CHECK=", check, ": expected hazards, races or hazards,races"));
  }
  if (check.empty() && trace.empty() && !profiles) return nullptr;
  auto observation = std::make_unique<Observation>();
  if (!trace.empty()) {
    std::FILE* file = open_trace(trace);
    if (file != stderr) observation->file_.reset(file);
    observation->tracer_ = std::make_unique<Tracer>(file, trace_filter(variable("WAVE_RUNTIME_TRACE_ONLY")));
    observation->add(*observation->tracer_);
  }
  if (profiles) observation->add(*(observation->profiler_ = std::make_unique<Profiler>()));
  if (hazards) observation->add(*(observation->hazards_ = std::make_unique<HazardChecker>()));
  if (races) observation->add(*(observation->races_ = std::make_unique<RaceChecker>()));
  return observation;
}

void Observation::finish() const {
  if (const auto fault = with_findings(std::nullopt)) throw KernelFault(*fault);
}

KernelFault Observation::finish(const KernelFault& fault) const { return *with_findings(fault); }

std::optional<KernelFault> Observation::with_findings(std::optional<KernelFault> fault) const {
  const auto add = [&](const Findings& findings) {
    if (const auto found = findings.fault()) fault = fault ? fault->followed_by(found->what()) : *found;
  };
  if (hazards_) add(hazards_->findings());
  if (races_) add(races_->findings());
  return fault;
}

std::unique_ptr<const LaunchProfile> Observation::profile() const {
  return profiler_ ? std::make_unique<const LaunchProfile>(profiler_->result()) : nullptr;
}

}  // namespace wave::emulator

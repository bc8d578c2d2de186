// A session of the sanitizer: from when on launches on the emulator are looked at, for what, and where findings go. It
// is the process's: launches of all threads, and of HIP's streams, report to it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/fork_safe.h"
#include "base/tools.h"

namespace wave {

struct SanitizerOptions {
  Tools tools = 0;
  bool over_reads = false;      ///< reads a little past an end are findings of the memory tool, too
  bool denormals = false;       ///< ... and of the tool for numbers what flushes denormals
  bool dead_registers = false;  ///< ... and of the tool for waits reads whose result nobody uses
  bool keeps = true;            ///< findings wait for take(); else they go to the log, or once each to stderr
  std::string log;              ///< a folder in which each process writes a file, a line for each finding; empty: none
};

/// Thread-safe.
class Sanitizer {
 public:
  explicit Sanitizer(SanitizerOptions options) : options(std::move(options)) {}

  const SanitizerOptions options;

  /// What a launch has found. Throws RuntimeError where it cannot be written.
  void add(const std::vector<Finding>& findings);
  /// In JSON, what was found since this was asked last, in the order in which launches ended.
  std::vector<std::string> take();
  /// Whether take() has something.
  bool has_some();

  /// The session that launches report to: the one that began last of those that have not ended, or else the one that
  /// WAVE_RUNTIME_SANITIZE asked for when the library was loaded; nullptr where there is none. Throws ValueError where
  /// the variables mean nothing.
  static std::shared_ptr<Sanitizer> active();
  static void begin(std::shared_ptr<Sanitizer> sanitizer);
  static void end(const Sanitizer& sanitizer);

  /// How much was told on stderr, as a line; empty: nothing. Not for the log, which has it.
  std::string summary();

 private:
  void write(const std::vector<Finding>& findings);
  void write_to_log(const std::vector<Finding>& findings) const;
  void tell(const std::vector<Finding>& findings);

  Mutex mutex_;  ///< guards what follows, and the log
  std::vector<std::string> found_;
  std::set<FindingKey> told_;  ///< on stderr
  uint64_t seen_ = 0;          ///< how often what was told
};

}  // namespace wave

// A line on the terminal about a launch that takes long.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace wave::emulator {

/// Shows on stderr how many workgroups of a launch have ended, how many a second, and the time that is left, and wipes
/// that line when the launch is over. Where stderr is a terminal, from some seconds on; 0: never.
class ProgressBar {
 public:
  ProgressBar(const std::string& kernel, double delay);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(uint64_t finished, uint64_t workgroups);

 private:
  const std::string& kernel_;
  double delay_;  ///< seconds, or 0
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool is_shown_ = false;
};

}  // namespace wave::emulator

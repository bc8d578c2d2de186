#include "emulator/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace wave::emulator {

ProgressBar::ProgressBar(const std::string& kernel, double delay) : kernel_(kernel), delay_(delay) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(uint64_t finished, uint64_t workgroups) {
  if (delay_ <= 0) return;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  if (spent.count() < delay_) return;
  if (!is_shown_ && !isatty(STDERR_FILENO)) {  // asked late, since short launches would notice
    delay_ = 0;
    return;
  }
  is_shown_ = true;
  constexpr size_t kWidth = 24;
  const double share = static_cast<double>(finished) / static_cast<double>(workgroups);
  const double rate = static_cast<double>(finished) / spent.count();
  std::string bar(kWidth, '-');
  std::fill_n(bar.begin(), static_cast<size_t>(share * kWidth), '#');
  std::fprintf(stderr,
               rate < 100 ? "\r\x1b[K%.24s [%s] %llu of %llu workgroups, %.3g/s"
                          : "\r\x1b[K%.24s [%s] %llu of %llu workgroups, %.0f/s",
               kernel_.c_str(), bar.c_str(), static_cast<unsigned long long>(finished),
               static_cast<unsigned long long>(workgroups), rate);
  if (finished != 0) {
    const auto left = static_cast<unsigned long long>(static_cast<double>(workgroups - finished) / rate);
    std::fprintf(stderr, ", %llu:%02llu left", left / 60, left % 60);
  }
  std::fflush(stderr);
}

}  // namespace wave::emulator

// Text that kernels print, on its way to the process's stdout and stderr.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace wave::emulator {

/// What nobody takes, from a pipe that is full, keeps only those waiting who look meanwhile whether the launch goes on.
/// Thread-safe.
class KernelOutput {
 public:
  /// Asked some twenty times a second. Throws where there is no more to be waited for: what is not written is lost
  /// then.
  using Look = std::function<void()>;

  void add(bool is_error, std::string_view text);

  /// Writes what was added, in that order. Where another thread is writing already, it does this thread's part too,
  /// unless there is much of it.
  void write(const Look& look);

 private:
  struct Text {
    bool is_error;
    std::string text;
  };

  static constexpr size_t kMuch = 1 << 20;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Text> texts_;
  size_t size_ = 0;  ///< bytes of them
  bool is_writing_ = false;
};

}  // namespace wave::emulator

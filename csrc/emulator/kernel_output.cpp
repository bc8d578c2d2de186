#include "emulator/kernel_output.h"

#include <poll.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>

namespace wave::emulator {

namespace {

constexpr int kLookMilliseconds = 50;

/// A stream of the process that nobody else writes to meanwhile.
class Locked {
 public:
  explicit Locked(FILE* stream) : stream_(stream) { flockfile(stream); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { funlockfile(stream_); }

 private:
  FILE* const stream_;
};

/// Behind what the process itself has printed. A pipe that can take something takes PIPE_BUF bytes without a wait.
void write_text(FILE* stream, std::string_view text, const KernelOutput::Look& look) {
  const int descriptor = fileno(stream);
  if (descriptor < 0) {  // a stream of the program's own making
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
    return;
  }
  while (!text.empty()) {
    pollfd state{descriptor, POLLOUT, 0};
    if (poll(&state, 1, kLookMilliseconds) <= 0) {
      look();
      continue;
    }
    const Locked locked(stream);
    if (__fpending(stream) != 0) {
      if (std::fflush(stream) != 0 && errno != EAGAIN && errno != EINTR) return;
      continue;
    }
    const ssize_t count = ::write(descriptor, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;  // as stdio does where nobody reads any more
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace

void KernelOutput::add(bool is_error, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (texts_.empty() || texts_.back().is_error != is_error) texts_.push_back({is_error, {}});
  texts_.back().text += text;
  size_ += text.size();
}

void KernelOutput::write(const Look& look) {
  std::unique_lock lock(mutex_);
  while (is_writing_ && size_ > kMuch) {
    changed_.wait_for(lock, std::chrono::milliseconds(kLookMilliseconds));
    lock.unlock();
    look();
    lock.lock();
  }
  if (is_writing_ || texts_.empty()) return;
  is_writing_ = true;
  try {
    while (!texts_.empty()) {
      const Text next = std::move(texts_.front());
      texts_.pop_front();
      size_ -= next.text.size();
      lock.unlock();
      changed_.notify_all();
      write_text(next.is_error ? stderr : stdout, next.text, look);
      lock.lock();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    texts_.clear();
    size_ = 0;
    is_writing_ = false;
    throw;
  }
  is_writing_ = false;
}

}  // namespace wave::emulator

#include "base/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace wave {

namespace {
constexpr size_t kBuffer = 64 * 1024;
}

void OutputFile::refuse(const char* verb, int error) const {
  throw RuntimeError(text(what_, "=", path_, ": cannot ", verb, " it: ", std::strerror(error)));
}

/// Makes a call of the system again that a signal has interrupted.
template <class Call>
auto OutputFile::retried(const char* verb, Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) refuse(verb, errno);
    if (interrupted_) interrupted_();
  }
}

OutputFile::OutputFile(std::string what, std::string path, Mode mode, std::function<void()> interrupted)
    : what_(std::move(what)), path_(std::move(path)), interrupted_(std::move(interrupted)) {
  if (mode == Mode::Append && path_ == "-") {
    file_ = STDERR_FILENO;
  } else {
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == Mode::Append ? O_APPEND : O_TRUNC);
    file_ = retried("open", [&] { return open(path_.c_str(), flags, 0666); });
  }
  struct stat found{};
  may_wait_ = fstat(file_, &found) == 0 && !S_ISREG(found.st_mode);
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  is_ending_ = true;
  try {
    flush();
  } catch (...) {  // an error is under way already
  }
  if (file_ != STDERR_FILENO) ::close(file_);
}

void OutputFile::write(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() >= kBuffer || file_ == STDERR_FILENO) flush();
}

void OutputFile::flush() {
  std::string_view left = waiting_;
  while (!left.empty()) {
    const size_t size = may_wait_ ? wait_for_room(left.size()) : left.size();
    left.remove_prefix(static_cast<size_t>(retried("write", [&] { return ::write(file_, left.data(), size); })));
  }
  waiting_.clear();
}

/// Waits for who reads at the other end. Returns how many bytes can be written then without waiting.
size_t OutputFile::wait_for_room(size_t wanted) {
  constexpr int kMilliseconds = 50;
  pollfd events{file_, POLLOUT, 0};
  while (retried("write", [&] { return poll(&events, 1, kMilliseconds); }) == 0) {
    if (is_ending_) refuse("write", EAGAIN);
    if (interrupted_) interrupted_();
  }
  return std::min<size_t>(wanted, PIPE_BUF);
}

void OutputFile::close() {
  flush();
  const int file = std::exchange(file_, -1);
  if (file == STDERR_FILENO) return;
  if (::close(file) != 0 && errno != EINTR) refuse("write", errno);  // some file systems tell of a full disk here
}

}  // namespace wave

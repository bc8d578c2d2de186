// Files that the product writes for people who asked for them: nothing that does not arrive goes unsaid.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace wave {

/// A file that is written from its beginning to its end. Errors are RuntimeErrors "WHAT=path: cannot write: reason".
class OutputFile {
 public:
  enum class Mode { Replace, Append };

  /// `what` names what asked for the file, such as an environment variable. The path "-" is stderr where the mode is
  /// Append. `interrupted` is called now and then while a pipe that nobody reads makes the program wait; it may throw.
  OutputFile(std::string what, std::string path, Mode mode, std::function<void()> interrupted = {});
  /// Writes what is left, as far as that goes without waiting: close() is who tells.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// All that was written has been taken by the system when this returns.
  void close();

 private:
  void flush();
  size_t wait_for_room(size_t wanted);
  template <class Call>
  auto retried(const char* verb, Call call);
  [[noreturn]] void refuse(const char* verb, int error) const;

  const std::string what_, path_;
  const std::function<void()> interrupted_;
  int file_ = -1;
  bool is_ending_ = false;
  bool may_wait_ = false;  ///< a pipe, a terminal: somebody reads it, or does not
  std::string waiting_;
};

}  // namespace wave

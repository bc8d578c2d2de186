// Python's interpreter lock.
#pragma once

#include <Python.h>

namespace wave {

/// Lets other Python threads run for a scope.
class GilRelease {
 public:
  explicit GilRelease(bool release = true) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~GilRelease() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace wave

// Launches on the emulator that are noted rather than made: what graphs of torch.cuda consist of where a GPU is
// emulated.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "op/call.h"

namespace wave {

/// A launch that was checked, with its tensors. It can be made any number of times.
class RecordedLaunch {
 public:
  explicit RecordedLaunch(const Call& call) : call_(call, tensors_) {}
  RecordedLaunch(const RecordedLaunch&) = delete;
  RecordedLaunch& operator=(const RecordedLaunch&) = delete;

  const Kernel& kernel() const { return call_.kernel; }
  /// Those of the arguments, and those that the kernel was lent.
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

  /// Makes it, on what the tensors hold now. Autograd hears nothing. One launch at a time.
  void launch(Emulation& emulation) {
    call_.emulation = &emulation;
    submit(call_);
  }

 private:
  std::vector<at::Tensor> tensors_;
  Call call_;
};

using LaunchRecorder = std::function<void(std::unique_ptr<RecordedLaunch>)>;

/// Has this thread's launches on tensors in the host's memory go to `recorder`; an empty one has them be made again.
/// What was there before. It is called without the interpreter's lock.
LaunchRecorder set_launch_recorder(LaunchRecorder recorder);

}  // namespace wave

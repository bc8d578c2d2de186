#include "op/recording.h"

#include <utility>

namespace wave {

namespace {

thread_local LaunchRecorder recorder;

}  // namespace

LaunchRecorder set_launch_recorder(LaunchRecorder next) { return std::exchange(recorder, std::move(next)); }

bool record_launch(const Call& call) {
  if (!recorder) return false;
  recorder(std::make_unique<RecordedLaunch>(call));
  return true;
}

}  // namespace wave

#include "op/running_body.h"

namespace wave {

namespace {

thread_local const RunningBody* running = nullptr;

}  // namespace

RunningBody::RunningBody() : outer_(running) { running = this; }
RunningBody::~RunningBody() { running = outer_; }
const RunningBody* RunningBody::current() { return running; }

const RunningBody::Input* RunningBody::undeclared(const c10::StorageImpl* storage) const {
  const Input* found = nullptr;
  for (const Input& input : inputs_) {
    if (input.storage != storage) continue;
    if (input.is_declared) return nullptr;
    if (found == nullptr) found = &input;
  }
  return found;
}

}  // namespace wave

// The order in which streams run what they are given ("Stream semantics" of HIP's and CUDA's manuals).
#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "hip_emulator/runtime.h"
#include "hip_emulator/stream_order.h"

namespace wave::hip_emulator {

namespace {

const Variable& waits = at_load("WAVE_RUNTIME_SYNC");

void invalidate(const std::vector<std::shared_ptr<Capture>>& captures, Code code) {
  if (captures.empty()) return;
  for (const auto& capture : captures) capture->is_invalid = true;
  throw Failure(code);
}

/// Captures of blocking streams of this device: the null stream may do nothing meanwhile, as it would have to wait.
std::vector<std::shared_ptr<Capture>> blocking_captures(int device) {
  std::vector<std::shared_ptr<Capture>> result;
  for (const auto& queue : runtime().streams.all()) {
    if (queue->device == device && queue->blocking && queue->capture) result.push_back(queue->capture);
  }
  return result;
}

void add_some(Markers& markers, std::shared_ptr<Marker> marker) {
  if (marker != nullptr) markers.push_back(std::move(marker));
}

/// Those that end, too, until their work is done.
std::vector<std::shared_ptr<Queue>> all_streams() {
  std::vector<std::shared_ptr<Queue>> result = runtime().streams.all();
  const std::vector<std::shared_ptr<Queue>> ending = runtime().ending_streams.all();
  result.insert(result.end(), ending.begin(), ending.end());
  return result;
}

void add_blocking_streams(int device, Markers& markers) {
  for (const auto& queue : all_streams()) {
    if (queue->device == device && queue->blocking) add_some(markers, queue->last());
  }
}

/// The null stream waits for the blocking streams of its device, and they for it.
void add_implicit(const Queue& queue, Markers& after) {
  if (!queue.blocking) return;
  if (queue.is_null) {
    add_blocking_streams(queue.device, after);
  } else {
    add_some(after, runtime().device(queue.device).null_queue->last());
  }
}

void capture_operation(const std::shared_ptr<Queue>& queue, StreamOperation operation) {
  Capture& capture = *queue->capture;
  if (capture.is_invalid) throw Failure(hipErrorStreamCaptureInvalidated);
  std::vector<NodeRecord*>& last = capture.last[queue.get()];
  last = {&capture.graph->add(std::move(operation), last)};
  if (const auto joined = capture.joined.find(queue); joined != capture.joined.end()) joined->second = true;
}

/// A stream that ends, and its handle among those.
struct EndingStream {
  std::shared_ptr<Queue> queue;
  hip::Stream handle;
};

EndingStream take_handle(hip::Stream stream) {
  std::shared_ptr<OperationGraph> captured;  // which ends without the lock: its objects may call HIP
  std::lock_guard lock(runtime().order);
  std::shared_ptr<Queue> queue = runtime().streams.remove(stream);
  if (queue->capture != nullptr) {
    queue->capture->is_invalid = true;
    if (queue->capture->origin == queue.get()) captured = end_capture(*queue);
  }
  return {queue, runtime().ending_streams.add(queue)};
}

}  // namespace

std::shared_ptr<Marker> submit_locked(const std::shared_ptr<Queue>& queue, StreamOperation operation, Markers after,
                                      const Markers& before_parts) {
  if (queue->capture != nullptr) {
    capture_operation(queue, std::move(operation));
    return nullptr;
  }
  if (queue->is_null) invalidate(blocking_captures(queue->device), hipErrorStreamCaptureImplicit);
  EmulatedDevice& device = runtime().device(queue->device);
  add_implicit(*queue, after);
  std::shared_ptr<const OperationClock> clock;
  if (stream_order().is_watching()) {
    Markers known = after;
    known.insert(known.end(), before_parts.begin(), before_parts.end());
    clock = stream_order().submit(*queue, known);
  }
  std::erase_if(after, [](const std::shared_ptr<Marker>& marker) { return marker->time().has_value(); });
  auto work = [&device, operation = std::move(operation), interrupts = device.interrupts(), clock] {
    const StreamOrder::Running running(clock);
    device.execute(operation, Via::Stream, interrupts);
  };
  std::shared_ptr<Marker> marker = queue->enqueue(std::move(work), std::move(after));
  marker->clock = std::move(clock);
  return marker;
}

std::shared_ptr<Marker> submit(const std::shared_ptr<Queue>& queue, StreamOperation operation, Markers after) {
  std::unique_lock lock(runtime().order);
  std::shared_ptr<Marker> marker = submit_locked(queue, std::move(operation), std::move(after));
  lock.unlock();
  wait_if_asked(*queue, marker.get());
  return marker;
}

void wait_if_asked(const Queue& queue, const Marker* submitted) {
  if (!waits.flag() || submitted == nullptr || runs_host_function()) return;
  submitted->wait();
  stream_order().learn(submitted);
  runtime().device(queue.device).check();
}

Markers last_work(const Queue& queue) {
  Markers result;
  add_some(result, queue.last());
  if (queue.is_null) add_blocking_streams(queue.device, result);
  return result;
}

void check_null_stream(const Queue& queue) {
  require(!queue.is_null || blocking_captures(queue.device).empty(), hipErrorStreamCaptureImplicit);
}

bool synchronize(const std::shared_ptr<Queue>& queue, std::optional<std::chrono::milliseconds> limit) {
  check_may_wait();
  std::shared_ptr<Marker> marker;
  {
    std::lock_guard lock(runtime().order);
    if (queue->capture) invalidate({queue->capture}, hipErrorStreamCaptureUnsupported);
    marker = queue->is_null ? submit_locked(queue, [](Via) {}) : queue->last();
  }
  if (marker != nullptr && !marker->wait(limit)) return false;
  stream_order().learn(marker.get());
  runtime().device(queue->device).check();
  return true;
}

void synchronize(int device) {
  {
    std::lock_guard lock(runtime().order);
    const auto& captures = runtime().captures;
    invalidate({captures.begin(), captures.end()}, hipErrorStreamCaptureUnsupported);
  }
  wait_for_device(device);
}

void wait_for_device(int device) {
  check_may_wait();
  Markers markers;
  {
    std::lock_guard lock(runtime().order);
    for (const auto& queue : all_streams()) {
      if (queue->device == device) add_some(markers, queue->last());
    }
    add_some(markers, runtime().device(device).null_queue->last());
  }
  for (const auto& marker : markers) marker->wait();
  for (const auto& marker : markers) stream_order().learn(marker.get());
  runtime().device(device).check();
}

void record_event(hip::Event handle, hip::Stream stream) {
  const auto queue = find_queue(stream);
  const auto event = runtime().events.find(handle);
  std::lock_guard lock(runtime().order);
  if (queue->capture == nullptr) require(event->device == queue->device, hipErrorInvalidHandle);
  event->capture = queue->capture;
  event->captured_last = queue->capture == nullptr ? std::vector<NodeRecord*>() : queue->capture->last[queue.get()];
  event->marker = queue->capture == nullptr ? submit_locked(queue, [](Via) {}) : nullptr;
}

std::shared_ptr<OperationGraph> end_capture(Queue& origin) {
  const std::shared_ptr<Capture> capture = std::move(origin.capture);
  origin.capture = nullptr;
  for (const auto& [queue, merged] : capture->joined) queue->capture = nullptr;
  capture->joined.clear();
  runtime().captures.erase(capture);
  return std::exchange(capture->graph, nullptr);
}

void end_stream(hip::Stream stream) {
  const auto [queue, handle] = take_handle(stream);
  const std::shared_ptr<Marker> last = queue->last();
  if (last != nullptr) last->wait();
  stream_order().learn(last.get());
  runtime().ending_streams.remove(handle);
}

void leave_stream(hip::Stream stream) {
  const auto [queue, handle] = take_handle(stream);
  queue->enqueue([handle = handle] { runtime().ending_streams.remove(handle); }, {});
}

void check_unsafe_call() {
  const hip::CaptureMode mode = capture_mode();
  if (mode == hip::kCaptureModeRelaxed) return;
  std::lock_guard lock(runtime().order);
  std::vector<std::shared_ptr<Capture>> disturbed;
  for (const auto& capture : runtime().captures) {
    const bool own = capture->thread == std::this_thread::get_id() && capture->mode != hip::kCaptureModeRelaxed;
    const bool global = mode == hip::kCaptureModeGlobal && capture->mode == hip::kCaptureModeGlobal;
    if (own || global) disturbed.push_back(capture);
  }
  invalidate(disturbed, hipErrorStreamCaptureUnsupported);
}

void check_unsafe_copy() {
  {
    std::lock_guard lock(runtime().order);
    invalidate(blocking_captures(current_device()), hipErrorStreamCaptureImplicit);
  }
  check_unsafe_call();
}

}  // namespace wave::hip_emulator

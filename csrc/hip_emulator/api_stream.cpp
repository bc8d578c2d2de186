// Streams and events.
#include <algorithm>
#include <bit>
#include <chrono>

#include "emulator/processor.h"
#include "hip_emulator/api.h"
#include "hip_emulator/stream_order.h"

namespace wave::hip {

namespace {

constexpr int kLeastPriority = 1, kGreatestPriority = -1;

void create_stream(Stream* stream, unsigned flags, int priority = 0, std::vector<uint32_t> units = {}) {
  require(stream != nullptr && flags <= kStreamNonBlocking);
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  auto queue = Queue::make(current_device(), flags != kStreamNonBlocking, Queue::Kind::Made, priority);
  queue->units = std::move(units);
  *stream = runtime().streams.add(std::move(queue));
}

/// A bit for each compute unit of the device.
std::vector<uint32_t> all_units() {
  const size_t count = emulator::device_processor().multiprocessors();
  std::vector<uint32_t> mask((count + 31) / 32, ~uint32_t{0});
  if (count % 32 != 0) mask.back() = (uint32_t{1} << count % 32) - 1;
  return mask;
}

/// `queue` becomes a part of the capture that the event was recorded in.
void join_capture(const std::shared_ptr<Queue>& queue, const EventRecord& event) {
  require(queue->capture == nullptr || queue->capture == event.capture, hipErrorStreamCaptureMerge);
  require(!queue->is_null, hipErrorStreamCaptureImplicit);
  Capture& capture = *event.capture;
  if (queue->capture == nullptr) capture.joined[queue] = false;
  queue->capture = event.capture;
  std::vector<NodeRecord*>& last = capture.last[queue.get()];
  for (NodeRecord* node : event.captured_last) {
    if (std::ranges::find(last, node) == last.end()) last.push_back(node);
  }
}

/// Of an event, as hipEventRecordWithFlags and hipStreamWaitEvent have it: it becomes a node where a stream is
/// captured.
constexpr unsigned kExternal = 1;

/// The same: false where the stream is not captured.
bool capture_external(const std::shared_ptr<Queue>& queue, NodeWork work) {
  if (queue->capture == nullptr) return false;
  submit_locked(queue, {[](Via) {}, std::move(work)});
  return true;
}

void wait_event(const std::shared_ptr<Queue>& queue, const EventRecord& event) {
  if (event.capture != nullptr && runtime().captures.contains(event.capture)) {
    join_capture(queue, event);
  } else if (queue->capture != nullptr) {
    require(event.marker == nullptr, hipErrorStreamCaptureIsolation);
  } else if (event.marker != nullptr && (!event.marker->time() || stream_order().is_watching())) {
    submit_locked(queue, [](Via) {}, {event.marker});
  }
}

/// Throws where there is a capture, which ends in an error.
void check_not_captured(const std::shared_ptr<Capture>& capture, Code code) {
  if (capture == nullptr) return;
  capture->is_invalid = true;
  throw Failure(code);
}

/// What the event waits for; nullptr where it was not recorded. Throws where it was in a capture.
std::shared_ptr<Marker> marker_of(Event handle) {
  const auto event = runtime().events.find(handle);
  std::lock_guard lock(runtime().order);
  check_not_captured(event->capture, hipErrorCapturedEvent);
  return event->marker;
}

void check_has_time(const EventRecord& event) {
  require((event.flags & kEventDisableTiming) == 0, hipErrorInvalidHandle);
}

Marker::Clock::time_point time_of(const Marker& marker) {
  const auto time = marker.time();
  require(time.has_value(), hipErrorNotReady);
  stream_order().learn(&marker);
  return *time;
}

/// As AMD's runtime has them: one of the flags about caches at most, and no times of an event that processes share.
bool are_event_flags(unsigned flags) {
  constexpr unsigned kBlockingSync = 1, kInterprocess = 4;
  constexpr unsigned kDisableFence = 0x20000000, kReleaseToDevice = 0x40000000, kReleaseToSystem = 0x80000000;
  constexpr unsigned kCaches = kDisableFence | kReleaseToDevice | kReleaseToSystem;
  return (flags & ~(kBlockingSync | kEventDisableTiming | kInterprocess | kCaches)) == 0 &&
         std::popcount(flags & kCaches) <= 1 && ((flags & kInterprocess) == 0 || (flags & kEventDisableTiming) != 0);
}

}  // namespace

Error hipStreamCreate(Stream* stream) {
  return call(__func__, [&] { create_stream(stream, 0); });
}

Error hipStreamCreateWithFlags(Stream* stream, unsigned flags) {
  return call(__func__, [&] { create_stream(stream, flags); });
}

Error hipStreamCreateWithPriority(Stream* stream, unsigned flags, int priority) {
  return call(__func__, [&] { create_stream(stream, flags, priority); });
}

/// A mask of compute units is taken, and every stream has all of them.
Error hipExtStreamCreateWithCUMask(Stream* stream, uint32_t words, const uint32_t* mask) {
  return call(__func__, [&] {
    require(words != 0 && mask != nullptr);
    std::vector<uint32_t> units(mask, mask + words);
    if (std::ranges::count(units, 0u) == words) units.clear();  // which stands for all, as in AMD's runtime
    create_stream(stream, 0, 0, std::move(units));
  });
}

Error hipExtStreamGetCUMask(Stream stream, uint32_t words, uint32_t* mask) {
  return call(__func__, [&] {
    const std::vector<uint32_t> all = all_units(), &own = find_queue(stream)->units;
    require(mask != nullptr && words >= std::max(all.size(), own.size()));
    std::ranges::copy(own.empty() ? all : own, mask);
  });
}

Error hipStreamGetFlags(Stream stream, unsigned* flags) {
  return call(__func__, [&] {
    require(flags != nullptr && stream != nullptr);
    *flags = find_queue(stream)->blocking ? 0u : unsigned{kStreamNonBlocking};
  });
}

Error hipStreamGetPriority(Stream stream, int* priority) {
  return call(__func__, [&] {
    require(priority != nullptr);
    *priority = find_queue(stream)->priority;
  });
}

Error hipStreamGetDevice(Stream stream, Device* device) {
  return call(__func__, [&] {
    require(device != nullptr);
    *device = find_queue(stream)->device;
  });
}

Error hipStreamGetId(Stream stream, unsigned long long* id) {
  return call(__func__, [&] {
    require(id != nullptr);
    *id = reinterpret_cast<uintptr_t>(find_queue(stream).get());
  });
}

Error hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, [&] {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
  });
}

Error hipStreamDestroy(Stream stream) {
  return call(__func__, [&] {
    require(stream != nullptr && stream != kPerThreadStream, hipErrorInvalidHandle);
    check_may_wait();
    end_stream(stream);
  });
}

Error hipStreamSynchronize(Stream stream) {
  return call(__func__, [&] {
    const auto queue = find_queue(stream);
    check_unsafe_call();
    synchronize(queue);
  });
}

Error hipStreamQuery(Stream stream) {
  return call(__func__, [&] {
    const auto queue = find_queue(stream);
    Markers last;
    {
      std::lock_guard lock(runtime().order);
      check_not_captured(queue->capture, hipErrorStreamCaptureUnsupported);
      last = last_work(*queue);
    }
    for (const auto& marker : last) require(marker->time().has_value(), hipErrorNotReady);
    for (const auto& marker : last) stream_order().learn(marker.get());
    runtime().device(queue->device).check();
  });
}

Error hipStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  return call(__func__, [&] {
    const auto queue = find_queue(stream, hipErrorInvalidHandle);
    require(event != nullptr, hipErrorInvalidHandle);
    require(flags <= kExternal);
    const auto waited = runtime().events.find(event);
    std::lock_guard lock(runtime().order);
    if (flags == kExternal && capture_external(queue, WaitWork{event})) return;
    wait_event(queue, *waited);
  });
}

/// -1 of what is no stream.
int hipGetStreamDeviceId(Stream stream) {
  int device = -1;
  call(__func__, [&] { device = find_queue(stream)->device; });
  return device;
}

Error hipEventCreateWithFlags(Event* event, unsigned flags) {
  return call(__func__, [&] {
    require(event != nullptr && are_event_flags(flags));
    *event = runtime().events.add(std::make_shared<EventRecord>(flags, current_device()));
  });
}

Error hipEventCreate(Event* event) { return hipEventCreateWithFlags(event, 0); }

Error hipEventRecord(Event event, Stream stream) {
  return call(__func__, [&] { record_event(event, stream); });
}

Error hipEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  return call(__func__, [&] {
    require(flags <= kExternal);
    if (flags == kExternal) {
      const auto queue = find_queue(stream);
      runtime().events.find(event);  // must be there
      std::lock_guard lock(runtime().order);
      if (capture_external(queue, RecordWork{event})) return;
    }
    record_event(event, stream);
  });
}

Error hipEventSynchronize(Event event) {
  return call(__func__, [&] {
    const auto marker = marker_of(event);
    check_may_wait();
    if (marker != nullptr) marker->wait();
    stream_order().learn(marker.get());
    for (const auto& device : runtime().devices) device->check();
  });
}

Error hipEventQuery(Event event) {
  return call(__func__, [&] {
    const auto marker = marker_of(event);
    require(marker == nullptr || marker->time(), hipErrorNotReady);
    stream_order().learn(marker.get());
  });
}

Error hipEventElapsedTime(float* milliseconds, Event start, Event stop) {
  return call(__func__, [&] {
    require(milliseconds != nullptr);
    const auto first = runtime().events.find(start), last = runtime().events.find(stop);
    require(first->device == last->device, hipErrorInvalidHandle);
    check_has_time(*first);
    check_has_time(*last);
    const auto begin = marker_of(start), end = marker_of(stop);
    require(begin != nullptr && end != nullptr, hipErrorInvalidHandle);
    const auto elapsed = time_of(*end) - time_of(*begin);
    *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
  });
}

Error hipEventDestroy(Event event) {
  return call(__func__, [&] {
    require(event != nullptr, hipErrorInvalidHandle);
    runtime().events.remove(event, hipErrorContextIsDestroyed);
  });
}

}  // namespace wave::hip

// What streams do besides launches and copies: functions of the host, waits for values in memory, and writes of them.
#include <atomic>
#include <chrono>
#include <thread>

#include "hip_emulator/api.h"
#include "hip_emulator/stream_order.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

/// Others write it meanwhile: kernels, streams, the host.
template <class T>
T load(const T* value) {
  return std::atomic_ref<T>(*const_cast<T*>(value)).load(std::memory_order_acquire);
}

template <class T>
void check_value(const T* value) {
  const auto address = reinterpret_cast<uint64_t>(value);
  require(value != nullptr && address % sizeof(T) == 0);
  check_span({address, sizeof(T)});
}

template <class T>
bool is_met(T found, T value, T mask, unsigned flags) {
  found &= mask;
  switch (flags) {
    case kWaitAtLeast:
      return found >= value;
    case kWaitEqual:
      return found == value;
    case kWaitAnd:
      return (found & value) != 0;
    default:
      return static_cast<T>(~(found | (value & mask))) != 0;
  }
}

template <class T>
Error wait_value(const char* function, Stream stream, void* memory, T value, unsigned flags, T mask) {
  return call(function, [&] {
    const T* const at = static_cast<const T*>(memory);
    check_value(at);
    require(flags <= kWaitNor);
    stream_order().give_up();
    const auto queue = find_queue(stream);
    const EmulatedDevice& device = runtime().device(queue->device);
    submit(queue, [=, &device](Via via) {
      check_again(via, {reinterpret_cast<uint64_t>(at), sizeof(T)});
      while (!is_met(load(at), value, mask, flags)) {
        check_not_stopped();
        if (device.error() != hipSuccess) return;  // nothing that could write the value runs any more
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  });
}

template <class T>
Error write_value(const char* function, Stream stream, void* memory, T value) {
  return call(function, [&] {
    T* const at = static_cast<T*>(memory);
    check_value(at);
    stream_order().give_up();
    submit(find_queue(stream), [=](Via via) {
      check_again(via, {reinterpret_cast<uint64_t>(at), sizeof(T)});
      std::atomic_ref<T>(*at).store(value, std::memory_order_release);
    });
  });
}

}  // namespace

Error hipLaunchHostFunc(Stream stream, HostFunction function, void* data) {
  return call(__func__, [&] {
    require(function != nullptr);
    const auto run = [=](Via) {
      const RunsHostFunction runs;
      function(data);
    };
    submit(find_queue(stream), {run, HostWork{{function, data}}});
  });
}

Error hipStreamAddCallback(Stream stream, StreamCallback callback, void* data, unsigned flags) {
  return call(__func__, [&] {
    require(callback != nullptr && flags == 0);
    const auto queue = find_queue(stream);
    StreamOperation operation([=, device = queue->device](Via) {
      const RunsHostFunction runs;
      callback(stream, static_cast<Error>(runtime().device(device).error()), data);
    });
    operation.runs_after_errors = true;  // which programs wait for
    submit(queue, std::move(operation));
  });
}

Error hipStreamWaitValue32(Stream stream, void* memory, uint32_t value, unsigned flags, uint32_t mask) {
  return wait_value(__func__, stream, memory, value, flags, mask);
}
Error hipStreamWaitValue64(Stream stream, void* memory, uint64_t value, unsigned flags, uint64_t mask) {
  return wait_value(__func__, stream, memory, value, flags, mask);
}
Error hipStreamWriteValue32(Stream stream, void* memory, uint32_t value, unsigned) {
  return write_value(__func__, stream, memory, value);
}
Error hipStreamWriteValue64(Stream stream, void* memory, uint64_t value, unsigned) {
  return write_value(__func__, stream, memory, value);
}

}  // namespace wave::hip

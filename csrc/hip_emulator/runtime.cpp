#include "hip_emulator/runtime.h"

#include <pthread.h>

#include <charconv>
#include <map>
#include <string_view>

#include "base/environment.h"
#include "base/error.h"
#include "base/fork_safe.h"
#include "emulator/dispatch.h"
#include "hip_emulator/stream_order.h"

namespace wave::hip_emulator {

namespace {

const Variable& device_count = at_load("WAVE_RUNTIME_EMULATOR_DEVICES");
std::atomic<Runtime*> started{nullptr};
std::atomic<bool> ending{false};
std::atomic<bool> used{false};  ///< the runtime, by more than the registration of what the program has
std::atomic<bool> forked{false};
// A child has none of its parent's threads. What the parent had not used yet has none, and the child uses its own.
[[maybe_unused]] const int watching = pthread_atfork(nullptr, nullptr, [] { forked = forked || used; });

/// The streams hipStreamPerThread of one thread, which end with it. The thread does not wait for their work: others may
/// wait for the thread before they do what that work waits for, and exit(), which waits for no work, comes here first.
struct ThreadStreams {
  std::map<int, hip::Stream> by_device;
  ~ThreadStreams() {
    if (ending || forked) return;
    for (const auto& [device, stream] : by_device) leave_stream(stream);
  }
};

/// What this thread executes.
struct Executed {
  const EmulatedDevice* device = nullptr;
  unsigned interrupts = 0;
};
thread_local Executed executed;

thread_local bool null_stream_is_per_thread = false;
thread_local bool host_function_runs = false;

/// How many devices HIP_VISIBLE_DEVICES leaves of those that there are: as many as its ordinals name up to the first
/// that names none. Programs set it before their first call of HIP. The devices are alike, and numbered anew.
uint64_t visible_devices(uint64_t count) {
  constexpr std::string_view kName = "HIP_VISIBLE_DEVICES=";
  std::string_view list;
  for (char** entry = inherited_environment(); *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with(kName)) list = std::string_view(*entry).substr(kName.size());
  }
  if (list.empty()) return count;
  std::set<uint64_t> visible;
  for (const char *at = list.data(), *end = at + list.size(); at < end; ++at) {
    uint64_t ordinal = 0;
    const auto [behind, error] = std::from_chars(at, end, ordinal);
    if (error != std::errc() || ordinal >= count || (behind != end && *behind != ',')) break;
    visible.insert(ordinal);
    at = behind;
  }
  return visible.size();
}

/// Ends an operation that nobody waits for any more.
struct OperationStopped {};

/// Before what the emulator needs is destroyed, no thread may use it any more.
__attribute__((destructor)) void stop() {
  Runtime* const runtime = started.load();
  if (runtime == nullptr || forked) return;
  ending = true;
  for (const auto& queue : runtime->streams.all()) queue->stop();
  for (const auto& queue : runtime->ending_streams.all()) queue->stop();
  for (const auto& device : runtime->devices) device->null_queue->stop();
  Queue::stop_left();
}

}  // namespace

Runtime::Runtime() {
  constexpr uint64_t kMost = 64;
  const uint64_t count = visible_devices(device_count.integer(1, 1, kMost));
  for (int device = 0; device < static_cast<int>(count); ++device) {
    devices.push_back(std::make_unique<EmulatedDevice>(device, pools.add(std::make_shared<PoolState>(device))));
  }
}

Runtime& runtime_before_use() {
  static auto& made = *new Lazy<Runtime*>;
  return *made.get([] {
    started = new Runtime();
    return started.load();
  });
}

Runtime& runtime() {
  if (!used.load(std::memory_order_relaxed)) used = true;
  return runtime_before_use();
}

bool is_forked() { return forked; }

void check_alive() {
  if (forked) throw Failure(hipErrorNotInitialized, "a forked process cannot use the device: start it with spawn");
  if (ending) throw Failure(hipErrorDeinitialized);
}

RunsHostFunction::RunsHostFunction() : runs_already_(host_function_runs) {
  stream_order().learn_running();
  host_function_runs = true;
}
RunsHostFunction::~RunsHostFunction() { host_function_runs = runs_already_; }
bool runs_host_function() { return host_function_runs; }

void check_may_wait() {
  require(!host_function_runs, hipErrorIllegalState,
          "a function of the host in a stream must not wait for the device, which waits for it");
}

void wait_for_devices() {
  if (!used || ending || forked) return;
  check_may_wait();
  for (size_t device = 0; device < runtime().devices.size(); ++device) {
    try {
      wait_for_device(static_cast<int>(device));
    } catch (const Failure&) {
    }
  }
}

int& current_device() {
  thread_local int device = 0;
  return device;
}

hip::CaptureMode& capture_mode() {
  thread_local hip::CaptureMode mode = hip::kCaptureModeGlobal;
  return mode;
}

EmulatedDevice& Runtime::device(int ordinal) {
  require(ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size(), hipErrorInvalidDevice);
  return *devices[static_cast<size_t>(ordinal)];
}

void EmulatedDevice::execute(const StreamOperation& operation, Via via, unsigned interrupts) {
  if (error_ != hipSuccess && !operation.runs_after_errors) return;
  executed = {this, interrupts};
  try {
    check_not_stopped();
    operation(via);
  } catch (const OperationStopped&) {
  } catch (const KernelFault& fault) {
    if (ending) return;
    report("kernel fault", fault.what());
    error_ = fault.address && fault.is_access ? hipErrorIllegalAddress : hipErrorLaunchFailure;
  } catch (...) {
    if (!ending) error_ = current_code("asynchronous operation");
  }
}

void check_not_stopped() {
  if (ending || executed.device->interrupts() != executed.interrupts) throw OperationStopped();
}

void EmulatedDevice::check() const {
  if (const Code error = error_; error != hipSuccess) throw Failure(error);
}

hip::Function function_handle(const std::shared_ptr<EmulatedModule>& module, const KernelInfo* kernel) {
  std::lock_guard lock(module->mutex);
  hip::Function& handle = module->functions[kernel->metadata.name];
  if (handle == nullptr) handle = runtime().functions.add(std::make_shared<KernelFunction>(module, kernel));
  return handle;
}

NullStreamIsPerThread::NullStreamIsPerThread() { null_stream_is_per_thread = true; }
NullStreamIsPerThread::~NullStreamIsPerThread() { null_stream_is_per_thread = false; }

std::shared_ptr<KernelFunction> find_kernel(hip::Function function) { return runtime().functions.find(function); }

std::shared_ptr<Queue> find_queue(hip::Stream stream, Code unknown) {
  if (stream == nullptr && null_stream_is_per_thread) stream = kPerThreadStream;
  if (stream == nullptr || stream == kLegacyStream) return runtime().device(current_device()).null_queue;
  if (stream != kPerThreadStream) return runtime().streams.find(stream, unknown);
  thread_local ThreadStreams own;
  hip::Stream& handle = own.by_device[current_device()];
  if (handle == nullptr) handle = runtime().streams.add(Queue::make(current_device(), true, Queue::Kind::OfThread));
  return runtime().streams.find(handle);
}

}  // namespace wave::hip_emulator

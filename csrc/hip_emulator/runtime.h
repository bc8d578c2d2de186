// The state of the emulated HIP runtime: devices, handles, and the order of what is submitted.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emulator/device_heap.h"
#include "hip_emulator/capture.h"
#include "hip_emulator/device_memory.h"
#include "hip_emulator/errors.h"
#include "hip_emulator/graph.h"
#include "hip_emulator/handles.h"
#include "hip_emulator/hip_handles.h"
#include "hip_emulator/module.h"
#include "hip_emulator/queue.h"

namespace wave::hip_emulator {

/// hipMemPool_t. Memory of it is used and given back like any other; a pool counts it.
struct PoolState {
  explicit PoolState(int device, size_t size_limit = 0) : device(device), size_limit(size_limit) {}

  const int device;
  const size_t size_limit;  ///< in bytes; 0: none
  const std::shared_ptr<PoolUse> use = std::make_shared<PoolUse>();
  std::array<std::atomic<uint64_t>, 5> settings{0, 1, 1, 1, 0};  ///< by hip::PoolAttribute, up to the threshold
};

/// A device. Thread-safe.
class EmulatedDevice {
 public:
  EmulatedDevice(int ordinal, hip::MemoryPool pool)
      : null_queue(Queue::make(ordinal, true, Queue::Kind::Null)), default_pool_(pool), current_pool_(pool) {}

  /// Runs an operation, unless one has failed before; what it throws is the device's error from then on. `interrupts`
  /// is what interrupts() was when it was submitted: it is dropped, or stopped, where that has changed.
  void execute(const StreamOperation& operation, Via via, unsigned interrupts);
  unsigned interrupts() const { return interrupts_; }
  void interrupt() { ++interrupts_; }
  /// Throws the error of an operation that has failed.
  void check() const;
  /// hipSuccess while none has.
  Code error() const { return error_; }
  void reset() { error_ = hipSuccess; }

  /// Whether it was not there before, or was there.
  bool add_peer(int device) { return (peers_.fetch_or(uint64_t{1} << device) >> device & 1) == 0; }
  bool remove_peer(int device) { return (peers_.fetch_and(~(uint64_t{1} << device)) >> device & 1) != 0; }

  hip::MemoryPool default_pool() const { return default_pool_; }
  hip::MemoryPool current_pool() const { return current_pool_; }
  void set_pool(hip::MemoryPool pool) { current_pool_ = pool; }
  /// Makes the default pool the current one where it was this.
  void forget_pool(hip::MemoryPool pool) { current_pool_.compare_exchange_strong(pool, default_pool_); }

  const std::shared_ptr<Queue> null_queue;
  const std::shared_ptr<PoolUse> graph_memory = std::make_shared<PoolUse>();  ///< that nodes of graphs allocate
  std::atomic<unsigned> flags{0};                                             ///< of hipSetDeviceFlags
  std::array<std::atomic<size_t>, 3> limits{
      1024, 1 << 20, emulator::DeviceHeap::kSize};  ///< of hipDeviceSetLimit: stack, printf, heap

 private:
  const hip::MemoryPool default_pool_;
  std::atomic<hip::MemoryPool> current_pool_;
  std::atomic<uint64_t> peers_{0};  ///< a bit for each device
  std::atomic<Code> error_{hipSuccess};
  std::atomic<unsigned> interrupts_{0};
};

struct Runtime {
  Runtime();

  std::vector<std::unique_ptr<EmulatedDevice>> devices;
  Allocations memory;
  Handles<hip::Module, EmulatedModule> modules;
  Handles<hip::Function, KernelFunction> functions;
  Handles<hip::Stream, Queue> streams{hipErrorContextIsDestroyed};
  Handles<hip::Stream, Queue> ending_streams;  ///< under other handles, which nobody has
  Handles<hip::Event, EventRecord> events;
  Handles<hip::MemoryPool, PoolState> pools{hipErrorInvalidValue};
  Handles<hip::Array, class ArrayState> arrays;
  Handles<hip::Graph, OperationGraph> graphs{hipErrorInvalidValue};
  Handles<hip::GraphNode, NodeRecord> nodes{hipErrorInvalidValue};
  Handles<hip::GraphExec, ReadyGraph> execs{hipErrorInvalidValue};
  Handles<hip::UserObject, KeptObject> user_objects{hipErrorInvalidValue};

  std::mutex order;  ///< held while something is submitted or captured; guards what follows, captures and events
  std::set<std::shared_ptr<Capture>> captures;  ///< under way

  EmulatedDevice& device(int ordinal);  ///< throws hipErrorInvalidDevice
};

/// Never destroyed. Its threads are stopped when the process ends. Children of fork() cannot use it any more.
Runtime& runtime();
/// The same for what the program registers before it uses anything: children of fork() may do so, too.
Runtime& runtime_before_use();

/// The handle of a module's kernel: the same for each call, until the module is unloaded.
hip::Function function_handle(const std::shared_ptr<EmulatedModule>& module, const KernelInfo* kernel);

/// While it lives, the calling thread, a stream's, runs a function of the host, which knows that what comes before it
/// in the stream is done. What would wait for streams is refused.
struct RunsHostFunction {
  RunsHostFunction();
  RunsHostFunction(const RunsHostFunction&) = delete;
  ~RunsHostFunction();

 private:
  const bool runs_already_;
};
bool runs_host_function();
/// Throws hipErrorIllegalState in such a function, for which the streams wait themselves.
void check_may_wait();

/// Throws where the operation that this thread executes must stop: the process ends, or the device was interrupted.
void check_not_stopped();

/// The ordinal of the calling thread's device.
int& current_device();

/// hipStreamLegacy, hipStreamPerThread
inline const hip::Stream kLegacyStream = reinterpret_cast<hip::Stream>(uintptr_t{1});
inline const hip::Stream kPerThreadStream = reinterpret_cast<hip::Stream>(uintptr_t{2});

/// The work of a stream; of the null stream, of the calling thread's own (hipStreamPerThread). Throws `unknown`.
std::shared_ptr<Queue> find_queue(hip::Stream stream, Code unknown = hipErrorContextIsDestroyed);
/// Throws where no module has it.
std::shared_ptr<KernelFunction> find_kernel(hip::Function function);
/// What the stream was given last, done or not; of the null stream, what the streams were that it waits for, too.
Markers last_work(const Queue& queue);
/// Throws hipErrorStreamCaptureImplicit where the null stream would have to wait for streams that are captured.
void check_null_stream(const Queue& queue);

/// While it lives, the null stream of the calling thread's calls is hipStreamPerThread. For the entry points whose
/// names end with _spt, which programs call that are compiled with HIP_API_PER_THREAD_DEFAULT_STREAM.
struct NullStreamIsPerThread {
  NullStreamIsPerThread();
  NullStreamIsPerThread(const NullStreamIsPerThread&) = delete;
  ~NullStreamIsPerThread();
};

/// Enqueues an operation in its place, after `after` too, or captures it: then the result is nullptr. Throws where a
/// capture does not allow it. With WAVE_RUNTIME_SYNC=1 it waits for the operation, and throws its error.
std::shared_ptr<Marker> submit(const std::shared_ptr<Queue>& queue, StreamOperation operation, Markers after = {});
/// The same under Runtime::order, which the caller holds, and without waiting. `before_parts` are what the operation
/// waits for itself, before some part of it.
std::shared_ptr<Marker> submit_locked(const std::shared_ptr<Queue>& queue, StreamOperation operation,
                                      Markers after = {}, const Markers& before_parts = {});
/// The rest of submit(), without the lock. A function of the host in a stream is not made to wait.
void wait_if_asked(const Queue& queue, const Marker* submitted);

/// Waits for all that the stream, or the whole device, was given; false where the limit was over before. Throws the
/// device's error, and ends captures in an error, which do not allow it.
bool synchronize(const std::shared_ptr<Queue>& queue, std::optional<std::chrono::milliseconds> limit = std::nullopt);
void synchronize(int device);
/// Waits for the device beside captures, which know nothing of it. Throws the device's error.
void wait_for_device(int device);
/// The same for all devices. Those that failed run nothing any more, and are no error. Nothing where no runtime began.
/// Throws as check_may_wait does.
void wait_for_devices();

/// hipEventRecord. Throws Failure.
void record_event(hip::Event event, hip::Stream stream);

/// Takes the streams of the capture that began in `origin` out of it, and returns its graph, which events that were
/// recorded in it keep no longer. Under Runtime::order, which the caller holds.
std::shared_ptr<OperationGraph> end_capture(Queue& origin);

/// Ends a stream: its handle at once, and the rest when its work is done. Until then whoever waits for the device waits
/// for that, too. Its capture is ended in an error. The first one waits for that work, the second one does not.
void end_stream(hip::Stream stream);
void leave_stream(hip::Stream stream);

/// Throws hipErrorStreamCaptureUnsupported, and ends the captures in an error, where this thread may not call what can
/// disturb a capture: allocations, synchronous copies.
void check_unsafe_call();

/// The same for copies and fills in the null stream: hipErrorStreamCaptureImplicit where a capture's stream and the
/// null stream wait for each other.
void check_unsafe_copy();

/// The calling thread's mode for check_unsafe_call (hipThreadExchangeStreamCaptureMode).
hip::CaptureMode& capture_mode();

}  // namespace wave::hip_emulator

// The tests of streams, events, captures, graphs, threads and processes: a part of the program of
// hip_emulator_test.cpp.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "hip_program.h"

namespace {

constexpr hip::Error kDestroyed = 709;  // hipErrorContextIsDestroyed, of handles that are no streams any more

TEST(streams) {
  Slow slow;
  const hip::Stream stream = new_stream(), other = new_stream();
  const hip::Event event = new_event(), begin = new_event();
  OK(api.hipEventQuery(event));  // was never recorded
  float milliseconds = -1;
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, begin, event), 400);
  OK(api.hipEventRecord(begin, stream));
  for (int i = 0; i < 4; ++i) slow.enqueue(stream);
  EXPECT_EQ(api.hipStreamQuery(stream), 600);  // it runs asynchronously
  const hip::Event running = new_event();
  OK(api.hipEventRecord(running, stream));
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, event, running), 400);
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, running, event), 400);
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, begin, running), 600);
  OK(api.hipEventDestroy(running));
  OK(api.hipEventRecord(event, stream));
  EXPECT_EQ(api.hipEventQuery(event), 600);
  OK(api.hipStreamQuery(other));  // which the other does not wait for
  const Buffer<unsigned> copy(1);
  OK(api.hipStreamWaitEvent(other, event, 0));
  OK(api.hipMemcpyDtoDAsync(copy.data, slow.steps.data + Slow::kItems - 1, sizeof(unsigned), other));
  OK(api.hipStreamSynchronize(other));
  EXPECT_EQ(copy.values()[0], 524u);
  OK(api.hipEventSynchronize(event));
  OK(api.hipEventElapsedTime(&milliseconds, begin, event));
  EXPECT_EQ(milliseconds > 0, true);
  OK(api.hipEventDestroy(event));
  EXPECT_EQ(api.hipEventQuery(event), 400);
  OK(api.hipStreamDestroy(stream));
  EXPECT_EQ(api.hipEventDestroy(event), kDestroyed);
  EXPECT_EQ(api.hipEventDestroy(nullptr), 400);
  EXPECT_EQ(api.hipStreamSynchronize(stream), kDestroyed);
  EXPECT_EQ(api.hipStreamDestroy(stream), kDestroyed);
  EXPECT_EQ(api.hipStreamDestroy(nullptr), 400);
  EXPECT_EQ(launch(slow.module["collatz"], 1, 64, stream, nullptr, nullptr, 0), 1);
}

TEST(event_flags) {
  hip::Event event = nullptr;
  constexpr unsigned kDisableTiming = 2, kInterprocess = 4, kToDevice = 0x40000000, kToSystem = 0x80000000;
  for (const unsigned flags : {0u, 3u, kToDevice, kToSystem, kInterprocess | kDisableTiming}) {
    OK(api.hipEventCreateWithFlags(&event, flags));
    OK(api.hipEventDestroy(event));
  }
  for (const unsigned flags : {8u, kInterprocess, kToDevice | kToSystem}) {
    EXPECT_EQ(api.hipEventCreateWithFlags(&event, flags), 1);
  }
}

/// What a stream was made with is told again; of compute units, all where it was made without.
TEST(units) {
  const uint32_t some = 0xF0F0;
  uint32_t mask[10] = {}, flags = 0;
  hip::Stream stream = nullptr;
  OK(api.hipExtStreamCreateWithCUMask(&stream, 1, &some));
  OK(api.hipExtStreamGetCUMask(stream, 10, mask));
  EXPECT_EQ(mask[0], some);
  OK(api.hipExtStreamGetCUMask(nullptr, 10, mask));
  EXPECT_EQ(mask[0], ~0u);  // of 304
  EXPECT_EQ(mask[9], 0xFFFFu);
  const uint32_t none[2] = {};
  OK(api.hipExtStreamCreateWithCUMask(&stream, 2, none));
  OK(api.hipExtStreamGetCUMask(stream, 10, mask));
  EXPECT_EQ(mask[9], 0xFFFFu);
  EXPECT_EQ(api.hipExtStreamGetCUMask(nullptr, 9, mask), 1);
  EXPECT_EQ(api.hipExtStreamGetCUMask(nullptr, 10, nullptr), 1);
  EXPECT_EQ(api.hipStreamGetFlags(nullptr, &flags), 1);
}

/// The null stream waits for blocking streams and they for it; streams that do not block, for neither.
TEST(null_stream) {
  Slow slow;
  const hip::Stream blocking = new_stream(0), independent = new_stream();
  unsigned steps = 0;
  slow.enqueue(blocking);
  EXPECT_EQ(api.hipStreamQuery(nullptr), 600);  // which would wait for it
  OK(api.hipMemcpy(&steps, slow.steps.data + Slow::kItems - 1, sizeof(steps), hip::kDeviceToHost));
  EXPECT_EQ(steps, 524u);
  OK(api.hipMemset(slow.steps.data, 0, Slow::kItems * sizeof(unsigned)));
  for (int i = 0; i < 4; ++i) slow.enqueue(nullptr);
  OK(api.hipMemsetAsync(slow.start.data, 0, sizeof(unsigned), blocking));  // after all reads of it
  OK(api.hipStreamQuery(independent));
  EXPECT_EQ(api.hipStreamQuery(nullptr), 600);
  OK(api.hipStreamSynchronize(blocking));
  EXPECT_EQ(slow.is_done(), true);
  const Loaded module(basics());
  const Buffer<float> a(ramp(0));
  OK(launch(module["vector_add"], 4, 256, kPerThread, a.data, a.data, a.data, kCount));
  OK(api.hipStreamSynchronize(kPerThread));
  EXPECT_EQ(a.values()[1], 2.0f);
}

/// The pageable source of an asynchronous copy may be changed when the call returns.
TEST(pageable) {
  Slow slow;
  const hip::Stream stream = new_stream();
  const Buffer<int> to(1);
  for (int i = 0; i < 4; ++i) slow.enqueue(stream);
  int value = 42;
  OK(api.hipMemcpyHtoDAsync(to.data, &value, sizeof(value), stream));
  EXPECT_EQ(api.hipStreamQuery(stream), 600);
  value = 0;
  OK(api.hipMemcpyDtoHAsync(&value, to.data, sizeof(value), stream));
  EXPECT_EQ(value, 42);  // and the destination has what it gets
}

/// Fills of device memory are asynchronous, as in AMD's runtime; fills of the host's are not.
TEST(fills_return) {
  Slow slow;
  void* pinned = nullptr;
  OK(api.hipHostMalloc(&pinned, 64, 0));
  for (int i = 0; i < 4; ++i) slow.enqueue(nullptr);
  OK(api.hipMemset(slow.start.data, 0, 64));
  EXPECT_EQ(api.hipStreamQuery(nullptr), 600);
  OK(api.hipMemset(pinned, 1, 64));
  OK(api.hipStreamQuery(nullptr));
  OK(api.hipHostFree(pinned));
}

TEST(graphs) {
  const Loaded module(basics());
  const Buffer<float> a(ramp(0)), c(kCount);
  const hip::Stream stream = new_stream();
  hip::Graph graph = nullptr;
  hip::GraphExec exec = nullptr;
  hip::CaptureStatus status{};
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipStreamIsCapturing(stream, &status));
  EXPECT_EQ(static_cast<int>(status), 1);
  OK(launch(module["vector_add"], 4, 256, stream, a.data, a.data, c.data, kCount));
  OK(launch(module["vector_add"], 4, 256, stream, c.data, c.data, a.data, kCount));
  OK(api.hipMemsetAsync(c.data, 0, sizeof(float) * kCount, stream));
  OK(api.hipStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  OK(api.hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, size_t{3});
  EXPECT_EQ(a.values()[1], 1.0f);  // nothing has run
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(a.values()[1], 64.0f);
  EXPECT_EQ(c.values()[1], 0.0f);
  OK(api.hipGraphExecDestroy(exec));
  EXPECT_EQ(api.hipGraphLaunch(exec, stream), 1);
}

/// What must not happen during a capture, and captures over several streams.
TEST(captures) {
  const hip::Stream stream = new_stream(), side = new_stream();
  hip::Graph graph = nullptr;
  void* pointer = nullptr;
  EXPECT_EQ(api.hipStreamBeginCapture(nullptr, hip::kCaptureModeGlobal), 900);
  EXPECT_EQ(api.hipStreamBeginCapture(reinterpret_cast<hip::Stream>(0x123), hip::kCaptureModeGlobal), kDestroyed);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 401);

  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  EXPECT_EQ(api.hipMalloc(&pointer, 64), 900);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);

  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  hip::CaptureMode mode = hip::kCaptureModeRelaxed;
  OK(api.hipThreadExchangeStreamCaptureMode(&mode));
  OK(api.hipMalloc(&pointer, 64));
  OK(api.hipThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(static_cast<int>(mode), 2);
  OK(api.hipStreamEndCapture(stream, &graph));

  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeRelaxed));
  EXPECT_EQ(api.hipStreamSynchronize(stream), 900);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);

  const hip::Event fork = new_event(), join = new_event();
  for (const bool joins : {true, false}) {
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeThreadLocal));
    OK(api.hipEventRecord(fork, stream));
    OK(api.hipStreamWaitEvent(side, fork, 0));
    OK(api.hipMemsetAsync(pointer, 1, 64, side));
    OK(api.hipEventRecord(join, side));
    if (joins) OK(api.hipStreamWaitEvent(stream, join, 0));
    EXPECT_EQ(api.hipStreamEndCapture(side, &graph), 903);
    EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), joins ? 0 : 904);
  }
  // A stream that has joined and does nothing need not be waited for, and is free again behind the end.
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipEventRecord(fork, stream));
  OK(api.hipStreamWaitEvent(side, fork, 0));
  EXPECT_EQ(api.hipStreamBeginCapture(side, hip::kCaptureModeGlobal), 401);
  OK(api.hipStreamEndCapture(stream, &graph));
  OK(api.hipStreamSynchronize(side));
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  EXPECT_EQ(api.hipStreamSynchronize(side), 900);  // which may wait for something that the capture keeps back
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);

  // Memory is freed beside a capture that allows it, behind what other streams do.
  Slow slow;
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeRelaxed));
  slow.enqueue(side);
  OK(api.hipFree(pointer));
  OK(api.hipStreamQuery(side));
  OK(api.hipStreamEndCapture(stream, &graph));
  OK(api.hipMalloc(&pointer, 64));
  for (const hip::CaptureMode relaxed : {hip::kCaptureModeRelaxed, hip::kCaptureModeThreadLocal}) {
    OK(api.hipStreamBeginCapture(stream, relaxed));
    std::thread other([&] {
      OK(api.hipFree(pointer));
      OK(api.hipMalloc(&pointer, 64));
    });
    other.join();
    OK(api.hipStreamEndCapture(stream, &graph));
  }

  const hip::Stream blocking = new_stream(0);
  OK(api.hipStreamBeginCapture(blocking, hip::kCaptureModeGlobal));
  EXPECT_EQ(api.hipMemset(pointer, 1, 64), 906);
  EXPECT_EQ(api.hipStreamEndCapture(blocking, &graph), 901);
  OK(api.hipStreamBeginCapture(blocking, hip::kCaptureModeRelaxed));
  hip::CaptureStatus status{};
  EXPECT_EQ(api.hipStreamIsCapturing(nullptr, &status), 906);
  EXPECT_EQ(api.hipMemsetAsync(pointer, 1, 64, nullptr), 906);
  EXPECT_EQ(api.hipStreamEndCapture(blocking, &graph), 901);
}

/// A graph does not keep the module of its kernels.
TEST(graph_of_unloaded_module) {
  const hip::Stream stream = new_stream();
  const Buffer<float> a(ramp(0));
  hip::Graph graph = nullptr;
  hip::GraphExec exec = nullptr;
  {
    const Loaded module(basics());
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
    OK(launch(module["vector_add"], 4, 256, stream, a.data, a.data, a.data, kCount));
    OK(api.hipStreamEndCapture(stream, &graph));
  }
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipGraphLaunch(exec, stream));
  EXPECT_EQ(api.hipStreamSynchronize(stream), 719);
}

/// Memory that was freed since a copy of it was captured is an error, like a kernel's access to it.
TEST(graph_of_freed_memory) {
  const hip::Stream stream = new_stream();
  const Buffer<float> kept(ramp(0));
  const auto replay = [&](const auto& enqueue, bool host) {
    hip::Graph graph = nullptr;
    hip::GraphExec exec = nullptr;
    void* freed = nullptr;
    OK(host ? api.hipHostMalloc(&freed, 64, 0) : api.hipMalloc(&freed, 64));
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeRelaxed));
    OK(enqueue(freed));
    OK(api.hipStreamEndCapture(stream, &graph));
    OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    OK(api.hipGraphLaunch(exec, stream));
    OK(api.hipStreamSynchronize(stream));
    OK(api.hipFree(freed));
    OK(api.hipGraphLaunch(exec, stream));
    EXPECT_EQ(api.hipStreamSynchronize(stream), 700);
    OK(api.hipDeviceReset());
  };
  for (const bool host : {false, true}) {
    replay([&](void* freed) { return api.hipMemcpyDtoDAsync(kept.data, freed, 64, stream); }, host);
    replay([&](void* freed) { return api.hipMemcpyDtoDAsync(freed, kept.data, 64, stream); }, host);
    replay([&](void* freed) { return api.hipMemsetAsync(freed, 0, 64, stream); }, host);
    replay([&](void* freed) { return api.hipMemsetD32Async(freed, 0, 16, stream); }, host);
  }
}

TEST(two_devices) {
  const Loaded first(basics());
  OK(api.hipSetDevice(1));
  const Loaded second(basics());
  const Buffer<float> a(ramp(0));
  const hip::Stream stream = new_stream();
  EXPECT_EQ(launch(first["vector_add"], 4, 256, stream, a.data, a.data, a.data, kCount), 400);
  OK(launch(second["vector_add"], 4, 256, stream, a.data, a.data, reinterpret_cast<float*>(16), kCount));
  EXPECT_EQ(api.hipDeviceSynchronize(), 700);
  OK(api.hipSetDevice(0));
  OK(api.hipDeviceSynchronize());  // the other device is as before
  OK(launch(first["vector_add"], 4, 256, nullptr, a.data, a.data, a.data, kCount));
  OK(api.hipDeviceSynchronize());
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, a.data));
  EXPECT_EQ(attributes.device, 1);
}

/// AMD's runtime makes them in the null stream of the memory's device.
TEST(copies_of_another_devices_memory) {
  Slow slow;
  const hip::Stream blocking = new_stream(0);
  const hip::Event event = new_event();
  for (int i = 0; i < 4; ++i) slow.enqueue(blocking);
  OK(api.hipSetDevice(1));
  unsigned steps = 0;
  OK(api.hipMemcpy(&steps, slow.steps.data + Slow::kItems - 1, sizeof(steps), hip::kDeviceToHost));
  EXPECT_EQ(steps, 524u);
  EXPECT_EQ(api.hipEventRecord(event, nullptr), 400);  // an event of the other device
  const hip::Event own = new_event();
  OK(api.hipEventRecord(own, nullptr));
  OK(api.hipSetDevice(0));
  OK(api.hipEventRecord(event, nullptr));
  OK(api.hipDeviceSynchronize());
  float milliseconds = 0;
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, event, own), 400);
}

/// Threads that load, launch the same kernel on streams of their own and one that they share, and unload.
TEST(threads) {
  constexpr int kThreads = 4, kRounds = 50;
  const Loaded shared(basics());
  const hip::Stream common = new_stream();
  const Buffer<float> one(std::vector<float>(kCount, 1)), sum(std::vector<float>(kCount, 0));
  const auto work = [&] {
    const hip::Stream own = new_stream();
    const Buffer<float> mine(std::vector<float>(kCount, 0));
    for (int round = 0; round < kRounds; ++round) {
      const Loaded loaded(basics());
      OK(launch(loaded["vector_add"], 4, 256, own, mine.data, one.data, mine.data, kCount));
      OK(launch(shared["vector_add"], 4, 256, own, mine.data, one.data, mine.data, kCount));
      OK(launch(shared["vector_add"], 4, 256, common, sum.data, one.data, sum.data, kCount));
    }
    OK(api.hipStreamSynchronize(own));
    EXPECT_EQ(mine.data[kCount - 1], 2.0f * kRounds);
    OK(api.hipStreamDestroy(own));
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  OK(api.hipStreamSynchronize(common));
  EXPECT_EQ(sum.values()[0], 1.0f * kThreads * kRounds);
}

TEST(forks) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr auto leave = _exit;  // what exit() finds to be leaked belongs to threads, of which a child has none
#else
  constexpr auto leave = std::exit;
#endif
  const Buffer<float> a(ramp(0));
  for (int i = 0; i < 50; ++i) {
    // While the thread of a stream works, which ends with the thread that it is for: in a child there is neither.
    for (int k = 0; k < 100; ++k) OK(api.hipMemsetAsync(a.data, 0, 4, kPerThread));
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);  // ends it, where it waits for what the other thread had locked
      leave(api.hipDeviceSynchronize());
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WIFEXITED(status), true);
    EXPECT_EQ(WEXITSTATUS(status), 3);
    if (!WIFEXITED(status)) break;
  }
  OK(api.hipDeviceSynchronize());
}

/// The process ends while kernels run, two of them for ever, one in the main thread's own stream.
TEST(exits) {
  static std::vector<Slow*>& slow = *new std::vector<Slow*>;  // not freed: that would wait for the kernels
  static const Loaded& module = *new Loaded(probes());
  for (int i = 0; i < 4; ++i) {
    slow.push_back(new Slow);
    slow.back()->enqueue(new_stream());
  }
  uint64_t zero = 0;
  void* parameters[] = {&zero, &zero, &zero, &zero};
  for (const hip::Stream stream : {new_stream(), kPerThread}) {
    OK(api.hipModuleLaunchKernel(module["spin"], 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::exit(0);
}

}  // namespace
